"""A plan as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gingham.logical.predicate import Axis
from gingham.plan.slices import periodic
from gingham.plan.tree import Grid, Plan, Tree

_LISTED = 6


def explain(plan: Plan) -> str:
    """What is shared, by whom, and why something is not."""
    return "\n".join(_lines(plan))


def _lines(plan: Plan) -> Iterator[str]:
    tree = plan.tree
    yield f"{plan.stream}: {len(tree.queries)} queries, one pass over the rows"
    for join, inner in plan.joins:
        kind = "rows without a match are dropped" if inner else "rows without a match are kept"
        yield f"  lookup {join.role} by {', '.join(join.on)}: once for all queries, {kind}"
    yield from _slices(tree)
    yield f"  attributes: {len(tree.axes)}"
    yield from (f"    {_axis(axis)}" for axis in tree.axes)
    yield f"  grids: {len(tree.grids)}, {tree.cells:,} cells; every row is grouped once in each"
    for position, grid in enumerate(tree.grids):
        yield f"    {_grid(grid, tree, position)}"
    yield f"  partials: {len(tree.columns)}"
    uses = _uses(tree)
    yield from (f"    {column}   for {uses[column]} queries" for column in tree.columns)
    for notice in plan.notices:
        yield f"  notice: {notice}"


def _slices(tree: Tree) -> Iterator[str]:
    windows = {query.window for query in tree.queries}
    found = periodic(tree.classes)
    how = str(found) if found else "listed around the data, panes beyond: the pattern is long"
    yield f"  slices: {len(windows)} different windows, {len(tree.classes)} classes of edges, {how}"


def _axis(axis: Axis) -> str:
    cuts = ", ".join(str(c) for c in axis.cuts[:_LISTED])
    more = ", ..." if len(axis.cuts) > _LISTED else ""
    return f"{axis.attribute.sql}: {len(axis.cuts) + 1} intervals at {cuts}{more}"


def _grid(grid: Grid, tree: Tree, position: int) -> str:
    names = [
        q.name for q, place in zip(tree.queries, tree.placement, strict=True) if place == position
    ]
    over = " x ".join(axis.attribute.sql for axis in grid.axes) or "all rows"
    by = f" by {', '.join(grid.keys)}" if grid.keys else ""
    listed = ", ".join(names[:_LISTED]) + (", ..." if len(names) > _LISTED else "")
    return f"{over}{by}: {grid.cells:,} cells for {len(names)} queries ({listed})"


def _uses(tree: Tree) -> Counter[str]:
    return Counter(
        column
        for query in tree.queries
        for column in {
            c for r in (*query.readings, *query.guards) for p in r.partials for c in p.columns
        }
    )
