"""The rules of the optimizer, in their order: bound queries to a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gingham.optimizer.choose_grids import ChosenGrids, choose_grids
from gingham.optimizer.choose_trees import ChosenTrees, choose_trees, forced_trees
from gingham.optimizer.choose_ways import Way, choose_ways
from gingham.optimizer.column_grids import with_column_grids, with_filters_in_partials
from gingham.optimizer.column_price import column_seconds
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
    way: Way = "auto",
) -> Plan:
    """Decide how the queries of a stream share one pass over its rows.

    `fixed` are the decisions about queries that are running already; the plan keeps them. `trees`
    forces the tree of each query, by name. With `reweave`, grids that are fixed may move to other
    trees. `way` forces how new queries are shared, as far as they can be.
    """
    cost = cost or Cost()
    statistics = statistics or RowStatistics()
    fixed = fixed or FixedDecisions()

    # 1. Joins. A join that only some queries need to match becomes part of their conditions, so it
    #    stands before every rule that looks at conditions.
    joins = share_joins(tuple(queries), fixed.outer_joins)

    # 2. Ways. What goes by columns needs neither cells nor common slices, so it stands before the
    #    rules about these, which then see the other queries only.
    ways = choose_ways(
        joins.queries,
        cost,
        statistics,
        fixed,
        way,
        lambda some: _cell_seconds(stream, some, cost, statistics, fixed),
    )
    cell_queries = tuple(q for q in joins.queries if q.name not in ways.by_columns)
    column_queries = tuple(
        with_filters_in_partials(q) for q in joins.queries if q.name in ways.by_columns
    )

    # 3. Conditions. Those that would make too many cells become one attribute. It stands before
    #    trees and grids, since both are priced by the cells of all conditions.
    simple = simplify_conditions(cell_queries, fixed)

    # 4. Trees. Queries that share slices are chosen by the attributes and cuts of the final
    #    conditions, so it stands after these. A forced choice takes the place of the rule.
    if not simple.queries:
        chosen = ChosenTrees({}, {})
    elif trees is None:
        chosen = choose_trees(simple.queries, cost, statistics, fixed, reweave=reweave)
    else:
        chosen = forced_trees(simple.queries, trees, cost, statistics, fixed)

    # 5. Grids. What a grid costs depends on the number of slices in its tree, so it stands last.
    grids = choose_grids(simple.queries, chosen.of_query, chosen.prices, fixed)

    order = [query.name for query in joins.queries]
    forest = with_column_grids(grids.forest, column_queries, order, fixed)
    return Plan(
        stream=stream,
        joins=joins.joins,
        columns=tuple(sorted({c for query in forest.queries for c in query.query.columns})),
        forest=forest,
        notices=(
            *joins.notices,
            *ways.notices,
            *simple.notices,
            *chosen.notices,
            *grids.notices,
        ),
        statistics=statistics,
        seconds=_seconds_by_cells(grids, cost, statistics)
        + (column_seconds(column_queries, cost, statistics) if column_queries else 0.0),
        fixed=FixedDecisions(
            grid_of_query={query.name: forest.grid_of(query).number for query in forest.queries},
            outer_joins=frozenset(use.join.role for use in joins.joins if not use.drops_unmatched),
            simplifications=simple.simplifications,
            tree_of_grid={grid.number: grid.tree for grid in forest.grids},
            next_grid=max([fixed.next_grid, *(grid.number + 1 for grid in forest.grids)]),
            by_columns=ways.by_columns,
        ),
    )


def _seconds_by_cells(grids: ChosenGrids, cost: Cost, statistics: RowStatistics) -> float:
    """Predicted seconds of all grids that are filled by cells."""
    trees = len(grids.forest.trees)
    if not trees:
        return 0.0
    rows = statistics.rows * (cost.row + cost.tree * trees)
    return cost.opening * trees + rows + grids.seconds


def _cell_seconds(
    stream: str,
    queries: Iterable[BoundQuery],
    cost: Cost,
    statistics: RowStatistics,
    fixed: FixedDecisions,
) -> float:
    """Predicted seconds of some queries by cells, with what each column of a shard takes."""
    plan = optimize(stream, queries, cost, statistics, fixed, way="cells")
    forest = plan.forest
    shards = sum(
        statistics.shards(
            statistics.on(forest.clocks[grid.tree]).slices(forest.trees[grid.tree]),
            grid.axes,
            grid.keys,
        )
        for grid in forest.grids
    )
    return plan.seconds + shards * len(forest.columns) * cost.shard_column
