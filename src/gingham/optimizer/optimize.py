"""The rules of the optimizer, in their order: bound queries to a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gingham.optimizer.choose_grids import choose_grids
from gingham.optimizer.choose_trees import choose_trees, forced_trees
from gingham.optimizer.cost import Cost
from gingham.optimizer.share_joins import share_joins
from gingham.optimizer.simplify_conditions import simplify_conditions
from gingham.plan.bound import BoundQuery
from gingham.plan.forest import FixedDecisions, Plan
from gingham.plan.row_statistics import RowStatistics


def optimize(
    stream: str,
    queries: Iterable[BoundQuery],
    cost: Cost | None = None,
    statistics: RowStatistics | None = None,
    fixed: FixedDecisions | None = None,
    trees: Mapping[str, int] | None = None,
    *,
    reweave: bool = False,
) -> Plan:
    """Decide how the queries of a stream share one pass over its rows.

    `fixed` are the decisions about queries that are running already; the plan keeps them. `trees`
    forces the tree of each query, by name. With `reweave`, grids that are fixed may move to other
    trees.
    """
    cost = cost or Cost()
    statistics = statistics or RowStatistics()
    fixed = fixed or FixedDecisions()

    # 1. Joins. A join that only some queries need to match becomes part of their conditions, so it
    #    stands before every rule that looks at conditions.
    joins = share_joins(tuple(queries), fixed.outer_joins)

    # 2. Conditions. Those that would make too many cells become one attribute. It stands before
    #    trees and grids, since both are priced by the cells of all conditions.
    simple = simplify_conditions(joins.queries, fixed)

    # 3. Trees. Queries that share slices are chosen by the attributes and cuts of the final
    #    conditions, so it stands after these. A forced choice takes the place of the rule.
    if trees is None:
        chosen = choose_trees(simple.queries, cost, statistics, fixed, reweave=reweave)
    else:
        chosen = forced_trees(simple.queries, trees, cost, statistics, fixed)

    # 4. Grids. What a grid costs depends on the number of slices in its tree, so it stands last.
    grids = choose_grids(simple.queries, chosen.of_query, chosen.prices, fixed)

    forest = grids.forest
    return Plan(
        stream=stream,
        joins=joins.joins,
        columns=tuple(sorted({c for query in simple.queries for c in query.query.columns})),
        forest=forest,
        notices=(*joins.notices, *simple.notices, *chosen.notices, *grids.notices),
        statistics=statistics,
        seconds=(
            cost.opening * len(forest.trees)
            + statistics.rows * (cost.row + cost.tree * len(forest.trees))
            + grids.seconds
        ),
        fixed=FixedDecisions(
            grid_of_query={query.name: forest.grid_of(query).number for query in simple.queries},
            outer_joins=frozenset(use.join.role for use in joins.joins if not use.drops_unmatched),
            simplifications=simple.simplifications,
            tree_of_grid={grid.number: grid.tree for grid in forest.grids},
            next_grid=max([fixed.next_grid, *(grid.number + 1 for grid in forest.grids)]),
        ),
    )
