"""Which queries share a tree of slices, decided by what windows and conditions cost together."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from gingham.core.errors import QueryError
from gingham.core.time import SECOND
from gingham.logical.window import Clock
from gingham.optimizer.cost import Cost
from gingham.optimizer.grid_needs import GridPrice, Shape, need_of, needs_of
from gingham.optimizer.tree_price import PricedTree, TreePricer, WovenTreeCost, query_weight
from gingham.optimizer.weave import weave
from gingham.plan.bound import BoundQuery
from gingham.plan.forest import FixedDecisions
from gingham.plan.row_statistics import RowStatistics

# Weaving may take this part of the predicted seconds, within these bounds.
_PART_OF_RUN = 0.1
_BUDGET = 0.3, 3.0
_MOST_NOTICES = 4


@dataclass(frozen=True, slots=True)
class ChosenTrees:
    """The tree of each query, by name; what grids cost in each tree; and why it is so."""

    of_query: Mapping[str, int]
    prices: Mapping[int, GridPrice]
    notices: tuple[str, ...] = ()


def choose_trees(
    queries: tuple[BoundQuery, ...],
    cost: Cost,
    statistics: RowStatistics,
    fixed: FixedDecisions,
    *,
    reweave: bool = False,
) -> ChosenTrees:
    """Weave the queries of each need, then merge trees across needs as long as that saves time.

    q1: every 10 s, q2: every 20 s, q3: every 7 s     ->     tree 0: q1, q2     tree 1: q3

    Rows are cut into slices once for every tree, so several trees are compared with one tree for
    all queries. A second tree pays if its fewer slices, times the cells of its conditions, save
    enough shards. Fixed trees may take in other queries; with `reweave`, their grids may part.

    The queries of each clock are woven apart: a slice of time is none of rows.
    """
    chosen = [
        _trees_of_clock(own, cost, statistics.on(clock), fixed, reweave=reweave)
        for clock, own in by_clock(queries).items()
    ]
    return chosen[0] if len(chosen) == 1 else _beside_each_other(chosen)


def by_clock(queries: Sequence[BoundQuery]) -> dict[Clock, tuple[BoundQuery, ...]]:
    """The queries of each clock, in their order."""
    found: dict[Clock, list[BoundQuery]] = {}
    for query in queries:
        found.setdefault(query.window.clock, []).append(query)
    return {clock: tuple(own) for clock, own in found.items()}


def _beside_each_other(chosen: Sequence[ChosenTrees]) -> ChosenTrees:
    """The trees of several clocks, numbered one after the other."""
    of_query: dict[str, int] = {}
    prices: dict[int, GridPrice] = {}
    for trees in chosen:
        first = len(prices)
        of_query |= {name: first + tree for name, tree in trees.of_query.items()}
        prices |= {first + tree: price for tree, price in trees.prices.items()}
    apart = "windows of time and of rows, or of rows of different keys, have no slices in common"
    return ChosenTrees(of_query, prices, (apart, *(n for trees in chosen for n in trees.notices)))


def _trees_of_clock(
    queries: tuple[BoundQuery, ...],
    cost: Cost,
    statistics: RowStatistics,
    fixed: FixedDecisions,
    *,
    reweave: bool,
) -> ChosenTrees:
    """Weave the queries of one clock."""
    pricer = TreePricer(queries, cost, statistics, fixed)
    single = pricer.tree(queries)
    if len(pricer.windows) == 1 or not pricer.second_tree_may_gain(single):
        return _numbered_trees(queries, [single])
    budget = max(_BUDGET[0], min(_BUDGET[1], _PART_OF_RUN * single.price))
    until = time.monotonic() + budget
    woven = _woven_by_need(queries, fixed, pricer, budget / 2, reweave=reweave)
    merged, notices = _merge_while_cheaper(woven, pricer.merged, until)
    if single.price <= sum(tree.price for tree in merged):
        return _numbered_trees(queries, [single], ("one tree: several would cost more",))
    saved = single.price - sum(tree.price for tree in merged)
    per_million = saved / statistics.rows * 1e6
    apart = f"{len(merged)} trees: one for all would cost {per_million:.2f} s more per million rows"
    return _numbered_trees(queries, merged, (apart, *notices))


def several_trees_may_gain(
    queries: Sequence[BoundQuery], cost: Cost, statistics: RowStatistics
) -> bool:
    """Whether several trees may be cheaper than one; needs no sample of the rows to tell."""
    for clock, own in by_clock(queries).items():
        pricer = TreePricer(own, cost, statistics.on(clock), FixedDecisions())
        if len(pricer.windows) > 1 and pricer.second_tree_may_gain(pricer.tree(own)):
            return True
    return False


def forced_trees(
    queries: tuple[BoundQuery, ...],
    trees: Mapping[str, int],
    cost: Cost,
    statistics: RowStatistics,
    fixed: FixedDecisions,
) -> ChosenTrees:
    """Price the trees that the user gives: the tree of each query, by name."""
    prices: dict[int, GridPrice] = {}
    for clock, own in by_clock(queries).items():
        pricer = TreePricer(own, cost, statistics.on(clock), fixed)
        for tree in sorted({trees[query.name] for query in own}):
            if tree in prices:
                raise QueryError(
                    f"tree {tree} for queries with windows of {clock} and of others",
                    "a slice of time is none of rows, and positions of keys are their own",
                    "trees with windows of one kind each",
                )
            prices[tree] = pricer.tree(tuple(q for q in own if trees[q.name] == tree)).of_grids
    return ChosenTrees({query.name: trees[query.name] for query in queries}, prices)


def _numbered_trees(
    queries: tuple[BoundQuery, ...], trees: Sequence[PricedTree], notices: tuple[str, ...] = ()
) -> ChosenTrees:
    """Number the chosen trees in the order of their first queries."""
    position = {query.name: i for i, query in enumerate(queries)}
    ordered = sorted(trees, key=lambda tree: min(position[q.name] for q in tree.queries))
    return ChosenTrees(
        of_query={query.name: i for i, tree in enumerate(ordered) for query in tree.queries},
        prices={i: tree.of_grids for i, tree in enumerate(ordered)},
        notices=notices,
    )


def _woven_by_need(
    queries: tuple[BoundQuery, ...],
    fixed: FixedDecisions,
    pricer: TreePricer,
    budget: float,
    *,
    reweave: bool,
) -> list[PricedTree]:
    """The trees to start from: fixed ones, and new queries woven need by need.

    Queries of a fixed tree start together; with `reweave`, only those of a fixed grid do.
    """
    fixed_together: dict[int, list[BoundQuery]] = {}
    new: dict[Shape, list[BoundQuery]] = {}
    for query in queries:
        grid = fixed.grid_of_query.get(query.name)
        if grid is None:
            new.setdefault(need_of(query, fixed).shape, []).append(query)
        else:
            together = grid if reweave else fixed.tree_of_grid[grid]
            fixed_together.setdefault(together, []).append(query)
    trees = [tuple(together) for together in fixed_together.values()]
    budget_each = budget / max(1, len(new))
    for of_need in new.values():
        trees += _woven_for_need(tuple(of_need), fixed, pricer, budget_each)
    return [pricer.tree(tree) for tree in trees]


def _woven_for_need(
    queries: tuple[BoundQuery, ...], fixed: FixedDecisions, pricer: TreePricer, budget: float
) -> list[tuple[BoundQuery, ...]]:
    """Weave queries that need the same grid: which of them share a tree."""
    (need,) = needs_of(queries, fixed)
    plan = weave(
        [query.window for query in queries],
        rate=pricer.statistics.rate,
        cost=WovenTreeCost.of(queries, need, pricer.cost, pricer.statistics),
        factors=[query_weight(query) for query in queries],
        budget=budget,
    )
    tree_of = {window: i for i, tree in enumerate(plan.trees) for window in tree.windows}
    return [
        tuple(query for query in queries if tree_of[query.window] == tree)
        for tree in range(len(plan.trees))
    ]


def _merge_while_cheaper(
    trees: list[PricedTree], merge: Callable[[PricedTree, PricedTree], PricedTree], until: float
) -> tuple[list[PricedTree], tuple[str, ...]]:
    """Merge the two trees that save most, until no two save anything; also give notices."""
    notices: list[str] = []
    cache: dict[tuple[PricedTree, PricedTree], PricedTree] = {}

    def together(pair: tuple[PricedTree, PricedTree]) -> PricedTree:
        """The two trees as one, with its price; cached."""
        if pair not in cache:
            cache[pair] = merge(*pair)
        return cache[pair]

    def saving(pair: tuple[PricedTree, PricedTree]) -> float:
        """The predicted seconds that two trees save when they are merged."""
        return pair[0].price + pair[1].price - together(pair).price

    while len(trees) > 1:
        best, most = None, -float("inf")
        for pair in combinations(trees, 2):
            if time.monotonic() > until:
                stopped = f"merging trees stopped early, with {len(trees)} of them"
                return trees, (*notices[-_MOST_NOTICES:], stopped)
            if (saved := saving(pair)) > most:
                best, most = pair, saved
        assert best is not None
        both = f"{_tree_outline(best[0])} and {_tree_outline(best[1])}"
        per_million = abs(most) / best[0].of_grids.statistics.rows * 1e9
        if most <= 0:
            closest = f"{both} stay apart: together they would cost {per_million:.0f} ms more"
            return trees, (*notices[-_MOST_NOTICES:], f"{closest} per million rows")
        notices.append(f"{both} share a tree: {per_million:.0f} ms less per million rows")
        trees = [*(tree for tree in trees if tree not in best), together(best)]
    return trees, tuple(notices[-_MOST_NOTICES:])


def _tree_outline(tree: PricedTree) -> str:
    """A tree in a few words, for the notices of `explain`."""
    slides = sorted(query.window.slide for query in tree.queries)
    by_rows = tree.queries[0].window.clock.by_rows
    first, last = (f"{slide if by_rows else slide / SECOND:g}" for slide in (slides[0], slides[-1]))
    span = first if first == last else f"{first} to {last}"
    return f"{len(tree.queries)} queries every {span} {'rows' if by_rows else 's'}"
