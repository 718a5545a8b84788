"""Weave Share as published (Guirguis et al., CIKM 2011), its three optimizations optional."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from gingham.algebra.edges import ResidueClass, edge_rate, edges_between, normalized
from gingham.algebra.edges.bit_set import MOST_BITS
from gingham.core.arrays import Bools
from gingham.core.errors import BudgetError
from gingham.optimizer.weave.weaver import NO_GAIN, rounded_gains, stopped_early
from gingham.optimizer.weave.weaving_problem import Partition, Problem

MOST_WINDOWS = 5_000
_SHORT_PERIOD = 1 << 22


@dataclass(frozen=True, slots=True)
class _Tree:
    """A tree of windows as Weave Share merges it: residue classes, edge rate, overlap factor."""

    windows: tuple[int, ...]
    classes: tuple[ResidueClass, ...]
    period: int
    edges: float  # per tick
    factor: float
    bits: Bools | None  # of one period, if bitmaps are used


@dataclass(slots=True)
class _Counter:
    """Counts the common edges of two trees, and the operations that this takes."""

    bitmap: bool
    probe_smaller: bool
    operations: int = 0

    def common(self, x: _Tree, y: _Tree) -> float:
        """The common edges of two trees, per tick."""
        period = math.lcm(x.period, y.period)
        if period > (_SHORT_PERIOD if self.bitmap else MOST_BITS):
            return self._by_rate(x, y)
        if not self.bitmap:
            edges = edges_between(y.classes, 0, period)
            self.operations += len(edges) * len(x.classes)
            hit = np.zeros(len(edges), dtype=bool)
            for slide, residue in x.classes:
                hit |= edges % slide == residue
            return int(np.count_nonzero(hit)) / period
        assert x.bits is not None
        assert y.bits is not None
        # Counted as if the edges of one bitmap were looked up in the other.
        probes = min(x.edges, y.edges) if self.probe_smaller else y.edges
        self.operations += round(probes * period)
        both = np.tile(x.bits, period // x.period) & np.tile(y.bits, period // y.period)
        return int(np.count_nonzero(both)) / period

    def _by_rate(self, x: _Tree, y: _Tree) -> float:
        """Count the common edges of two trees: both edge rates minus that of the union."""
        together = edge_rate(normalized(x.classes + y.classes))
        self.operations += together.operations
        return x.edges + y.edges - float(together)

    def tree(self, problem: Problem, window: int) -> _Tree:
        """Build the tree of one window, with its edges."""
        sets = problem.sets
        number = int(sets.of_window[window])
        classes = sets.classes(number)
        period = classes[0][0]
        factor = float(problem.windows.factors[window])
        bits = self._bits(classes, period)
        return _Tree(
            windows=(window,),
            classes=classes,
            period=period,
            edges=len(classes) / period,
            factor=factor,
            bits=bits,
        )

    def merged(self, x: _Tree, y: _Tree, common: float) -> _Tree:
        """Merge two trees of windows: the union of their edges."""
        classes = normalized(x.classes + y.classes)
        period = math.lcm(x.period, y.period)
        edges = x.edges + y.edges - common
        bits = self._bits(classes, period)
        return _Tree(
            windows=x.windows + y.windows,
            classes=classes,
            period=period,
            edges=edges,
            factor=x.factor + y.factor,
            bits=bits,
        )

    def _bits(self, classes: tuple[ResidueClass, ...], period: int) -> Bools | None:
        """Mark the edges of a tree in a bitmap of one period; None if bitmaps are not used."""
        if not self.bitmap or period > _SHORT_PERIOD:
            return None
        bits = np.zeros(period, dtype=bool)
        for slide, residue in classes:
            bits[residue::slide] = True
        return bits


def weave_share(
    problem: Problem,
    *,
    lookup: bool = True,
    bitmap: bool = True,
    probe_smaller: bool = True,
) -> Partition:
    """Weave Share: merge the pair of trees that saves most, as long as some pair saves something.

    Guirguis et al. (CIKM 2011), Figure 2. With `lookup`, savings are kept in a table instead of
    computed in every round; with `bitmap`, edges are bitmaps; with `probe_smaller`, the tree with
    fewer edges probes the other. `counted_share` counts the edges of both trees together instead.
    """
    if len(problem.windows) > MOST_WINDOWS:
        raise BudgetError(
            f"Weave Share of {len(problem.windows):,} windows",
            f"it compares all pairs of them; {MOST_WINDOWS:,} is the most",
            "method='scalable', which finds the same plan",
        )
    counter = _Counter(bitmap, probe_smaller)
    finished, trees = _merge_all(problem, counter, lookup=lookup)
    numbers = np.empty(len(problem.windows), dtype=np.int64)
    for number, tree in enumerate(trees):
        numbers[list(tree.windows)] = number
    return Partition(
        numbers,
        [tree.edges * problem.windows.ticks for tree in trees],
        exact=True,
        how="Weave Share",
        operations=counter.operations,
        notices=stopped_early(finished=finished),
    )


def _merge_all(problem: Problem, counter: _Counter, *, lookup: bool) -> tuple[bool, list[_Tree]]:
    """Merge the best pair of trees until none saves anything; False if time was up before."""
    trees = [counter.tree(problem, i) for i in range(len(problem.windows))]
    ticks, empty = problem.windows.ticks, problem.price(0.0, 0.0)

    def saving(x: _Tree, y: _Tree) -> tuple[float, float]:
        common = counter.common(x, y)
        price = problem.price((x.edges + y.edges - common) * ticks, x.factor + y.factor)
        apart = problem.price(x.edges * ticks, x.factor) + problem.price(y.edges * ticks, y.factor)
        return float(rounded_gains(np.array(apart - price), empty)), common

    n = len(trees)
    savings = np.full((n, n), -np.inf)
    commons = np.zeros((n, n))
    alive = list(range(n))

    def compare(i: int, j: int) -> None:
        savings[i, j], commons[i, j] = saving(trees[i], trees[j])

    def all_pairs() -> bool:
        for position, i in enumerate(alive):
            for j in alive[position + 1 :]:
                compare(i, j)
            if time.monotonic() > problem.until:
                return False
        return True

    finished = all_pairs()
    while len(alive) > 1:
        i, j = (int(index) for index in np.unravel_index(int(np.argmax(savings)), (n, n)))
        if savings[i, j] <= NO_GAIN:
            break
        trees[i] = counter.merged(trees[i], trees[j], commons[i, j])
        alive.remove(j)
        savings[j, :] = savings[:, j] = -np.inf
        if time.monotonic() > problem.until:
            finished = False
            break
        if lookup:
            for k in alive:
                if k != i:
                    compare(min(i, k), max(i, k))
        elif not all_pairs():
            finished = False
            break
    return finished, [trees[i] for i in alive]
