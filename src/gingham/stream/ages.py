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
from gingham.plan.forest import Forest, Grid

Ages = Mapping[str, int]


def aged(forest: Forest, before: Ages, latest: int) -> dict[str, int]:
    """Compute the ages of all that a plan distinguishes; new things are as old as `latest`."""
    return {thing: before.get(thing, latest) for thing in _things(forest)}


def known_since(query: BoundQuery, forest: Forest, ages: Ages) -> int:
    """Find the event time after which shards tell the rows and windows of a query apart."""
    grid = forest.grid_of(query)
    own = {axis.attribute: axis for axis in grid.axes}
    needed = [ages[_grid(grid)]]
    for condition in query.conditions:
        needed += [ages[_axis(grid, own[attribute])] for attribute in condition.attributes]
        needed += [ages[_cut(grid, own[attribute], cut)] for attribute, cut in condition.cuts]
    partials = [p for aggregate in query.all_aggregates for p in aggregate.partials]
    needed += [ages[_column(c)] for partial in partials for c in partial.columns]
    # An edge also exists where a finer window of the same tree has it.
    classes = _classes(forest)[grid.tree]
    for slide, residue in query.window.classes:
        covering = [(s, r) for s, r in classes if slide % s == 0 and residue % s == r]
        needed.append(min(ages[_edge(grid, *c)] for c in covering))
    return max(needed)


def _classes(forest: Forest) -> dict[int, set[ResidueClass]]:
    """Collect the edges of each tree, also those that a finer window hides: it may be removed."""
    found: dict[int, set[ResidueClass]] = {}
    for query in forest.queries:
        found.setdefault(forest.grid_of(query).tree, set()).update(query.window.classes)
    return found


def _things(forest: Forest) -> Iterator[str]:
    classes = _classes(forest)
    yield from (_column(c) for c in forest.columns)
    for grid in forest.grids:
        yield _grid(grid)
        # By grid and not by tree: a grid may move to another tree.
        yield from (_edge(grid, *c) for c in classes[grid.tree])
        for axis in grid.axes:
            yield _axis(grid, axis)
            yield from (_cut(grid, axis, cut) for cut in axis.cuts)


def _edge(grid: Grid, slide: int, residue: int) -> str:
    return f"{_grid(grid)} edge {residue} modulo {slide}"


def _column(sql: str) -> str:
    return f"column {sql}"


def _grid(grid: Grid) -> str:
    return f"grid {grid.number}"


def _axis(grid: Grid, axis: Axis) -> str:
    return f"{_grid(grid)} axis {axis.attribute.sql}"


def _cut(grid: Grid, axis: Axis, cut: object) -> str:
    return f"{_axis(grid, axis)} cut {cut!r}"
