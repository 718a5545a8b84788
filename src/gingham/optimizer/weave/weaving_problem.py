"""The input and output of a weaving method: windows and their cost in, a partition out."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from gingham.algebra.edges import EdgeRate, ResidueClass, edge_rate
from gingham.core.arrays import Ints
from gingham.optimizer.weave.edge_measures import EncodedEdges, Measure, choose_measure
from gingham.optimizer.weave.edge_sets import EdgeSets, Windows
from gingham.optimizer.weave.tree_cost import Cost
from gingham.optimizer.weave.woven_plan import WovenTree

_QUICK_ENTRIES = 500_000
_SINGLE = "slides of one window"


@dataclass(frozen=True, eq=False)
class Problem:
    """Windows to weave, the cost to minimise, and the time when the search has to stop."""

    windows: Windows
    cost: Cost
    rate: float
    until: float  # of time.monotonic
    seed: int = 0

    @property
    def sets(self) -> EdgeSets:
        """The distinct edge sets of the windows to weave."""
        return self.windows.sets

    @cached_property
    def measure(self) -> Measure:
        """The measure of edge rates and overlaps of trees of windows."""
        return choose_measure(self.sets.all_classes(), len(self.sets), self.windows.ticks)

    @cached_property
    def encoded(self) -> list[EncodedEdges]:
        """Each edge set of the windows to weave, encoded for the measure."""
        return [self.measure.encode(self.sets.classes(i)) for i in range(len(self.sets))]

    @property
    def out_of_time(self) -> bool:
        """Whether the search for cheap trees of windows has to stop."""
        return time.monotonic() > self.until

    def price(self, edges: float, factor: float) -> float:
        """The cost of a tree of windows, from its edge rate and overlap factor."""
        return self.cost.tree(edges, factor, self.rate)


@dataclass(frozen=True, eq=False)
class Partition:
    """A partition of windows into trees, with what the search knows of the trees' edge rates."""

    tree_of_window: Ints
    rates: Sequence[float | None] = ()  # of each tree, where measured
    exact: bool = False
    how: str = ""
    error: float = 0.0  # three standard deviations of a rate of one edge per tick
    operations: int = 0
    notices: tuple[str, ...] = field(default=())


def one_tree(problem: Problem, notices: tuple[str, ...] = ()) -> Partition:
    """Weave all windows into one tree."""
    return Partition(np.zeros(len(problem.windows), dtype=np.int64), notices=notices)


def tree_of_each_window(problem: Problem, trees: Iterable[Iterable[int]]) -> Ints:
    """The tree of each window, from trees that are lists of edge sets."""
    tree_of_set = np.empty(len(problem.sets), dtype=np.int64)
    for number, members in enumerate(trees):
        tree_of_set[list(members)] = number
    return tree_of_set[problem.sets.of_window]


def trees_of(problem: Problem, partition: Partition, until: float) -> tuple[WovenTree, ...]:
    """Build the woven trees of a partition of windows, with exact edge rates as time allows."""
    windows, numbers = problem.windows, partition.tree_of_window
    order = np.argsort(numbers, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(numbers[order]) > 0))
    stops = np.append(starts[1:], len(order))
    factors = np.bincount(numbers, weights=windows.factors)[numbers[order][starts]]
    sets = problem.sets.of_window[order]
    single = np.minimum.reduceat(sets, starts) == np.maximum.reduceat(sets, starts)
    rates = problem.sets.rates[sets[starts]]
    in_order, trees = order.tolist(), []
    for tree, (start, stop) in enumerate(zip(starts.tolist(), stops.tolist(), strict=True)):
        rate = EdgeRate(float(rates[tree]), operations=1, how=_SINGLE)
        if not single[tree]:
            rate = _tree_rate(problem, partition, np.unique(sets[start:stop]), tree, until)
        factor = float(factors[tree])
        members = tuple(windows.given[i] for i in in_order[start:stop])
        trees.append(WovenTree(members, rate, factor, problem.price(float(rate), factor)))
    return tuple(trees)


def _tree_rate(
    problem: Problem, partition: Partition, sets: Ints, tree: int, until: float
) -> EdgeRate:
    """The edge rate of a tree of several edge sets: as measured, or computed if time allows."""
    measured = partition.rates[tree] if tree < len(partition.rates) else None
    if measured is not None and partition.exact:
        return EdgeRate(measured, operations=1, how=partition.how)
    if measured is not None and time.monotonic() > until:
        ticks = problem.windows.ticks
        margin = partition.error * (measured / ticks) ** 0.5 * ticks
        return EdgeRate(measured, operations=1, how=partition.how, margin=margin)
    classes: list[ResidueClass] = [c for i in sets.tolist() for c in problem.sets.classes(i)]
    ticks = problem.windows.ticks
    rate = edge_rate(classes, most=_QUICK_ENTRIES)
    value = rate.fraction if rate.fraction is not None else float(rate)
    return EdgeRate(
        value * ticks, operations=rate.operations, how=rate.how, margin=rate.margin * ticks
    )
