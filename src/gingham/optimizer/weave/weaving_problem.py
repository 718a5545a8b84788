"""What a method gets to weave, and what it gives back."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from gingham.algebra.edges import EdgeRate, ResidueClass, edge_rate
from gingham.core.arrays import Ints
from gingham.optimizer.weave.edge_measures import Measure, Row, choose_measure
from gingham.optimizer.weave.edge_sets import EdgeSets, Windows
from gingham.optimizer.weave.tree_cost import Cost
from gingham.optimizer.weave.woven_plan import WovenTree

_QUICK_CELLS = 500_000
_SINGLE = "slides of one window"


@dataclass(frozen=True, eq=False)
class Problem:
    """Windows to weave, by which cost, and until when."""

    windows: Windows
    cost: Cost
    rate: float
    until: float  # of time.monotonic
    seed: int = 0

    @property
    def sets(self) -> EdgeSets:
        """Windows with equal edges taken together."""
        return self.windows.sets

    @cached_property
    def measure(self) -> Measure:
        """What trees are measured with."""
        return choose_measure(self.sets.all_classes(), len(self.sets), self.windows.ticks)

    @cached_property
    def rows(self) -> list[Row]:
        """Each edge set as the measure sees it."""
        return [self.measure.row(self.sets.classes(i)) for i in range(len(self.sets))]

    @property
    def late(self) -> bool:
        """Whether its time is up."""
        return time.monotonic() > self.until

    def price(self, edges: float, factor: float) -> float:
        """What a tree costs."""
        return self.cost.tree(edges, factor, self.rate)


@dataclass(frozen=True, eq=False)
class Partition:
    """For each window its tree; what is known of the trees' edges; what it took."""

    tree_of_window: Ints
    rates: Sequence[float | None] = ()  # of each tree, if measured
    exact: bool = False
    how: str = ""
    error: float = 0.0  # standard deviations of a rate of one
    operations: int = 0
    notices: tuple[str, ...] = field(default=())


def one_tree(problem: Problem, notices: tuple[str, ...] = ()) -> Partition:
    """Put all windows into one tree."""
    return Partition(np.zeros(len(problem.windows), dtype=np.int64), notices=notices)


def of_set_trees(problem: Problem, trees: Iterable[Iterable[int]]) -> Ints:
    """For each window its tree, if trees are lists of edge sets."""
    tree_of_set = np.empty(len(problem.sets), dtype=np.int64)
    for number, members in enumerate(trees):
        tree_of_set[list(members)] = number
    return tree_of_set[problem.sets.of_window]


def grown(problem: Problem, partition: Partition, until: float) -> tuple[WovenTree, ...]:
    """The trees of a partition, with exact edge rates as far as time allows."""
    windows, numbers = problem.windows, partition.tree_of_window
    order = np.argsort(numbers, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(numbers[order]) > 0))
    stops = np.append(starts[1:], len(order))
    factors = np.bincount(numbers, weights=windows.factors)[numbers[order][starts]]
    sets = problem.sets.of_window[order]
    single = np.minimum.reduceat(sets, starts) == np.maximum.reduceat(sets, starts)
    rates = problem.sets.rates[sets[starts]]
    places, trees = order.tolist(), []
    for tree, (start, stop) in enumerate(zip(starts.tolist(), stops.tolist(), strict=True)):
        rate = EdgeRate(float(rates[tree]), operations=1, how=_SINGLE)
        if not single[tree]:
            rate = _rate(problem, partition, np.unique(sets[start:stop]), tree, until)
        factor = float(factors[tree])
        members = tuple(windows.given[i] for i in places[start:stop])
        trees.append(WovenTree(members, rate, factor, problem.price(float(rate), factor)))
    return tuple(trees)


def _rate(problem: Problem, partition: Partition, sets: Ints, tree: int, until: float) -> EdgeRate:
    known = partition.rates[tree] if tree < len(partition.rates) else None
    if known is not None and partition.exact:
        return EdgeRate(known, operations=1, how=partition.how)
    if known is not None and time.monotonic() > until:
        ticks = problem.windows.ticks
        margin = partition.error * (known / ticks) ** 0.5 * ticks
        return EdgeRate(known, operations=1, how=partition.how, margin=margin)
    classes: list[ResidueClass] = [c for i in sets.tolist() for c in problem.sets.classes(i)]
    ticks = problem.windows.ticks
    found = edge_rate(classes, most=_QUICK_CELLS)
    value = found.fraction if found.fraction is not None else float(found)
    return EdgeRate(
        value * ticks, operations=found.operations, how=found.how, margin=found.margin * ticks
    )
