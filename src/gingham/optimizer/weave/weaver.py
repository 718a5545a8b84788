"""The weaver: merges the same pairs of trees as Weave Share, but measures far fewer pairs.

Windows with equal edges always merge first, so only distinct edge sets are compared. Each pair of
trees is stored with the younger of the two, which keeps a short list of the older trees that it may
gain most by merging with. The overlap of two trees is bounded by the overlaps of their parts; it is
measured only for a pair that may be the best of all.
"""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from gingham.core.arrays import Array, Floats, Ints
from gingham.optimizer.weave.anchors import Anchors
from gingham.optimizer.weave.edge_measures import EncodedEdges, Measure
from gingham.optimizer.weave.edge_sets import EdgeSets
from gingham.optimizer.weave.pair_overlaps import fill_overlaps
from gingham.optimizer.weave.tree_cost import Cost

# Gains below this part of an empty tree's cost are rounding errors.
NO_GAIN = 1e-10
_SINGLE_PRECISION = 4096  # with more trees than this, bounds are 32-bit numbers
_SMALL = 256  # slots that are too few to be worth compacting
_FULL = 0.75  # part of the slots that must hold a tree, or they are compacted
_PARTNERS = 64  # that a tree keeps
_MEASURED_AT_ONCE = 4  # partners
_TOLERANCE_OF_SAMPLE = 1.02  # gains this close to the best are equal on a sample
_BLOCK = 32  # values of which only the largest is compared at first

# (minus the gain, lower tree, higher tree): of equal gains the first pair is the smallest.
_Pair = tuple[float, int, int]
_UNKNOWN = (-1, -1)  # the trees of a pair not looked up yet, which precedes others of its gain


@dataclass(slots=True)
class Woven:
    """The trees of a finished or interrupted weaving: their edge sets and edge rates."""

    members: list[list[int]]
    rates: list[float]
    compared: int = 0  # pairs of trees
    finished: bool = True


@dataclass(slots=True)
class _Partners:
    """The older trees that a tree may gain most with, the best first, and those measured so far."""

    trees: list[int]
    ages: list[int]
    losses: list[float]  # minus the gains
    others: float  # the most that a tree not listed may gain
    exact: bool  # whether the gains are exact without being measured
    at: int = 0  # the first partner that is not measured
    measured: list[tuple[_Pair, int, int]] = field(default_factory=list[tuple[_Pair, int, int]])


class Weaver:
    """Trees of windows that are merged pair by pair; a tree is numbered by its first edge set.

    Lists are indexed by that number, arrays by the slot of a tree. A tree that is merged into
    another leaves an empty slot, until the slots are compacted.
    """

    def __init__(
        self,
        rates: Floats,
        factors: Floats,
        encoded: list[EncodedEdges],
        cost: Cost,
        rate: float,
        measure: Measure,
    ) -> None:
        n = len(encoded)
        self._measure, self._cost, self._rate = measure, cost, rate
        self._empty = float(cost.tree(0.0, 0.0, rate))
        self._tolerance = 0.0 if measure.exact else _TOLERANCE_OF_SAMPLE
        self._encoded = encoded
        self._members = [[i] for i in range(n)]
        self._partners: list[_Partners | None] = [None] * n
        self._age = list(range(n))  # -1 for trees that were merged into others
        self._slot = list(range(n))
        self._trees, self._ages = np.arange(n), np.arange(n)
        self._edges, self._factors = rates.copy(), factors.copy()
        self._costs = cost.tree(self._edges, self._factors, rate)
        # Upper bounds of the overlaps of all pairs; exact for trees of a single edge set.
        self._bounds: Array = np.empty(
            (n, n), dtype=np.float32 if n > _SINGLE_PRECISION else np.float64
        )
        self._anchors: Anchors | None = None
        self._live_count, self._youngest = n, n
        self._compared = n * (n - 1) // 2

    @classmethod
    def of_sets(cls, sets: EdgeSets, cost: Cost, rate: float, measure: Measure) -> Weaver:
        """Begin weaving with a tree for each edge set."""
        encoded = [measure.encode(sets.classes(i)) for i in range(len(sets))]
        weaver = cls(sets.rates, sets.factors, encoded, cost, rate, measure)
        fill_overlaps(weaver._bounds, sets)
        weaver._anchors = Anchors(sets)
        return weaver

    @classmethod
    def of_trees(
        cls,
        edges: Floats,
        factors: Floats,
        encoded: list[EncodedEdges],
        cost: Cost,
        rate: float,
        measure: Measure,
    ) -> Weaver:
        """Begin weaving with trees of any edges."""
        weaver = cls(edges, factors, encoded, cost, rate, measure)
        for i, tree in enumerate(encoded):
            weaver._bounds[i, :i] = measure.overlaps(tree, encoded[:i])[0]
            weaver._bounds[:i, i] = weaver._bounds[i, :i]
        return weaver

    def weave(self, until: float) -> Woven:
        """Merge the pair of trees that gains most until no pair gains anything, or time is up."""
        heap: list[tuple[_Pair, int, int]] = []

        def push(x: int) -> None:
            if (best := self._best_partner(x)) is not None:
                heapq.heappush(heap, (best[0], x, self._age[x]))

        for x in range(len(self._age)):
            push(x)
            if x % 64 == 0 and time.monotonic() > until:
                return self._woven(finished=False)
        for step in count(1):
            if not heap:
                break
            if step % 64 == 0 and time.monotonic() > until:
                return self._woven(finished=False)
            key, x, age = heapq.heappop(heap)
            if self._age[x] != age or (best := self._best_partner(x)) is None:
                continue
            pair, exact = best
            if pair != key:  # its partner was merged meanwhile
                heapq.heappush(heap, (pair, x, age))
                continue
            if not exact:
                self._refine(x, pair)
                best = self._best_partner(x)
                if best is None:
                    continue
                pair, exact = best
                # On a sample, a gain hardly below the bound of the best is good enough.
                good = self._tolerance > 0 and self._as_good(pair[0], key[0])
                if not (exact and (pair == key or good)):
                    heapq.heappush(heap, (pair, x, age))
                    continue
            self._merge(*pair[1:])
            push(pair[1])
        return self._woven(finished=True)

    def _as_good(self, loss: float, least: float) -> bool:
        """Whether a pair of trees loses (minus its gain) no more than the best, up to tolerance."""
        # In units of an empty tree's cost, which is the most that a merge can gain.
        return loss <= least or 1 + loss < self._tolerance * (1 + least)

    def _compact(self) -> None:
        """Drop empty slots of merged trees, so that arrays hold live trees only."""
        live_slots = np.flatnonzero(self._ages >= 0)
        self._bounds = _keep_in_square(self._bounds, live_slots)
        self._trees, self._ages = self._trees[live_slots], self._ages[live_slots]
        self._edges, self._factors = self._edges[live_slots], self._factors[live_slots]
        self._costs = self._costs[live_slots]
        for slot, x in enumerate(self._trees.tolist()):
            self._slot[x] = slot
        if self._anchors is not None:
            self._anchors.keep(live_slots)

    def _woven(self, *, finished: bool) -> Woven:
        """The result of weaving so far: the trees as they are now."""
        live = [x for x, age in enumerate(self._age) if age >= 0]
        return Woven(
            [sorted(self._members[x]) for x in live],
            [float(self._edges[self._slot[x]]) for x in live],
            self._compared,
            finished,
        )

    def _best_partner(self, x: int) -> tuple[_Pair, bool] | None:
        """The pair of tree x with the older tree that may gain most, and if the gain is exact.

        Older trees only ever disappear, so a list of partners stays valid. Once all listed ones
        are gone, the best of the others is looked up by `_refine`, if it ever matters.
        """
        partners = self._partners[x]
        if partners is None:
            partners = self._partners[x] = self._list_partners(x)
        measured, age = partners.measured, self._age
        while measured and age[measured[0][1]] != measured[0][2]:
            heapq.heappop(measured)
        trees, at = partners.trees, partners.at
        while at < len(trees) and age[trees[at]] != partners.ages[at]:
            at += 1
        partners.at = at
        best, exact = (measured[0][0], True) if measured else (None, False)
        if at < len(trees) and (best is None or partners.losses[at] <= best[0]):
            next_best = _ordered_pair(partners.losses[at], x, trees[at])
            if best is None or next_best < best:
                best, exact = next_best, partners.exact
        if best is not None and self._as_good(best[0], -partners.others):
            return best, exact
        return ((-partners.others, *_UNKNOWN), False) if partners.others > NO_GAIN else None

    def _refine(self, x: int, best: _Pair) -> None:
        """Measure, or look up, the best pair of tree x, whose gain is only bounded so far."""
        if best[1:] == _UNKNOWN:
            self._partners[x] = self._list_partners(x)
        else:
            self._measure_best(x)

    def _list_partners(self, x: int) -> _Partners:
        """List the older trees that tree x may gain most by merging with."""
        slot = self._slot[x]
        # A tree that was never merged is younger than all lower slots, none of which was merged.
        exact = self._age[x] == x
        part = slice(slot if exact else None)
        all_gains = self._gains(slot, part, self._bounds[slot, part])
        np.copyto(all_gains, -np.inf, where=self._ages[part] >= self._age[x])
        slots = _indices_of_largest(all_gains, _PARTNERS + 1)
        gains = rounded_gains(all_gains[slots], self._empty)
        others = float(gains[0]) if len(slots) > _PARTNERS else -np.inf
        listed = gains > NO_GAIN
        listed[: max(0, len(slots) - _PARTNERS)] = False
        slots, gains = slots[listed], gains[listed]
        losses = -gains
        order = np.lexsort((slots, losses))  # as pairs are ordered
        slots = slots[order]
        trees, ages = self._trees[slots].tolist(), self._ages[slots].tolist()
        return _Partners(trees, ages, losses[order].tolist(), others, exact)

    def _measure_best(self, x: int) -> None:
        """Replace the bounds of the next few partners of tree x by their measured gains."""
        partners = self._partners[x]
        assert partners is not None
        # Several at once: after measuring the best one, the next may be the best.
        others: list[int] = []
        while partners.at < len(partners.trees) and len(others) < _MEASURED_AT_ONCE:
            if self._age[partners.trees[partners.at]] == partners.ages[partners.at]:
                others.append(partners.trees[partners.at])
            partners.at += 1
        for y, gain in zip(others, self._measured_gains(x, others), strict=True):
            if gain > NO_GAIN:
                heapq.heappush(partners.measured, (_ordered_pair(-gain, x, y), y, self._age[y]))

    def _measured_gains(self, x: int, others: list[int]) -> list[float]:
        """Measure the edges that tree x shares with some trees; return its gain with each."""
        self._compared += len(others)
        overlaps, error = self._measure.overlaps(
            self._encoded[x], [self._encoded[y] for y in others]
        )
        slot, slots = self._slot[x], np.array([self._slot[y] for y in others])
        bounds = self._bounds[slot, slots].astype(np.float64)
        # Within the sampling error, the sum of exact overlaps is the better estimate.
        overlaps = np.where(np.abs(bounds - overlaps) <= error, bounds, overlaps)
        self._bounds[slot, slots] = overlaps
        self._bounds[slots, slot] = overlaps
        return rounded_gains(self._gains(slot, slots, overlaps), self._empty).tolist()

    def _gains(self, slot: int, others: Ints | slice, overlaps: Floats) -> Floats:
        """What merging the tree in a slot with each of the others would save."""
        together = self._cost.tree(
            self._edges[others] - overlaps + self._edges[slot],
            self._factors[others] + self._factors[slot],
            self._rate,
        )
        return self._costs[others] - together + self._costs[slot]

    def _merge(self, x: int, y: int) -> None:
        """Merge tree y into x, which becomes the youngest tree."""
        self._live_count -= 1
        self._youngest += 1
        self._age[x], self._age[y] = self._youngest, -1
        self._partners[x] = self._partners[y] = None
        self._members[x] += self._members[y]
        self._members[y] = []
        self._encoded[x] = self._measure.union((self._encoded[x], self._encoded[y]))
        self._encoded[y] = None
        to, gone = self._slot[x], self._slot[y]
        if self._measure.exact:
            self._edges[to] = self._measure.rate(self._encoded[x])
        else:
            common = min(float(self._bounds[to, gone]), self._edges[to], self._edges[gone])
            self._edges[to] += self._edges[gone] - common
        self._factors[to] += self._factors[gone]
        self._costs[to] = self._cost.tree(
            float(self._edges[to]), float(self._factors[to]), self._rate
        )
        self._ages[to], self._ages[gone] = self._youngest, -1
        self._costs[gone] = -np.inf  # so that no merge with it gains
        self._merge_bounds(to, gone)
        if len(self._ages) > _SMALL and self._live_count < _FULL * len(self._ages):
            self._compact()

    def _merge_bounds(self, to: int, gone: int) -> None:
        """Bound the overlaps of a merged tree by the sums of its parts' overlaps."""
        one, two = self._bounds[to], self._bounds[gone]
        row, most = one + two, np.maximum(one, two)
        twice = None if self._anchors is None else self._anchors.merge(to, gone)
        if twice is not None:
            one, two = np.maximum(one - twice, 0), np.maximum(two - twice, 0)
            row -= twice
        if not self._measure.exact:
            # An estimate instead of a bound: the edges of both trees coincide by chance only.
            row -= one * two / self._edges
        row = np.maximum(row, most)
        row = np.minimum(np.minimum(row, self._edges), self._edges[to])
        self._bounds[to] = self._bounds[:, to] = row


def _ordered_pair(loss: float, x: int, y: int) -> _Pair:
    """Order the trees of a pair to merge by their numbers."""
    return (loss, x, y) if x < y else (loss, y, x)


def _keep_in_square(matrix: Array, kept: Ints) -> Array:
    """Keep the rows and columns of live trees in a matrix of overlaps, in place."""
    for i, row in enumerate(kept):
        matrix[i, : len(kept)] = matrix[
            row, kept
        ]  # in ascending order: a row is read before it is overwritten
    return matrix[: len(kept), : len(kept)]


def _indices_of_largest(values: Floats, n: int) -> Ints:
    """The indices of the n trees with the largest gains, the smallest of these first."""
    if len(values) < n:
        return np.arange(len(values))
    slots = np.arange(len(values))
    if len(values) > n * _BLOCK * 2:
        # At least n block maxima reach this threshold, so the n largest values do, too.
        whole = len(values) // _BLOCK * _BLOCK
        best = values[:whole].reshape(_BLOCK, -1).max(axis=0)
        slots = np.flatnonzero(values >= np.partition(best, -n)[-n])
        values = values[slots]
    return slots[np.argpartition(values, -n)[-n:]]


def rounded_gains(gains: Floats, empty: float) -> Floats:
    """Round gains of merging trees, in multiples of an empty tree's cost, to make ties equal."""
    return np.round(gains / empty, 10) if empty > 0 else np.zeros_like(gains)


def stopped_early(*, finished: bool) -> tuple[str, ...]:
    """The notice of a weaving search that ran out of time."""
    return () if finished else ("stopped early, out of time: more merges may save more",)
