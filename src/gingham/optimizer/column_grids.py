"""Grids that are filled by columns: one for each condition, key set and pattern of slices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

from gingham.plan.bound import BoundQuery, ConditionalAggregate
from gingham.plan.forest import FixedDecisions, Forest
from gingham.plan.grid import Grid


def with_filters_in_partials(query: BoundQuery) -> BoundQuery:
    """The query as it goes by columns: rows that a FILTER leaves out add nothing to partials."""

    def moved(aggregate: ConditionalAggregate) -> ConditionalAggregate:
        """The aggregate with its FILTER in the partials; its condition still tells its rows."""
        return replace(aggregate, filter_in_partials=aggregate.filter is not None)

    return query.rewritten(query.where, moved)


def with_column_grids(
    by_cells: Forest, queries: Sequence[BoundQuery], order: Sequence[str], fixed: FixedDecisions
) -> Forest:
    """Add grids for queries that go by columns to a forest; `order` is that of all queries."""
    taken = max([fixed.next_grid - 1, *(grid.number for grid in by_cells.grids)])
    unused = count(taken + 1)
    grids = list(by_cells.grids)
    offset = sum(grid.cells for grid in grids)
    trees: dict[object, int] = {}
    first_tree = max((grid.tree for grid in grids), default=-1) + 1
    places: dict[object, int] = {}
    place_of = {
        query.name: position
        for query, position in zip(by_cells.queries, by_cells.placement, strict=True)
    }
    # Queries that run already come first: others may join the grids that they have.
    for query in sorted(queries, key=lambda q: q.name not in fixed.grid_of_query):
        keys, classes = query.key_set, query.window.classes
        number = fixed.grid_of_query.get(query.name)
        tree = classes, query.window.clock
        shape = query.where.sql, keys, tree
        # Two grids that run keep their shards apart, even if they have come to be of one shape.
        place = shape if number is None else number
        if place not in places:
            grid = Grid(
                axes=(),
                keys=keys,
                offset=offset,
                number=next(unused) if number is None else number,
                tree=trees.setdefault(tree, first_tree + len(trees)),
                selects=query.where.sql,
            )
            places[place] = len(grids)
            places.setdefault(shape, len(grids))
            grids.append(grid)
            offset += grid.cells
        place_of[query.name] = places[place]
    by_name = {query.name: query for query in (*by_cells.queries, *queries)}
    return Forest(
        queries=tuple(by_name[name] for name in order),
        grids=tuple(grids),
        placement=tuple(place_of[name] for name in order),
    )
