"""Ages: since when shards tell edges, cuts and columns apart, so how far back a new query can go.

Everything that a plan distinguishes has an age: the latest event time that was seen before it was
there. Shards of rows after that tell it apart, so a query whose edges, cuts and columns are all old
is answered from the log as if it had lived then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gingham.algebra.edges import ResidueClass
from gingham.logical.predicate import Axis
from gingham.plan.bound import BoundQuery
from gingham.plan.forest import Forest
from gingham.plan.grid import Grid

Ages = Mapping[str, int]


def aged(forest: Forest, before: Ages, latest: int) -> dict[str, int]:
    """The ages of edges, cuts and columns under a new plan; new ones have the age `latest`."""
    return {thing: before.get(thing, latest) for thing in _names_of_all(forest)}


def known_since(query: BoundQuery, forest: Forest, ages: Ages) -> int:
    """The event time after which shards tell the rows and windows of a query apart."""
    grid = forest.grid_of(query)
    partials = [p for aggregate in query.aggregates for p in aggregate.partials]
    columns = [c for partial in partials for c in partial.columns]
    if grid.by_columns:
        # It has the rows, the edges and the columns of its own queries, and no others.
        return max(ages[_grid_name(grid)], *(ages[_own_column(grid, c)] for c in columns))
    own = {axis.attribute: axis for axis in grid.axes}
    needed = [ages[_grid_name(grid)]]
    for condition in query.conditions:
        needed += [ages[_axis_name(grid, own[attribute])] for attribute in condition.attributes]
        needed += [ages[_cut_name(grid, own[attribute], cut)] for attribute, cut in condition.cuts]
    needed += [ages[_column_name(c)] for c in columns]
    # An edge also exists where a finer window of the same tree has it.
    classes = _edges_of_trees(forest)[grid.tree]
    for slide, residue in query.window.classes:
        covering = [(s, r) for s, r in classes if slide % s == 0 and residue % s == r]
        needed.append(min(ages[_edge_name(grid, *c)] for c in covering))
    return max(needed)


def _edges_of_trees(forest: Forest) -> dict[int, set[ResidueClass]]:
    """The edges of each tree, also those that a finer window hides, as it may be removed."""
    found: dict[int, set[ResidueClass]] = {}
    for query in forest.queries:
        found.setdefault(forest.grid_of(query).tree, set()).update(query.window.classes)
    return found


def _names_of_all(forest: Forest) -> Iterator[str]:
    """The names of all that shards of a plan tell apart: columns, grids, edges, axes and cuts."""
    classes = _edges_of_trees(forest)
    yield from (_column_name(c) for c in forest.by_cells.columns)
    for query in forest.by_columns.queries:
        grid = forest.grid_of(query)
        yield _grid_name(grid)
        partials = (p for aggregate in query.aggregates for p in aggregate.partials)
        yield from (_own_column(grid, c) for partial in partials for c in partial.columns)
    for grid in forest.by_cells.grids:
        yield _grid_name(grid)
        # By grid and not by tree: a grid may move to another tree.
        yield from (_edge_name(grid, *c) for c in classes[grid.tree])
        for axis in grid.axes:
            yield _axis_name(grid, axis)
            yield from (_cut_name(grid, axis, cut) for cut in axis.cuts)


def _edge_name(grid: Grid, slide: int, residue: int) -> str:
    """The name under which the age of a residue class of edges in a grid is kept."""
    return f"{_grid_name(grid)} edge {residue} modulo {slide}"


def _column_name(sql: str) -> str:
    """The name under which the age of a partial's column is kept."""
    return f"column {sql}"


def _own_column(grid: Grid, sql: str) -> str:
    """The name under which the age of a column is kept in a grid that is filled by columns."""
    return f"{_grid_name(grid)} {_column_name(sql)}"


def _grid_name(grid: Grid) -> str:
    """The name under which the age of a grid is kept."""
    return f"grid {grid.number}"


def _axis_name(grid: Grid, axis: Axis) -> str:
    """The name under which the age of an axis of a grid is kept."""
    return f"{_grid_name(grid)} axis {axis.attribute.sql}"


def _cut_name(grid: Grid, axis: Axis, cut: object) -> str:
    """The name under which the age of a cut on an axis of a grid is kept."""
    return f"{_axis_name(grid, axis)} cut {cut!r}"
