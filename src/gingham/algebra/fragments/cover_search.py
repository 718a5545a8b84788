"""Making a cover smaller: one concept too few is chosen all the time, until they suffice."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from gingham.algebra.fragments.concepts import Concepts, grown_on, together
from gingham.algebra.fragments.cover import Cover
from gingham.core.arrays import Float32s, Ints

# What a step costs beside what it touches, and growing a concept: in the unit of `Cover.work`.
_STEP = 100_000
_GROWTH = 200_000


@dataclass(frozen=True, slots=True)
class Budget:
    """When a search ends: by what it touched, by its steps, or by the clock."""

    work: int
    steps: int
    until: float


class LocalSearch:
    """A search for fewer concepts that still cover all entries."""

    def __init__(
        self, ones: Float32s, at_row: Ints, at_column: Ints, concepts: Concepts, cover: Cover
    ) -> None:
        self._ones, self._at_row, self._at_column = ones, at_row, at_column
        self._concepts, self._cover = concepts, cover
        self._grown: list[Concepts] = []
        self.late = False

    def run(self, least: int, budget: Budget, rng: np.random.Generator) -> Concepts:
        """Search until the bound is met or the budget is used up.

        In every step the concept that is missed least goes, and one comes that covers a random
        open entry and most else. Open entries gain weight as long as they are open, which drives
        the search away from where it has been.
        """
        cover, best = self._cover, self._cover.chosen
        cover.work, step, newest = 0, 0, -1
        while len(best) > least and cover.work < budget.work and step < budget.steps:
            step += 1
            cover.work += _STEP
            if time.monotonic() > budget.until:
                self.late = True
                break
            if not len(cover.open):
                cover.prune()
                best = cover.chosen
                cover.drop(cover.least_missed(-1), step)
                continue
            gone = cover.least_missed(newest)
            cover.drop(gone, step)
            newest = self._choose(int(rng.choice(cover.open)), gone)
            cover.add(newest, step)
            cover.raise_open()
        return together([self._concepts, *self._grown])[best]

    def _choose(self, entry: int, gone: int) -> int:
        known = self._cover.most_useful(entry, gone)
        if self._cover.full:
            return known
        self._cover.work += _GROWTH
        weight = np.zeros_like(self._ones)
        still = self._cover.open
        weight[self._at_row[still], self._at_column[still]] = self._cover.weight[still]
        new = grown_on(self._ones, weight, int(self._at_row[entry]), int(self._at_column[entry]))
        members = new.rows[0, self._at_row] & new.columns[0, self._at_column]
        if self._cover.weight[still[members[still]]].sum() <= self._cover.gain(known):
            return known
        self._grown.append(new)
        return self._cover.admit(members)
