"""The scalable weaver: the same merges as Weave Share, with far fewer pairs looked at.

Windows with equal edges merge first in any order that takes the best pair next, so only different
edge sets are compared. Each tree knows its best partner among older trees and looks for another
only when that one is gone: every pair is known to its younger tree. What two trees have in common
is bounded by what their parts have; it is measured only for pairs that may be the best.
"""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gingham.optimizer.weave.cost import Cost
from gingham.optimizer.weave.measure import Measure, Row, pair_overlaps
from gingham.optimizer.weave.windows import EdgeSets

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Gains that differ by less than this part of an empty tree's price are the same but for rounding.
NOTHING = 1e-10
_SINGLE_PRECISION = 4096  # trees from which bounds are kept as 32-bit numbers
_FILLED_AT_ONCE = 1 << 19  # pairs
_FIRST_LOOK = 4


@dataclass(slots=True)
class Woven:
    """Which edge sets share a tree, how densely its edges lie, and what it took to find out."""

    members: list[list[int]]
    rates: list[float]
    looked_at: int = 0
    finished: bool = True


class Weaver:
    """Trees under way: slot i holds a tree, or nothing once it was merged into another."""

    def __init__(
        self,
        rates: Floats,
        factors: Floats,
        rows: list[Row],
        cost: Cost,
        rate: float,
        measure: Measure,
    ) -> None:
        self._n = len(rows)
        self._measure, self._cost, self._rate = measure, cost, rate
        self._empty = float(cost.tree(0.0, 0.0, rate))
        self._rows = rows
        self._edges, self._factors = rates.copy(), factors.copy()
        self._costs = cost.tree(self._edges, self._factors, rate)
        self._members = [[i] for i in range(self._n)]
        self._alive = np.ones(self._n, dtype=bool)
        self._age = np.arange(self._n)
        self._known: list[set[int]] = [set() for _ in range(self._n)]
        self.looked_at = 0
        # What two trees have in common at most.
        self._bounds = np.empty(
            (self._n, self._n), dtype=np.float64 if self._n <= _SINGLE_PRECISION else np.float32
        )
        self._single = np.zeros(self._n, dtype=bool)  # whose bounds among each other are exact

    @classmethod
    def of_sets(cls, sets: EdgeSets, cost: Cost, rate: float, measure: Measure) -> Weaver:
        """One tree for each edge set."""
        rows = [measure.row(sets.classes(i)) for i in range(len(sets))]
        weaver = cls(sets.rates, sets.factors, rows, cost, rate, measure)
        weaver._fill(sets)
        return weaver

    @classmethod
    def of_trees(
        cls,
        edges: Floats,
        factors: Floats,
        rows: list[Row],
        cost: Cost,
        rate: float,
        measure: Measure,
    ) -> Weaver:
        """Go on with trees of any edges."""
        weaver = cls(edges, factors, rows, cost, rate, measure)
        for i, row in enumerate(rows):
            weaver._bounds[i, :i] = measure.overlaps(row, rows[:i])[0]
            weaver._bounds[:i, i] = weaver._bounds[i, :i]
        weaver._single[:] = True
        weaver.looked_at += len(rows) * (len(rows) - 1) // 2
        return weaver

    def _fill(self, sets: EdgeSets) -> None:
        lot = (sets.slides, sets.lows, sets.highs)
        step = max(1, _FILLED_AT_ONCE // self._n)
        for i in range(0, self._n, step):
            part = tuple(column[i : i + step] for column in lot)
            block = pair_overlaps(part, tuple(column[i:] for column in lot)) * sets.ticks
            self._bounds[i : i + step, i:] = block
            self._bounds[i:, i : i + step] = block.T
        self._single[:] = True
        self.looked_at += self._n * (self._n - 1) // 2

    def weave(self, until: float) -> Woven:
        """Merge the best pair as long as that saves something, or time is left."""
        # Of equal gains the first pair in the order of slots goes first.
        heap: list[tuple[float, int, int, int, int, int, int]] = []

        def look(x: int) -> None:
            if (found := self._best_partner(x)) is not None:
                y, gain = found
                ages = (int(self._age[x]), int(self._age[y]))
                heapq.heappush(heap, (-gain, min(x, y), max(x, y), x, y, *ages))

        for x in range(self._n):
            look(x)
            if x % 64 == 0 and time.monotonic() > until:
                return self._woven(finished=False)
        youngest = self._n
        while heap:
            *_, x, y, age_x, age_y = heapq.heappop(heap)
            if not self._alive[x] or self._age[x] != age_x:
                continue
            if not self._alive[y] or self._age[y] != age_y:
                look(x)
                continue
            self._merge(min(x, y), max(x, y), youngest)
            youngest += 1
            look(min(x, y))
            if youngest % 64 == 0 and time.monotonic() > until:
                return self._woven(finished=False)
        return self._woven(finished=True)

    def rows(self) -> list[Row]:
        """The edges of the trees there are."""
        return [self._rows[x] for x in np.flatnonzero(self._alive)]

    def _woven(self, *, finished: bool) -> Woven:
        alive = np.flatnonzero(self._alive).tolist()
        return Woven(
            [sorted(self._members[x]) for x in alive],
            [float(self._edges[x]) for x in alive],
            self.looked_at,
            finished,
        )

    def _best_partner(self, x: int) -> tuple[int, float] | None:
        """The older tree that merging with saves most, if any saves something."""
        older = np.flatnonzero(self._alive & (self._age < self._age[x]))
        if not len(older):
            return None
        gains = self._gains(x, older, self._bounds[x, older])
        exact = self._single[older] if self._single[x] else np.zeros(len(older), dtype=bool)
        if self._known[x]:
            exact |= np.isin(older, list(self._known[x]))
        batch = _FIRST_LOOK
        while True:
            most = float(np.max(gains))
            if most <= NOTHING:
                return None
            best = _first_pair(x, older, np.flatnonzero(gains == most))
            if exact[best]:
                return int(older[best]), float(gains[best])
            # All that may be the best, but few at a time: what they turn out to save rules out
            # others.
            open_gains = np.where(exact, -np.inf, gains)
            floor = max(NOTHING, float(np.max(gains, where=exact, initial=-np.inf)))
            which = np.argpartition(-open_gains, min(batch, len(older)) - 1)[:batch]
            which = which[open_gains[which] >= floor]
            overlaps = self._look_at(x, older[which])
            gains[which] = self._gains(x, older[which], overlaps)
            exact[which] = True
            batch = min(4 * batch, 256)

    def _gains(self, x: int, others: Ints, overlaps: Floats) -> Floats:
        edges = self._edges[others]
        common = np.minimum(np.minimum(overlaps, edges), self._edges[x])
        together = self._cost.tree(
            self._edges[x] + edges - common, self._factors[x] + self._factors[others], self._rate
        )
        return rounded(self._costs[x] + self._costs[others] - together, self._empty)

    def _look_at(self, x: int, others: Ints) -> Floats:
        """Measure what x has in common with some trees."""
        self.looked_at += len(others)
        found, error = self._measure.overlaps(self._rows[x], [self._rows[y] for y in others])
        bounds = self._bounds[x, others].astype(np.float64)
        # Where a sample cannot tell them apart, the sum of exact parts is the better estimate.
        found = np.where(np.abs(bounds - found) <= error, bounds, np.minimum(found, bounds))
        self._bounds[x, others] = found
        self._bounds[others, x] = found
        for y in others.tolist():
            self._known[x].add(y)
            self._known[y].add(x)
        return found

    def _merge(self, x: int, y: int, age: int) -> None:
        """Put y into x, which becomes the youngest tree."""
        common = min(float(self._bounds[x, y]), self._edges[x], self._edges[y])
        self._rows[x] = self._measure.union((self._rows[x], self._rows[y]))
        self._rows[y] = None
        if self._measure.exact:
            self._edges[x] = self._measure.rate(self._rows[x])
        else:
            self._edges[x] += self._edges[y] - common
        self._factors[x] += self._factors[y]
        self._costs[x] = self._cost.tree(
            float(self._edges[x]), float(self._factors[x]), self._rate
        )
        self._members[x] += self._members[y]
        self._members[y] = []
        self._alive[y] = self._single[x] = self._single[y] = False
        self._age[x] = age
        for z in (x, y):
            for w in self._known[z]:
                self._known[w].discard(z)
            self._known[z] = set()
        alive = np.flatnonzero(self._alive)
        row = np.minimum(self._bounds[x, alive] + self._bounds[y, alive], self._edges[alive])
        self._bounds[x, alive] = row
        self._bounds[alive, x] = row


def _first_pair(x: int, others: Ints, which: Ints) -> int:
    """The place of the first pair in the order of slots, the lower slot first."""
    found = others[which]
    return int(which[np.lexsort((np.maximum(found, x), np.minimum(found, x)))[0]])


def rounded(gains: Floats, empty: float) -> Floats:
    """Gains as multiples of an empty tree's price, so that equal ones are equal."""
    return np.round(gains / empty, 10) if empty > 0 else np.zeros_like(gains)


def stopped_early(*, finished: bool) -> tuple[str, ...]:
    """What to say of a search whose time was up."""
    return () if finished else ("stopped early, out of time: more merges may save more",)
