"""The scalable weaver: the same merges as Weave Share, with far fewer pairs looked at.

Windows with equal edges merge first in any order that takes the best pair next, so only different
edge sets are compared. Every pair is known to the younger of its trees, which keeps the few older
ones that it may gain most with. What two trees have in common is bounded by what their parts have;
it is measured only for a pair that may be the best of all.
"""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gingham.optimizer.weave.anchors import Anchors
from gingham.optimizer.weave.cost import Cost
from gingham.optimizer.weave.measure import Measure, Row, overlaps_by_slide
from gingham.optimizer.weave.windows import EdgeSets

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Gains that differ by less than this part of an empty tree's price are the same but for rounding.
NOTHING = 1e-10
_SINGLE_PRECISION = 4096  # trees from which bounds are kept as 32-bit numbers
_SMALL = 256  # slots that are not worth closing ranks
_FEW = 24
_LOOKS = 6

# Minus the gain, the lower and the higher slot: of equal gains the first pair goes first. Then the
# partner, its age, and whether the gain is exact or only a bound.
_Partner = tuple[float, int, int, int, int, bool]


@dataclass(slots=True)
class Woven:
    """Which edge sets share a tree, how densely its edges lie, and what it took to find out."""

    members: list[list[int]]
    rates: list[float]
    looked_at: int = 0
    finished: bool = True


@dataclass(slots=True)
class _Few:
    """The best partners of a tree, as a heap, and what any other one may gain."""

    heap: list[_Partner]
    others: float


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
        n = len(rows)
        self._measure, self._cost, self._rate = measure, cost, rate
        self._empty = float(cost.tree(0.0, 0.0, rate))
        self._rows = rows
        self._edges, self._factors = rates.copy(), factors.copy()
        self._costs = cost.tree(self._edges, self._factors, rate)
        self._members = [[i] for i in range(n)]
        self._ages = np.arange(n)  # -1 for slots that hold nothing
        self._age = list(range(n))  # the same, for single looks
        self._alive, self._youngest = n, n
        self._few: list[_Few | None] = [None] * n
        # What two trees have in common at most; exact among those that were not merged yet.
        self._bounds: npt.NDArray[Any] = np.empty(
            (n, n), dtype=np.float32 if n > _SINGLE_PRECISION else np.float64
        )
        self._unmerged = np.ones(n, dtype=bool)
        self._anchors: Anchors | None = None
        self._looked_at = n * (n - 1) // 2

    @classmethod
    def of_sets(cls, sets: EdgeSets, cost: Cost, rate: float, measure: Measure) -> Weaver:
        """One tree for each edge set."""
        rows = [measure.row(sets.classes(i)) for i in range(len(sets))]
        weaver = cls(sets.rates, sets.factors, rows, cost, rate, measure)
        for which, block in overlaps_by_slide(sets):
            weaver._bounds[which] = block
        weaver._anchors = Anchors(sets)
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
        return weaver

    def weave(self, until: float) -> Woven:
        """Merge the best pair as long as that saves something, or time is left."""
        while True:
            done = self._merge_while_better(until)
            if done is not None:
                return self._woven(finished=done)
            self._close_ranks()

    def _merge_while_better(self, until: float) -> bool | None:
        """True if no pair saves anything, False if time is up, None if half the slots are empty."""
        heap: list[tuple[float, int, int, int, int]] = []

        def push(x: int) -> None:
            if (best := self._best_partner(x)) is not None:
                heapq.heappush(heap, (*best[:3], x, self._age[x]))

        alive = np.flatnonzero(self._ages >= 0).tolist()
        for i, x in enumerate(alive):
            push(x)
            if i % 64 == 0 and time.monotonic() > until:
                return False
        enough = len(self._rows) // 2 if len(self._rows) > _SMALL else 0
        while heap:
            *key, x, age = heapq.heappop(heap)
            if self._age[x] != age or (best := self._best_partner(x)) is None:
                continue
            if [*best[:3]] != key:  # its partner is gone
                heapq.heappush(heap, (*best[:3], x, age))
            elif not best[-1]:
                self._measure_best(x)
                push(x)
            else:
                one, other = best[1:3]
                self._merge(one, other)
                push(one)
                if self._alive < enough:
                    return None
                if self._alive % 64 == 0 and time.monotonic() > until:
                    return False
        return True

    def _close_ranks(self) -> None:
        """Drop empty slots, so that arrays hold trees only."""
        kept = np.flatnonzero(self._ages >= 0)
        self._bounds = self._bounds[np.ix_(kept, kept)]
        self._edges, self._factors = self._edges[kept], self._factors[kept]
        self._costs, self._unmerged = self._costs[kept], self._unmerged[kept]
        self._ages = self._ages[kept]
        self._age = self._ages.tolist()
        self._rows = [self._rows[i] for i in kept]
        self._members = [self._members[i] for i in kept]
        self._few = [None] * len(kept)
        if self._anchors is not None:
            self._anchors.keep(kept)

    def _woven(self, *, finished: bool) -> Woven:
        alive = np.flatnonzero(self._ages >= 0).tolist()
        return Woven(
            [sorted(self._members[x]) for x in alive],
            [float(self._edges[x]) for x in alive],
            self._looked_at,
            finished,
        )

    def _best_partner(self, x: int) -> _Partner | None:
        """The older tree that merging with may save most, if any may save something.

        Older trees only ever disappear, so the best few stay the best few.
        """
        few = self._few[x]
        if few is None:
            few = self._few[x] = self._the_few(x)
        while True:
            heap = few.heap
            while heap and self._age[heap[0][3]] != heap[0][4]:
                heapq.heappop(heap)
            if heap and -heap[0][0] >= few.others:
                return heap[0]
            if few.others <= NOTHING:
                return None
            few = self._few[x] = self._the_few(x)

    def _the_few(self, x: int) -> _Few:
        """The older trees that may save most."""
        everybody = self._gains(x, slice(None), self._bounds[x])
        everybody[(self._ages < 0) | (self._ages >= self._age[x])] = -np.inf
        first = max(0, len(everybody) - _FEW)
        order = np.argpartition(everybody, first - 1) if first else np.arange(len(everybody))
        others = float(rounded(everybody[order[first - 1]], self._empty)) if first else -np.inf
        gains = rounded(everybody[order[first:]], self._empty)
        kept = gains > NOTHING
        trees, gains = order[first:][kept], gains[kept]
        exact = self._unmerged[trees] & self._unmerged[x]
        heap = [
            (-gain, min(x, y), max(x, y), y, self._age[y], known)
            for gain, y, known in zip(gains.tolist(), trees.tolist(), exact.tolist(), strict=True)
        ]
        heapq.heapify(heap)
        return _Few(heap, others)

    def _measure_best(self, x: int) -> None:
        """Replace the bounds of the best few partners by what they really gain."""
        few = self._few[x]
        assert few is not None
        others: list[int] = []
        # A few at a time: what is behind the best one may become the best.
        while few.heap and len(others) < _LOOKS and not few.heap[0][-1]:
            _, _, _, y, age, _ = heapq.heappop(few.heap)
            if self._age[y] == age:
                others.append(y)
        which = np.array(others)
        gains = rounded(self._gains(x, which, self._look_at(x, which)), self._empty)
        for y, gain in zip(others, gains.tolist(), strict=True):
            partner = (-gain, min(x, y), max(x, y), y, self._age[y], True)
            if gain > NOTHING:
                heapq.heappush(few.heap, partner)

    def _gains(self, x: int, others: Ints | slice, overlaps: Floats) -> Floats:
        edges = self._edges[others]
        common = np.minimum(np.minimum(overlaps, edges), self._edges[x])
        together = self._cost.tree(
            self._edges[x] + edges - common, self._factors[x] + self._factors[others], self._rate
        )
        return self._costs[x] + self._costs[others] - together

    def _look_at(self, x: int, others: Ints) -> Floats:
        """Measure what x has in common with some trees."""
        self._looked_at += len(others)
        found, error = self._measure.overlaps(self._rows[x], [self._rows[y] for y in others])
        bounds = self._bounds[x, others].astype(np.float64)
        # Where a sample cannot tell them apart, the sum of exact parts is the better estimate.
        found = np.where(np.abs(bounds - found) <= error, bounds, np.minimum(found, bounds))
        self._bounds[x, others] = found
        self._bounds[others, x] = found
        return found

    def _merge(self, x: int, y: int) -> None:
        """Put y into x, which becomes the youngest tree."""
        common = min(float(self._bounds[x, y]), self._edges[x], self._edges[y])
        self._rows[x] = self._measure.union((self._rows[x], self._rows[y]))
        self._rows[y] = None
        if self._measure.exact:
            self._edges[x] = self._measure.rate(self._rows[x])
        else:
            self._edges[x] += self._edges[y] - common
        self._factors[x] += self._factors[y]
        self._costs[x] = self._cost.tree(float(self._edges[x]), float(self._factors[x]), self._rate)
        self._members[x] += self._members[y]
        self._members[y] = []
        self._unmerged[x] = False
        self._alive -= 1
        self._youngest += 1
        self._ages[x] = self._age[x] = self._youngest
        self._ages[y] = self._age[y] = -1
        self._few[x] = self._few[y] = None
        row = self._bounds[x] + self._bounds[y]
        if self._anchors is not None and (twice := self._anchors.merge(x, y)) is not None:
            row = np.maximum(row - twice, np.maximum(self._bounds[x], self._bounds[y]))
        self._bounds[x] = self._bounds[:, x] = np.minimum(row, self._edges)


def rounded(gains: Floats, empty: float) -> Floats:
    """Gains as multiples of an empty tree's price, so that equal ones are equal."""
    return np.round(gains / empty, 10) if empty > 0 else np.zeros_like(gains)


def stopped_early(*, finished: bool) -> tuple[str, ...]:
    """What to say of a search whose time was up."""
    return () if finished else ("stopped early, out of time: more merges may save more",)
