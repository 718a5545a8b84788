"""The scalable weaver: the same merges as Weave Share, with far fewer pairs looked at.

Windows with equal edges merge first in any order that takes the best pair next, so only different
edge sets are compared. Every pair is known to the younger of its trees, which keeps the few older
ones that it may gain most with. What two trees have in common is bounded by what their parts have;
it is measured only for a pair that may be the best of all.
"""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from gingham.core.arrays import Array, Floats, Ints
from gingham.optimizer.weave.anchors import Anchors
from gingham.optimizer.weave.edge_measures import Measure, Row, fill_overlaps
from gingham.optimizer.weave.edge_sets import EdgeSets
from gingham.optimizer.weave.tree_cost import Cost

# Gains that differ by less than this part of an empty tree's price are the same but for rounding.
NOTHING = 1e-10
_SINGLE_PRECISION = 4096  # trees from which bounds are kept as 32-bit numbers
_SMALL = 256  # places that are not worth closing ranks
_FULL = 0.75  # part of the places that hold a tree, or ranks are closed
_FEW = 64  # partners that a tree keeps
_LOOKS = 4  # partners that are measured together
_TOLERANCE_OF_SAMPLE = 1.02  # a sample does not tell what is this close to the best
_LOT = 32  # values that are compared with their best one first

# Minus the gain, the lower and the higher tree: of equal gains the first pair goes first.
_Pair = tuple[float, int, int]
_SOMEBODY = (-1, -1)  # a pair that is not known yet: it goes before others of its gain


@dataclass(slots=True)
class Woven:
    """Which edge sets share a tree, how densely its edges lie, and what it took to find out."""

    members: list[list[int]]
    rates: list[float]
    looked_at: int = 0
    finished: bool = True


@dataclass(slots=True)
class _Few:
    """The best partners of a tree: those not measured yet, the best first, and those measured."""

    trees: list[int]
    ages: list[int]
    losses: list[float]  # minus the gains
    others: float  # what any other tree may gain
    exact: bool  # whether gains are more than bounds without being measured
    at: int = 0
    measured: list[tuple[_Pair, int, int]] = field(default_factory=list[tuple[_Pair, int, int]])


class Weaver:
    """Trees under way, known by the number of their first edge set.

    Lists are by that number, arrays by the place of a tree: those that were merged into others
    leave empty places, until the others close ranks.
    """

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
        self._tolerance = 0.0 if measure.exact else _TOLERANCE_OF_SAMPLE
        self._rows = rows
        self._members = [[i] for i in range(n)]
        self._few: list[_Few | None] = [None] * n
        self._age = list(range(n))  # -1 for those that are gone
        self._place = list(range(n))
        self._trees, self._ages = np.arange(n), np.arange(n)
        self._edges, self._factors = rates.copy(), factors.copy()
        self._costs = cost.tree(self._edges, self._factors, rate)
        # What two trees have in common at most; exact among those that were not merged yet.
        self._bounds: Array = np.empty(
            (n, n), dtype=np.float32 if n > _SINGLE_PRECISION else np.float64
        )
        self._anchors: Anchors | None = None
        self._alive, self._youngest = n, n
        self._looked_at = n * (n - 1) // 2

    @classmethod
    def of_sets(cls, sets: EdgeSets, cost: Cost, rate: float, measure: Measure) -> Weaver:
        """One tree for each edge set."""
        rows = [measure.row(sets.classes(i)) for i in range(len(sets))]
        weaver = cls(sets.rates, sets.factors, rows, cost, rate, measure)
        fill_overlaps(weaver._bounds, sets)
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
        heap: list[tuple[_Pair, int, int]] = []

        def push(x: int) -> None:
            if (best := self._best_partner(x)) is not None:
                heapq.heappush(heap, (best[0], x, self._age[x]))

        for x in range(len(self._age)):
            push(x)
            if x % 64 == 0 and time.monotonic() > until:
                return self._woven(finished=False)
        for looks in count(1):
            if not heap:
                break
            if looks % 64 == 0 and time.monotonic() > until:
                return self._woven(finished=False)
            key, x, age = heapq.heappop(heap)
            if self._age[x] != age or (best := self._best_partner(x)) is None:
                continue
            pair, exact = best
            if pair != key:  # its partner is gone
                heapq.heappush(heap, (pair, x, age))
                continue
            if not exact:
                self._learn(x, pair)
                best = self._best_partner(x)
                if best is None:
                    continue
                pair, exact = best
                # On a sample, what is hardly worse than the best could be is good enough.
                good = self._tolerance > 0 and self._as_good(pair[0], key[0])
                if not (exact and (pair == key or good)):
                    heapq.heappush(heap, (pair, x, age))
                    continue
            self._merge(*pair[1:])
            push(pair[1])
        return self._woven(finished=True)

    def _as_good(self, loss: float, least: float) -> bool:
        """Whether a pair gains hardly less than any may gain; both are minus the gain."""
        # The most that can be gained is one empty tree.
        return loss <= least or 1 + loss < self._tolerance * (1 + least)

    def _close_ranks(self) -> None:
        """Drop empty places, so that arrays hold trees only."""
        kept = np.flatnonzero(self._ages >= 0)
        self._bounds = _square(self._bounds, kept)
        self._trees, self._ages = self._trees[kept], self._ages[kept]
        self._edges, self._factors = self._edges[kept], self._factors[kept]
        self._costs = self._costs[kept]
        for place, x in enumerate(self._trees.tolist()):
            self._place[x] = place
        if self._anchors is not None:
            self._anchors.keep(kept)

    def _woven(self, *, finished: bool) -> Woven:
        alive = [x for x, age in enumerate(self._age) if age >= 0]
        return Woven(
            [sorted(self._members[x]) for x in alive],
            [float(self._edges[self._place[x]]) for x in alive],
            self._looked_at,
            finished,
        )

    def _best_partner(self, x: int) -> tuple[_Pair, bool] | None:
        """The older tree that merging with may save most, if any; whether the gain is exact.

        Older trees only ever disappear, so the best few stay the best few. Once they are gone,
        some other tree may be the best: which one is looked up by `_learn`, if it ever matters.
        """
        few = self._few[x]
        if few is None:
            few = self._few[x] = self._the_few(x)
        measured, age = few.measured, self._age
        while measured and age[measured[0][1]] != measured[0][2]:
            heapq.heappop(measured)
        trees, at = few.trees, few.at
        while at < len(trees) and age[trees[at]] != few.ages[at]:
            at += 1
        few.at = at
        best, exact = (measured[0][0], True) if measured else (None, False)
        if at < len(trees) and (best is None or few.losses[at] <= best[0]):
            next_best = _pair(few.losses[at], x, trees[at])
            if best is None or next_best < best:
                best, exact = next_best, few.exact
        if best is not None and self._as_good(best[0], -few.others):
            return best, exact
        return ((-few.others, *_SOMEBODY), False) if few.others > NOTHING else None

    def _learn(self, x: int, best: _Pair) -> None:
        """Find out more about the best pair of x, whose gain is not known exactly."""
        if best[1:] == _SOMEBODY:
            self._few[x] = self._the_few(x)
        else:
            self._measure_best(x)

    def _the_few(self, x: int) -> _Few:
        """The older trees that may save most."""
        place = self._place[x]
        # One that was never merged is younger than those before it, which were not either.
        exact = self._age[x] == x
        part = slice(place if exact else None)
        everybody = self._gains(place, part, self._bounds[place, part])
        np.copyto(everybody, -np.inf, where=self._ages[part] >= self._age[x])
        places = _largest(everybody, _FEW + 1)
        gains = rounded(everybody[places], self._empty)
        others = float(gains[0]) if len(places) > _FEW else -np.inf
        kept = gains > NOTHING
        kept[: max(0, len(places) - _FEW)] = False
        places, gains = places[kept], gains[kept]
        losses = -gains
        order = np.lexsort((places, losses))  # as pairs are ordered
        places = places[order]
        trees, ages = self._trees[places].tolist(), self._ages[places].tolist()
        return _Few(trees, ages, losses[order].tolist(), others, exact)

    def _measure_best(self, x: int) -> None:
        """Replace the bounds of the best few partners by what they really gain."""
        few = self._few[x]
        assert few is not None
        # A few at a time: what is behind the best one may become the best.
        others: list[int] = []
        while few.at < len(few.trees) and len(others) < _LOOKS:
            if self._age[few.trees[few.at]] == few.ages[few.at]:
                others.append(few.trees[few.at])
            few.at += 1
        for y, gain in zip(others, self._look_at(x, others), strict=True):
            if gain > NOTHING:
                heapq.heappush(few.measured, (_pair(-gain, x, y), y, self._age[y]))

    def _look_at(self, x: int, others: list[int]) -> list[float]:
        """Measure what x has in common with some trees, and so what it gains with each."""
        self._looked_at += len(others)
        found, error = self._measure.overlaps(self._rows[x], [self._rows[y] for y in others])
        place, places = self._place[x], np.array([self._place[y] for y in others])
        bounds = self._bounds[place, places].astype(np.float64)
        # Where a sample cannot tell them apart, what exact parts add up to is the better estimate.
        found = np.where(np.abs(bounds - found) <= error, bounds, found)
        self._bounds[place, places] = found
        self._bounds[places, place] = found
        return rounded(self._gains(place, places, found), self._empty).tolist()

    def _gains(self, place: int, others: Ints | slice, overlaps: Floats) -> Floats:
        together = self._cost.tree(
            self._edges[others] - overlaps + self._edges[place],
            self._factors[others] + self._factors[place],
            self._rate,
        )
        return self._costs[others] - together + self._costs[place]

    def _merge(self, x: int, y: int) -> None:
        """Put y into x, which becomes the youngest tree."""
        self._alive -= 1
        self._youngest += 1
        self._age[x], self._age[y] = self._youngest, -1
        self._few[x] = self._few[y] = None
        self._members[x] += self._members[y]
        self._members[y] = []
        self._rows[x] = self._measure.union((self._rows[x], self._rows[y]))
        self._rows[y] = None
        to, gone = self._place[x], self._place[y]
        if self._measure.exact:
            self._edges[to] = self._measure.rate(self._rows[x])
        else:
            common = min(float(self._bounds[to, gone]), self._edges[to], self._edges[gone])
            self._edges[to] += self._edges[gone] - common
        self._factors[to] += self._factors[gone]
        self._costs[to] = self._cost.tree(
            float(self._edges[to]), float(self._factors[to]), self._rate
        )
        self._ages[to], self._ages[gone] = self._youngest, -1
        self._costs[gone] = -np.inf  # so that nobody gains by it
        self._merge_bounds(to, gone)
        if len(self._ages) > _SMALL and self._alive < _FULL * len(self._ages):
            self._close_ranks()

    def _merge_bounds(self, to: int, gone: int) -> None:
        one, two = self._bounds[to], self._bounds[gone]
        row, most = one + two, np.maximum(one, two)
        twice = None if self._anchors is None else self._anchors.merge(to, gone)
        if twice is not None:
            one, two = np.maximum(one - twice, 0), np.maximum(two - twice, 0)
            row -= twice
        if not self._measure.exact:
            # No bound any more, but a better guess: as if edges of one met those of two by chance.
            row -= one * two / self._edges
        row = np.maximum(row, most)
        row = np.minimum(np.minimum(row, self._edges), self._edges[to])
        self._bounds[to] = self._bounds[:, to] = row


def _pair(loss: float, x: int, y: int) -> _Pair:
    return (loss, x, y) if x < y else (loss, y, x)


def _square(matrix: Array, kept: Ints) -> Array:
    """These rows and columns of a matrix, whose memory they keep."""
    for i, row in enumerate(kept):
        matrix[i, : len(kept)] = matrix[row, kept]  # rows that are overwritten were read already
    return matrix[: len(kept), : len(kept)]


def _largest(values: Floats, n: int) -> Ints:
    """Where the n largest values are, the smallest of them first; all places if they are fewer."""
    if len(values) < n:
        return np.arange(len(values))
    places = np.arange(len(values))
    if len(values) > n * _LOT * 2:
        # In n lots the best one is at least as large as this, and so are the n largest of all.
        whole = len(values) // _LOT * _LOT
        best = values[:whole].reshape(_LOT, -1).max(axis=0)
        places = np.flatnonzero(values >= np.partition(best, -n)[-n])
        values = values[places]
    return places[np.argpartition(values, -n)[-n:]]


def rounded(gains: Floats, empty: float) -> Floats:
    """Gains as multiples of an empty tree's price, so that equal ones are equal."""
    return np.round(gains / empty, 10) if empty > 0 else np.zeros_like(gains)


def stopped_early(*, finished: bool) -> tuple[str, ...]:
    """What to say of a search whose time was up."""
    return () if finished else ("stopped early, out of time: more merges may save more",)
