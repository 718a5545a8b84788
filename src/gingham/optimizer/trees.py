"""Which queries share a tree of slices, decided by what windows and conditions cost together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from gingham.core.time import SECOND
from gingham.logical.predicate import Attribute
from gingham.logical.window import Window
from gingham.optimizer.axes import all_axes
from gingham.optimizer.cost import Cost
from gingham.optimizer.needs import Need, Price, Shape, join_while_cheaper, need_of, needs_of
from gingham.optimizer.weave import weave
from gingham.optimizer.weave.edge_measures import Bits, EncodedEdges, bits_for
from gingham.plan.bound import BoundQuery
from gingham.plan.forest import Standing
from gingham.plan.load import Load, Value, expected_places

# Weaving may take this part of the predicted seconds, within these bounds.
_PART_OF_RUN = 0.1
_BUDGET = 0.3, 3.0
_MOST_NOTICES = 4
_MEASURED = 2_048  # windows for which there is memory: as many instants are looked at as for them


@dataclass(frozen=True, slots=True)
class Trees:
    """The tree of each query, what grids cost in each tree, and why it is so."""

    of_query: Mapping[str, int]
    prices: Mapping[int, Price]
    notices: tuple[str, ...] = ()


def choose_trees(
    queries: tuple[BoundQuery, ...],
    cost: Cost,
    load: Load,
    standing: Standing,
    *,
    anew: bool = False,
) -> Trees:
    """Weave the queries of each need, then merge trees across needs as long as that saves time.

    Rows are cut once for every tree, so one tree is the start of all comparisons; a second one
    pays when fewer slices of it, times the cells of its conditions, make so many shards less.
    Trees that stand may take in others; `anew`, the grids in them may part.
    """
    loom = _Weaving(queries, cost, load, standing)
    whole = loom.tree(queries)
    if len(loom.windows) == 1 or not loom.may_gain(whole):
        return loom.chosen([whole], ())
    budget = max(_BUDGET[0], min(_BUDGET[1], _PART_OF_RUN * whole.price))
    until = time.monotonic() + budget
    beginnings = loom.beginnings(budget / 2, anew=anew)
    merged, notices = _merge_while_cheaper(beginnings, loom.merged, until)
    if whole.price <= sum(tree.price for tree in merged):
        return loom.chosen([whole], ("one tree: several would cost more",))
    saved = whole.price - sum(tree.price for tree in merged)
    per_million = saved / load.rows * 1e6
    apart = f"{len(merged)} trees: one for all would cost {per_million:.2f} s more per million rows"
    return loom.chosen(merged, (apart, *notices))


def may_gain(queries: Sequence[BoundQuery], cost: Cost, load: Load) -> bool:
    """Whether several trees may be cheaper than one, whatever the rows are like."""
    loom = _Weaving(tuple(queries), cost, load, Standing())
    return len(loom.windows) > 1 and loom.may_gain(loom.tree(tuple(queries)))


def forced_trees(
    queries: tuple[BoundQuery, ...],
    trees: Mapping[str, int],
    cost: Cost,
    load: Load,
    standing: Standing,
) -> Trees:
    """Trees that are given."""
    loom = _Weaving(queries, cost, load, standing)
    prices = {
        tree: loom.tree(tuple(q for q in queries if trees[q.name] == tree)).of_grids
        for tree in sorted(set(trees.values()))
    }
    return Trees(trees, prices)


@dataclass(frozen=True, eq=False)
class _Tree:
    """Queries that would share slices."""

    queries: tuple[BoundQuery, ...]
    price: float
    for_shards: float  # the part of the price that shards make
    of_grids: Price


class _Weaving:
    """What trees of some queries would cost."""

    def __init__(
        self, queries: tuple[BoundQuery, ...], cost: Cost, load: Load, standing: Standing
    ) -> None:
        self._queries, self._cost, self._load, self._standing = queries, cost, load, standing
        self.windows = dict.fromkeys(query.window for query in queries)
        self._rows: dict[Window, EncodedEdges] = {}

    @cached_property
    def _measure(self) -> Bits:
        classes = list(dict.fromkeys(c for window in self.windows for c in window.classes))
        return bits_for(classes, max(_MEASURED, len(self.windows)), SECOND)

    def tree(self, queries: tuple[BoundQuery, ...]) -> _Tree:
        """Some queries in one tree."""
        windows = dict.fromkeys(query.window for query in queries)
        edges = self._measure.union([self._row(window) for window in windows])
        slices = max(1.0, self._measure.rate(edges) * self._load.seconds)
        price = Price(self._cost, self._load, slices)
        axes = all_axes(queries)
        joined, _ = join_while_cheaper(needs_of(queries, self._standing), axes, price)
        rows, grids = self._load.rows, sum(price.grid(need, axes) for need in joined)
        for_shards = grids - len(joined) * rows * self._cost.grid
        return _Tree(queries, self._second_tree + grids, for_shards, price)

    def merged(self, one: _Tree, other: _Tree) -> _Tree:
        """Two trees in one."""
        return self.tree((*one.queries, *other.queries))

    def may_gain(self, whole: _Tree) -> bool:
        """Whether all shards of one tree cost more than cutting the rows for a second one."""
        return whole.for_shards > self._second_tree

    @property
    def _second_tree(self) -> float:
        return self._cost.opening + self._load.rows * self._cost.tree

    def beginnings(self, budget: float, *, anew: bool) -> list[_Tree]:
        """What stands, tree by tree or grid by grid, and newcomers woven need by need."""
        standing, stand = self._standing, dict[int, list[BoundQuery]]()
        newcomers: dict[Shape, list[BoundQuery]] = {}
        for query in self._queries:
            grid = standing.grids.get(query.name)
            if grid is None:
                newcomers.setdefault(need_of(query, standing).shape, []).append(query)
            else:
                stand.setdefault(grid if anew else standing.trees[grid], []).append(query)
        lots = [tuple(own) for own in stand.values()]
        each = budget / max(1, len(newcomers))
        lots += [tree for own in newcomers.values() for tree in self._woven(tuple(own), each)]
        return [self.tree(own) for own in lots]

    def _woven(
        self, queries: tuple[BoundQuery, ...], budget: float
    ) -> list[tuple[BoundQuery, ...]]:
        (need,) = needs_of(queries, self._standing)
        plan = weave(
            [query.window for query in queries],
            rate=self._load.rate,
            cost=_TreeCost.of(queries, need, self._cost, self._load),
            factors=[_weight(query) for query in queries],
            budget=budget,
        )
        tree_of = {window: i for i, tree in enumerate(plan.trees) for window in tree.windows}
        return [
            tuple(query for query in queries if tree_of[query.window] == tree)
            for tree in range(len(plan.trees))
        ]

    def chosen(self, trees: Iterable[_Tree], notices: tuple[str, ...]) -> Trees:
        """Trees with numbers, in the order of their first queries."""
        place = {query.name: i for i, query in enumerate(self._queries)}
        ordered = sorted(trees, key=lambda tree: min(place[q.name] for q in tree.queries))
        return Trees(
            {query.name: i for i, tree in enumerate(ordered) for query in tree.queries},
            {i: tree.of_grids for i, tree in enumerate(ordered)},
            notices,
        )

    def _row(self, window: Window) -> EncodedEdges:
        if window not in self._rows:
            self._rows[window] = self._measure.encode(window.classes)
        return self._rows[window]


def _merge_while_cheaper(
    trees: list[_Tree], merged: Callable[[_Tree, _Tree], _Tree], until: float
) -> tuple[list[_Tree], tuple[str, ...]]:
    """Merge the two trees that save most, until no two save anything."""
    notices: list[str] = []
    known: dict[tuple[_Tree, _Tree], _Tree] = {}

    def together(pair: tuple[_Tree, _Tree]) -> _Tree:
        if pair not in known:
            known[pair] = merged(*pair)
        return known[pair]

    def saving(pair: tuple[_Tree, _Tree]) -> float:
        return pair[0].price + pair[1].price - together(pair).price

    while len(trees) > 1:
        best, most = None, -float("inf")
        for pair in combinations(trees, 2):
            if time.monotonic() > until:
                stopped = f"merging trees stopped early, with {len(trees)} of them"
                return trees, (*notices[-_MOST_NOTICES:], stopped)
            if (found := saving(pair)) > most:
                best, most = pair, found
        assert best is not None
        said = f"{_size(best[0])} and {_size(best[1])}"
        per_million = abs(most) / best[0].of_grids.load.rows * 1e9
        if most <= 0:
            closest = f"{said} stay apart: together they would cost {per_million:.0f} ms more"
            return trees, (*notices[-_MOST_NOTICES:], f"{closest} per million rows")
        notices.append(f"{said} share a tree: {per_million:.0f} ms less per million rows")
        trees = [*(tree for tree in trees if tree not in best), together(best)]
    return trees, tuple(notices[-_MOST_NOTICES:])


def _size(tree: _Tree) -> str:
    slides = sorted(query.window.slide / SECOND for query in tree.queries)
    span = f"{slides[0]:g}" if slides[0] == slides[-1] else f"{slides[0]:g} to {slides[-1]:g}"
    return f"{len(tree.queries)} queries every {span} s"


def _weight(query: BoundQuery) -> float:
    return 1.0 + sum(len(condition.cuts) for condition in query.conditions)


@dataclass(frozen=True)
class _TreeCost:
    """What a tree of some queries of one need costs, by their part of all weights.

    Conditions and cuts that windows have in common are taken to be spread evenly: a tree has its
    part of them, but never more than there are.
    """

    cost: Cost
    whole: float  # the weight of all queries
    queries: int
    conditions: int
    cuts: tuple[tuple[int, int], ...]  # of each attribute: with repetitions, and different ones
    places: float
    opening: float  # per second of event time

    @classmethod
    def of(cls, queries: tuple[BoundQuery, ...], need: Need, cost: Cost, load: Load) -> _TreeCost:
        axes = all_axes(queries)
        repeated: dict[Attribute, int] = dict.fromkeys(need.attributes, 0)
        for query in queries:
            for condition in query.conditions:
                for attribute, _ in condition.cuts:
                    repeated[attribute] += 1
        return cls(
            cost,
            sum(map(_weight, queries)),
            len(queries),
            len(need.conditions),
            tuple((repeated[a], len(axes[a].cuts)) for a in need.attributes),
            load.places((axes[a] for a in axes), need.keys),
            cost.opening / load.seconds,
        )

    def tree(self, edge_rate: Value, overlap_factor: Value, rate: float) -> Value:
        """Seconds per second of event time; weights stand for overlap factors."""
        part: Any = overlap_factor / self.whole
        cells: Any = prod(np.minimum(part * many, few) + 1 for many, few in self.cuts)
        every = prod(few + 1 for _, few in self.cuts)
        shards = expected_places(rate, edge_rate * (cells / every * self.places))
        conditions: Any = np.minimum(part * self.queries, self.conditions)
        rows = rate * (self.cost.tree + self.cost.grid)
        return self.opening + rows + self.cost.shards(shards, conditions)
