"""Predicted seconds of trees: slices come from windows, cells and groups from conditions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

import numpy as np

from gingham.core.time import SECOND
from gingham.logical.predicate import Attribute
from gingham.logical.window import Window
from gingham.optimizer.axes import all_axes
from gingham.optimizer.cost import Cost
from gingham.optimizer.grid_needs import GridNeed, GridPrice, join_while_cheaper, needs_of
from gingham.optimizer.weave.edge_measures import BitMeasure, EncodedEdges, bits_for
from gingham.plan.bound import BoundQuery
from gingham.plan.forest import FixedDecisions
from gingham.plan.row_statistics import RowStatistics, Value, expected_occupied

_MEASURED = 2_048  # windows for which there is memory: as many instants are looked at as for them


@dataclass(frozen=True, eq=False)
class PricedTree:
    """Queries that would share slices, and the predicted seconds of that."""

    queries: tuple[BoundQuery, ...]
    price: float
    for_shards: float  # the part of the price that shards make
    of_grids: GridPrice


class TreePricer:
    """Prices trees of the queries of one stream; edges of each window are measured once."""

    def __init__(
        self,
        queries: tuple[BoundQuery, ...],
        cost: Cost,
        statistics: RowStatistics,
        fixed: FixedDecisions,
    ) -> None:
        self.cost, self.statistics = cost, statistics
        self.windows = dict.fromkeys(query.window for query in queries)
        self._fixed = fixed
        self._edges: dict[Window, EncodedEdges] = {}

    def tree(self, queries: tuple[BoundQuery, ...]) -> PricedTree:
        """Price a tree of some of the queries, with the grids that are best for it."""
        windows = dict.fromkeys(query.window for query in queries)
        edges = self._measure.union([self._edges_of(window) for window in windows])
        slices = max(1.0, self._measure.rate(edges) * self.statistics.seconds)
        price = GridPrice(self.cost, self.statistics, slices)
        axes = all_axes(queries)
        needs, _ = join_while_cheaper(needs_of(queries, self._fixed), axes, price)
        grids = sum(price.seconds(need, axes) for need in needs)
        return PricedTree(
            queries=queries,
            price=self._cutting_rows + grids,
            for_shards=grids - len(needs) * self.statistics.rows * self.cost.grid,
            of_grids=price,
        )

    def merged(self, one: PricedTree, other: PricedTree) -> PricedTree:
        """Price the tree that has the queries of two trees."""
        return self.tree((*one.queries, *other.queries))

    def second_tree_may_gain(self, single: PricedTree) -> bool:
        """Whether shards of a single tree cost more than cutting the rows for a second one."""
        return single.for_shards > self._cutting_rows

    @property
    def _cutting_rows(self) -> float:
        """Predicted seconds for cutting all rows into the slices of one more tree."""
        return self.cost.opening + self.statistics.rows * self.cost.tree

    @cached_property
    def _measure(self) -> BitMeasure:
        """The encoding of edges as bits, by which edges of windows are counted together."""
        classes = list(dict.fromkeys(c for window in self.windows for c in window.classes))
        return bits_for(classes, max(_MEASURED, len(self.windows)), SECOND)

    def _edges_of(self, window: Window) -> EncodedEdges:
        """The edges of a window, encoded once for all prices."""
        if window not in self._edges:
            self._edges[window] = self._measure.encode(window.classes)
        return self._edges[window]


def query_weight(query: BoundQuery) -> float:
    """The weight of a query among others of its need: one, and one more for each of its cuts."""
    return 1.0 + sum(len(condition.cuts) for condition in query.conditions)


class _AttributeCuts(NamedTuple):
    """The cuts of one attribute: counted in every query, and without repetitions."""

    repeated: int
    distinct: int


@dataclass(frozen=True)
class WovenTreeCost:
    """The cost that `weave` minimizes for queries of one need: a tree's share by its weight.

    Conditions and cuts that queries have in common are taken to be distributed evenly: a tree has
    its share of them, but never more than there are.
    """

    cost: Cost
    total_weight: float  # of all queries
    queries: int
    conditions: int
    cuts: tuple[_AttributeCuts, ...]  # of each attribute
    bins: float  # cells and groups of one slice, as equally likely bins
    opening: float  # per second of event time

    @classmethod
    def of(
        cls,
        queries: tuple[BoundQuery, ...],
        need: GridNeed,
        cost: Cost,
        statistics: RowStatistics,
    ) -> WovenTreeCost:
        """The cost function for these queries, which have this one need."""
        axes = all_axes(queries)
        repeated: dict[Attribute, int] = dict.fromkeys(need.attributes, 0)
        for query in queries:
            for condition in query.conditions:
                for attribute, _ in condition.cuts:
                    repeated[attribute] += 1
        return cls(
            cost=cost,
            total_weight=sum(map(query_weight, queries)),
            queries=len(queries),
            conditions=len(need.conditions),
            cuts=tuple(_AttributeCuts(repeated[a], len(axes[a].cuts)) for a in need.attributes),
            bins=statistics.bins((axes[a] for a in axes), need.keys),
            opening=cost.opening / statistics.seconds,
        )

    def tree(self, edge_rate: Value, overlap_factor: Value, rate: float) -> Value:
        """Seconds per second of event time; `weave` passes weights as overlap factors."""
        share: Any = overlap_factor / self.total_weight
        cells: Any = prod(np.minimum(share * cut.repeated, cut.distinct) + 1 for cut in self.cuts)
        all_cells = prod(cut.distinct + 1 for cut in self.cuts)
        shards = expected_occupied(rate, edge_rate * (cells / all_cells * self.bins))
        conditions: Any = np.minimum(share * self.queries, self.conditions)
        rows = rate * (self.cost.tree + self.cost.grid)
        return self.opening + rows + self.cost.shards(shards, conditions)
