"""Basic and Add Composition with all twelve strategies (Huebsch et al., Section 5).

The paper leaves open what decides the outcome. It is read as follows; docs/papers/huebsch.md
compares the figures with those of other readings.

- Pairs of rows are tried in random order, anew in each loop.
- An operation has to make a new row: two rows of which one contains the other are not collapsed.
- Rows that an operation made are no old rows: they may be composed with any other.
- Delayed: a row takes part in one operation per loop. Postponed: pairs are queued, and what is done
  with a pair is decided when its turn comes, by the preference.
- Blends that are remembered are all done at the end of the loop, whatever the timing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from itertools import product

import numpy as np

from gingham.algebra.fragments.composition import CompositionSearch
from gingham.core.arrays import Bools


class Preference(StrEnum):
    """Which operation on two basis rows is tried first: collapse both into one, or blend one."""

    ANY = "a"  # collapse a pair if possible, else blend it
    REMEMBER = "r"  # collapse while searching, blend remembered pairs at the end of the loop
    SEPARATE = "s"  # search for pairs to collapse, then for pairs to blend


class Timing(StrEnum):
    """When basis rows are composed, and when the row that it makes is considered."""

    NOW = "w"  # at once; the row is considered in the same loop
    DELAYED = "d"  # at once; the row is considered in the next loop
    POSTPONED = "p"  # at the end of the loop


@dataclass(frozen=True, slots=True)
class Strategy:
    """An order of composing basis rows: one operation per loop without timing, else many."""

    preference: Preference
    timing: Timing | None

    @property
    def name(self) -> str:
        """The name that Huebsch et al. give to this strategy of composing basis rows."""
        many = self.timing is not None
        return ("m" if many else "o") + self.preference + (self.timing or "")


def basic_composition(matrix: Bools, strategy: Strategy, seed: int = 0) -> Bools:
    """Basic Composition: build a set basis from a row per query, composing rows while possible."""
    search = CompositionSearch(matrix)
    for column in range(matrix.shape[1]):
        search.add(column)
    rng = np.random.default_rng(seed)
    while _Loop(search, strategy, set(search.rows), rng, stop_at_collapse=False).run():
        pass
    return search.basis()


def add_composition(matrix: Bools, strategy: Strategy, seed: int = 0) -> Bools:
    """Add Composition: build a set basis query by query, composing new rows with those before.

    A new row can make at most one row superfluous, so a collapse ends the search for it.
    """
    search = CompositionSearch(matrix)
    rng = np.random.default_rng(seed)
    for column in range(matrix.shape[1]):
        search.add(column)
        fresh, rows = {column}, len(search.rows)
        while changed := _Loop(search, strategy, fresh, rng, stop_at_collapse=True).run():
            if len(search.rows) < rows:
                break
            fresh |= changed
    return search.basis()


class _Loop:
    """One search loop: operations on pairs of basis rows, at least one of each pair fresh."""

    def __init__(
        self,
        search: CompositionSearch,
        strategy: Strategy,
        fresh: set[int],
        rng: np.random.Generator,
        *,
        stop_at_collapse: bool,
    ) -> None:
        self._search = search
        self._strategy = strategy
        self._fresh = set(fresh)
        self._rng = rng
        self._most_collapses = 1 if stop_at_collapse or strategy.timing is None else None
        self._collapses = 0
        self._changed: set[int] = set()
        self._used: set[int] = set()

    def run(self) -> set[int]:
        """Do the operations of one loop; return the rows that changed, none if there is nothing."""
        preference, timing = self._strategy.preference, self._strategy.timing
        if timing is Timing.POSTPONED:
            self._run_postponed()
        elif preference is Preference.ANY:
            self._compose(self._pairs(), collapse=True, blend=True)
        else:
            pairs = self._pairs()
            remembered = self._compose(pairs, collapse=True, blend=False)
            if not self._done:
                if preference is Preference.SEPARATE:
                    self._compose(self._pairs(), collapse=False, blend=True)
                else:
                    self._blend_all(remembered)
        return self._changed & self._search.rows.keys()

    def _run_postponed(self) -> None:
        """Queue all pairs that can be composed as the rows stand, then compose those still so."""
        queued = [p for p in self._pairs() if self._may_collapse(*p) or self._search.blends(*p)]
        if self._strategy.preference is Preference.ANY:
            # What is done with a pair is decided now: earlier blends make collapses possible.
            self._compose(queued, collapse=True, blend=True)
        else:
            remembered = self._compose(queued, collapse=True, blend=False)
            if not self._done:
                self._blend_all(remembered)

    @property
    def _done(self) -> bool:
        """Whether a collapse, or the only operation of the loop, has ended it."""
        if self._strategy.timing is None and self._changed:
            return True
        return self._most_collapses is not None and self._collapses >= self._most_collapses

    def _compose(
        self, pairs: list[tuple[int, int]], *, collapse: bool, blend: bool
    ) -> list[tuple[int, int]]:
        """Collapse or blend pairs in turn; return those that could be blended but were not to be.

        If rows are considered in the loop that made them, their pairs are appended.
        """
        search, timing = self._search, self._strategy.timing
        left: list[tuple[int, int]] = []
        for i, j in pairs:
            if not {i, j} <= search.rows.keys():
                continue
            if timing is Timing.DELAYED and (i in self._used or j in self._used):
                continue
            if collapse and self._may_collapse(i, j):
                search.collapse(i, j)
                self._collapses += 1
            elif not search.blends(i, j):
                continue
            elif blend:
                search.blend(i, j)
            else:
                left.append((i, j))
                continue
            self._changed.add(i)
            self._used |= {i, j}
            if self._done:
                break
            if timing is Timing.NOW and i not in self._fresh:
                pairs += self._pairs_of_formed(i)
        return left

    def _blend_all(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Blend the remembered pairs that still can be; only one if a loop does one operation."""
        for i, j in pairs:
            if {i, j} <= self._search.rows.keys() and self._search.blends(i, j):
                self._search.blend(i, j)
                self._changed.add(i)
                if self._done:
                    break

    def _may_collapse(self, i: int, j: int) -> bool:
        """Whether two rows may be collapsed into a row that neither of them is already."""
        one, other = self._search.rows[i], self._search.rows[j]
        return bool(one & ~other and other & ~one) and self._search.collapses(i, j)

    def _pairs(self) -> list[tuple[int, int]]:
        """All pairs of different rows, one of them fresh, in random order."""
        rows = list(self._search.rows)
        pairs = [
            (i, j) for i in rows for j in rows if i != j and (i in self._fresh or j in self._fresh)
        ]
        return self._shuffled(pairs)

    def _pairs_of_formed(self, formed: int) -> list[tuple[int, int]]:
        """The pairs of a row just formed with the old rows, in random order; it is fresh now."""
        old = [row for row in self._search.rows if row not in self._fresh and row != formed]
        pairs = [pair for row in old for pair in ((formed, row), (row, formed))]
        self._fresh.add(formed)
        return self._shuffled(pairs)

    def _shuffled(self, pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Put pairs of rows in random order."""
        return [pairs[index] for index in self._rng.permutation(len(pairs)).tolist()]


# Named as in the paper, in small letters: oa, or, os, maw, mad, map, mrw, ...
STRATEGIES = {
    strategy.name: strategy
    for strategy in (
        *(Strategy(preference, None) for preference in Preference),
        *(Strategy(preference, timing) for preference, timing in product(Preference, Timing)),
    )
}

# Each finds a basis of a matrix: basic_oa, ..., add_oa, ...
COMPOSITIONS: dict[str, Callable[[Bools], Bools]] = {
    f"{name}_{strategy}": partial(compose, strategy=STRATEGIES[strategy])
    for name, compose in (("basic", basic_composition), ("add", add_composition))
    for strategy in STRATEGIES
}
