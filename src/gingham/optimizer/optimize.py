"""The rules and their order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gingham.optimizer.cost import Cost
from gingham.optimizer.grids import choose_grids
from gingham.optimizer.joins import share_joins
from gingham.optimizer.trees import choose_trees, forced_trees
from gingham.optimizer.whole import take_whole
from gingham.plan.bound import BoundQuery
from gingham.plan.forest import Plan, Standing
from gingham.plan.load import Load


def optimize(
    stream: str,
    queries: Iterable[BoundQuery],
    cost: Cost | None = None,
    load: Load | None = None,
    standing: Standing | None = None,
    trees: Mapping[str, int] | None = None,
    *,
    anew: bool = False,
) -> Plan:
    """Decide how the queries of a stream share one pass over its rows.

    `load` is what is known of the rows. What stands for queries that are running already is kept.
    `trees` forces the tree of each query; `anew`, trees are woven as if only grids stood.
    """
    cost, load, standing = cost or Cost(), load or Load(), standing or Standing()
    # Joins first: a lookup that only some queries insist on becomes part of their conditions.
    shared, joined, join_notices = share_joins(tuple(queries), standing.outer)
    # Then conditions with too many cells become one attribute, before any grid is built on them.
    simple, simplified, whole_notices = take_whole(shared, standing)
    # Trees are weighed with the attributes and cuts of all conditions, so they come after those.
    woven = (
        choose_trees(simple, cost, load, standing, anew=anew)
        if trees is None
        else forced_trees(simple, trees, cost, load, standing)
    )
    # Grids last: what one costs depends on the slices of its tree.
    forest, for_grids, grid_notices = choose_grids(simple, woven.of_query, woven.prices, standing)
    columns = sorted({c for query in simple for c in query.query.columns})
    return Plan(
        stream=stream,
        joins=joined,
        columns=tuple(columns),
        forest=forest,
        notices=(*join_notices, *whole_notices, *woven.notices, *grid_notices),
        load=load,
        seconds=(
            cost.opening * len(forest.trees)
            + load.rows * (cost.row + cost.tree * len(forest.trees))
            + for_grids
        ),
        standing=Standing(
            grids={q.name: forest.grid_of(q).number for q in simple},
            outer=frozenset(join.role for join, inner in joined if not inner),
            whole=simplified,
            trees={grid.number: grid.tree for grid in forest.grids},
            next_grid=max([standing.next_grid, *(g.number + 1 for g in forest.grids)]),
        ),
    )
