"""The rules and their order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gingham.optimizer.cost import Cost
from gingham.optimizer.grids import choose_grids
from gingham.optimizer.joins import share_joins
from gingham.optimizer.whole import take_whole
from gingham.plan.bound import BoundQuery
from gingham.plan.forest import Plan, Standing


def optimize(
    stream: str,
    queries: Iterable[BoundQuery],
    cost: Cost | None = None,
    standing: Standing | None = None,
    trees: Mapping[str, int] | None = None,
) -> Plan:
    """Decide how the queries of a stream share one pass over its rows.

    What stands for queries that are running already is kept. `trees` tells the tree of each query;
    otherwise newcomers join the first one.
    """
    cost, standing = cost or Cost(), standing or Standing()
    # Joins first: a lookup that only some queries insist on becomes part of their conditions.
    shared, joined, join_notices = share_joins(tuple(queries), standing.outer)
    # Then conditions with too many cells become one attribute, before any grid is built on them.
    simple, simplified, whole_notices = take_whole(shared, standing)
    # Grids last: they need the attributes and cuts of all conditions.
    trees = trees or {q.name: standing.trees.get(standing.grids.get(q.name, -1), 0) for q in simple}
    forest, grid_notices = choose_grids(simple, trees, cost, standing)
    columns = sorted({c for query in simple for c in query.query.columns})
    return Plan(
        stream=stream,
        joins=joined,
        columns=tuple(columns),
        forest=forest,
        notices=(*join_notices, *whole_notices, *grid_notices),
        standing=Standing(
            grids={q.name: forest.grid_of(q).number for q in simple},
            outer=frozenset(join.role for join, inner in joined if not inner),
            whole=simplified,
            trees={grid.number: grid.tree for grid in forest.grids},
            next_grid=max([standing.next_grid, *(g.number + 1 for g in forest.grids)]),
        ),
    )
