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
from typing import Any

import numpy as np
import numpy.typing as npt

from gingham.optimizer.weave.anchors import Anchors
from gingham.optimizer.weave.cost import Cost
from gingham.optimizer.weave.measure import Measure, Row, fill_overlaps
from gingham.optimizer.weave.windows import EdgeSets

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Gains that differ by less than this part of an empty tree's price are the same but for rounding.
NOTHING = 1e-10
_SINGLE_PRECISION = 4096  # trees from which bounds are kept as 32-bit numbers
_SMALL = 256  # slots that are not worth closing ranks
_FEW = 64
_LOOKS = 4
_TOLERANCE_OF_SAMPLE = 1.02
_ROW = 64

# Minus the gain, the lower and the higher slot: of equal gains the first pair goes first.
_Pair = tuple[float, int, int]


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
    pairs: list[_Pair]
    others: float  # what any other tree may gain
    exact: bool  # whether gains are more than bounds without being measured
    at: int = 0
    measured: list[tuple[_Pair, int, int]] = field(default_factory=list[tuple[_Pair, int, int]])


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
        self._tolerance = 0.0 if measure.exact else _TOLERANCE_OF_SAMPLE
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
        while True:
            done = self._merge_while_better(until)
            if done is not None:
                return self._woven(finished=done)
            self._close_ranks()

    def _merge_while_better(self, until: float) -> bool | None:
        """True if no pair saves anything, False if time is up, None if half the slots are empty."""
        heap: list[tuple[_Pair, int, int]] = []

        def push(x: int) -> None:
            if (best := self._best_partner(x)) is not None:
                heapq.heappush(heap, (best[0], x, self._age[x]))

        alive = np.flatnonzero(self._ages >= 0).tolist()
        for i, x in enumerate(alive):
            push(x)
            if i % 64 == 0 and time.monotonic() > until:
                return False
        enough = len(self._rows) // 2 if len(self._rows) > _SMALL else 0
        for looks in count(1):
            if not heap:
                break
            if looks % 64 == 0 and time.monotonic() > until:
                return False
            key, x, age = heapq.heappop(heap)
            if self._age[x] != age or (best := self._best_partner(x)) is None:
                continue
            pair, exact = best
            if pair != key:  # its partner is gone
                heapq.heappush(heap, (pair, x, age))
                continue
            if not exact:
                self._measure_best(x)
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
            if self._alive < enough:
                return None
        return True

    def _as_good(self, loss: float, least: float) -> bool:
        """Whether a pair gains hardly less than any may gain; both are minus the gain."""
        # The most that can be gained is one empty tree.
        return loss <= least or 1 + loss < self._tolerance * (1 + least)

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
        places = np.full(len(self._few), -1)
        places[kept] = np.arange(len(kept))
        numbers = places.tolist()
        self._few = [_renumbered(self._few[i], numbers) for i in kept]
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

    def _best_partner(self, x: int) -> tuple[_Pair, bool] | None:
        """The older tree that merging with may save most, if any; whether the gain is exact.

        Older trees only ever disappear, so the best few stay the best few.
        """
        while True:
            few = self._few[x]
            if few is None:
                few = self._few[x] = self._the_few(x)
            measured, age = few.measured, self._age
            while measured and age[measured[0][1]] != measured[0][2]:
                heapq.heappop(measured)
            while few.at < len(few.trees) and age[few.trees[few.at]] != few.ages[few.at]:
                few.at += 1
            best, exact = (measured[0][0], True) if measured else (None, False)
            if few.at < len(few.trees) and (best is None or few.pairs[few.at] < best):
                best, exact = few.pairs[few.at], few.exact
            if best is not None and self._as_good(best[0], -few.others):
                return best, exact
            if few.others <= NOTHING:
                return None
            self._few[x] = None

    def _the_few(self, x: int) -> _Few:
        """The older trees that may save most."""
        # One that was never merged is younger than those before it, which were not either.
        exact = bool(self._unmerged[x])
        part = slice(x if exact else None)
        everybody = self._gains(x, part, self._bounds[x, part])
        everybody[self._ages[part] >= self._age[x]] = -np.inf
        trees = _largest(everybody, _FEW + 1)
        gains = rounded(everybody[trees], self._empty)
        others = float(gains[0]) if len(trees) > _FEW else -np.inf
        kept = gains > NOTHING
        kept[: max(0, len(trees) - _FEW)] = False
        trees, gains = trees[kept], gains[kept]
        low, high = np.minimum(trees, x), np.maximum(trees, x)
        order = np.lexsort((high, low, -gains))
        trees = trees[order]
        pairs = zip(
            (-gains[order]).tolist(), low[order].tolist(), high[order].tolist(), strict=True
        )
        return _Few(trees.tolist(), self._ages[trees].tolist(), list(pairs), others, exact)

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
        which = np.array(others)
        gains = rounded(self._gains(x, which, self._look_at(x, which)), self._empty)
        for y, gain in zip(others, gains.tolist(), strict=True):
            if gain > NOTHING:
                pair = (-gain, min(x, y), max(x, y))
                heapq.heappush(few.measured, (pair, y, self._age[y]))

    def _gains(self, x: int, others: Ints | slice, overlaps: Floats) -> Floats:
        together = self._cost.tree(
            self._edges[others] - overlaps + self._edges[x],
            self._factors[others] + self._factors[x],
            self._rate,
        )
        return self._costs[others] - together + self._costs[x]

    def _look_at(self, x: int, others: Ints) -> Floats:
        """Measure what x has in common with some trees."""
        self._looked_at += len(others)
        found, error = self._measure.overlaps(self._rows[x], [self._rows[y] for y in others])
        bounds = self._bounds[x, others].astype(np.float64)
        # Where a sample cannot tell them apart, what exact parts add up to is the better estimate.
        found = np.where(np.abs(bounds - found) <= error, bounds, found)
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
        self._costs[y] = -np.inf  # so that nobody gains by it
        self._few[x] = self._few[y] = None
        one, two = self._bounds[x], self._bounds[y]
        row = one + two
        twice = None if self._anchors is None else self._anchors.merge(x, y)
        if twice is not None:
            one, two = np.maximum(one - twice, 0), np.maximum(two - twice, 0)
            row -= twice
        if not self._measure.exact:
            # No bound any more, but a better guess: as if edges of x met those of y by chance.
            row -= one * two / self._edges
        row = np.maximum(row, np.maximum(self._bounds[x], self._bounds[y]))
        row = np.minimum(np.minimum(row, self._edges), self._edges[x])
        self._bounds[x] = self._bounds[:, x] = row


def _renumbered(few: _Few | None, numbers: list[int]) -> _Few | None:
    """The same partners in other slots, without those that are gone."""
    if few is None:
        return None
    kept = [i for i in range(few.at, len(few.trees)) if numbers[few.trees[i]] >= 0]
    return _Few(
        [numbers[few.trees[i]] for i in kept],
        [few.ages[i] for i in kept],
        [_renumbered_pair(few.pairs[i], numbers) for i in kept],
        few.others,
        few.exact,
        0,
        [
            (_renumbered_pair(pair, numbers), numbers[y], age)
            for pair, y, age in few.measured
            if numbers[y] >= 0
        ],
    )


def _renumbered_pair(pair: _Pair, numbers: list[int]) -> _Pair:
    loss, one, other = pair
    return loss, numbers[one], numbers[other]


def _largest(values: Floats, n: int) -> Ints:
    """Where the n largest values are, the smallest of them first; all places if they are fewer."""
    if len(values) < n:
        return np.arange(len(values))
    places = np.arange(len(values))
    if len(values) > n * _ROW * 2:
        # They are in the rows with the n largest maxima.
        whole = len(values) // _ROW * _ROW
        rows = np.argpartition(values[:whole].reshape(-1, _ROW).max(axis=1), -n)[-n:]
        inside = (rows[:, None] * _ROW + np.arange(_ROW)).ravel()
        places = np.append(inside, np.arange(whole, len(values)))
        values = values[places]
    return places[np.argpartition(values, -n)[-n:]]


def rounded(gains: Floats, empty: float) -> Floats:
    """Gains as multiples of an empty tree's price, so that equal ones are equal."""
    return np.round(gains / empty, 10) if empty > 0 else np.zeros_like(gains)


def stopped_early(*, finished: bool) -> tuple[str, ...]:
    """What to say of a search whose time was up."""
    return () if finished else ("stopped early, out of time: more merges may save more",)
