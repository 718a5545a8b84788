"""Local search for a smaller cover: swap concepts until one concept fewer covers everything."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from gingham.algebra.fragments.concepts import Concepts, grown_on, together
from gingham.algebra.fragments.cover import SetCover
from gingham.core.arrays import Float32s, Ints

# Fixed costs of a step and of growing a concept, in the unit of `SetCover.work`.
_STEP = 100_000
_GROWTH = 200_000


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of a search for a small set cover: counted work, steps, a `time.monotonic`."""

    work: int
    steps: int
    until: float


class CoverSearch:
    """Local search for fewer concepts that together cover all ones of a fragment matrix."""

    def __init__(
        self, ones: Float32s, at_row: Ints, at_column: Ints, concepts: Concepts, cover: SetCover
    ) -> None:
        self._ones, self._at_row, self._at_column = ones, at_row, at_column
        self._concepts, self._cover = concepts, cover
        self._grown: list[Concepts] = []
        self.out_of_time = False

    def run(self, least: int, budget: Budget, rng: np.random.Generator) -> Concepts:
        """Search for smaller covers until the bound `least` is met or the budget is used up.

        Every step drops the concept that covers least alone, and adds the one with a random open
        entry that gains most. Entries gain weight while they are open, which keeps the search from
        returning to where it was.
        """
        cover, best = self._cover, self._cover.chosen
        cover.work, step, added = 0, 0, -1
        while len(best) > least and cover.work < budget.work and step < budget.steps:
            step += 1
            cover.work += _STEP
            if time.monotonic() > budget.until:
                self.out_of_time = True
                break
            if not len(cover.open):
                cover.prune()
                best = cover.chosen
                cover.drop(cover.least_missed(-1), step)
                continue
            dropped = cover.least_missed(added)
            cover.drop(dropped, step)
            added = self._choose(int(rng.choice(cover.open)), dropped)
            cover.add(added, step)
            cover.raise_open()
        return together([self._concepts, *self._grown])[best]

    def _choose(self, entry: int, dropped: int) -> int:
        """The best concept with this matrix entry: a listed one, or a new one that gains more."""
        listed = self._cover.most_useful(entry, dropped)
        if self._cover.full:
            return listed
        self._cover.work += _GROWTH
        weight = np.zeros_like(self._ones)
        uncovered = self._cover.open
        weight[self._at_row[uncovered], self._at_column[uncovered]] = self._cover.weight[uncovered]
        new = grown_on(self._ones, weight, int(self._at_row[entry]), int(self._at_column[entry]))
        members = new.rows[0, self._at_row] & new.columns[0, self._at_column]
        if self._cover.weight[uncovered[members[uncovered]]].sum() <= self._cover.gain(listed):
            return listed
        self._grown.append(new)
        return self._cover.admit(members)
