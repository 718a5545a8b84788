"""A plan as text, for `explain`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from gingham.logical.predicate import Axis
from gingham.plan.fold import FoldedCells
from gingham.plan.forest import Forest, Plan
from gingham.plan.grid import Grid
from gingham.plan.slices import periodic

_LISTED = 6  # cuts of an axis and queries of a grid


def explain(plan: Plan, folded_cells: FoldedCells | None = None) -> str:
    """Describe what the queries of a plan share, and why something is not shared.

    `folded_cells` are the cells that are counted as one; their fragments are counted in the text.
    """
    return "\n".join(_plan_lines(plan, folded_cells or {}))


def _plan_lines(plan: Plan, folded_cells: FoldedCells) -> Iterator[str]:
    """The lines of `explain`: joins, slices, cost, attributes, grids, partials and notices."""
    whole, forest = plan.forest, plan.forest.by_cells
    trees = f"{len(forest.trees)} trees, " if len(forest.trees) > 1 else ""
    both = bool(forest.grids) and forest is not whole
    passes = "two passes" if both else "one pass"
    if len(whole.by_clock) > 1:
        passes = f"for each of {', '.join(map(str, whole.by_clock))}: {passes}"
    yield f"{plan.stream}: {len(whole.queries)} queries, {trees}{passes} over the rows"
    for join, drops_unmatched in plan.joins:
        treated = "dropped" if drops_unmatched else "kept"
        kind = f"rows without a match are {treated}"
        yield f"  lookup {join.role} by {', '.join(join.on)}: once for all queries, {kind}"
    yield from _slice_lines(forest)
    yield _cost_line(plan)
    if forest.grids:
        yield from _cell_lines(forest, folded_cells)
    if whole.by_columns.grids:
        yield from _column_lines(whole.by_columns)
    yield f"  partials: {len(whole.columns)}"
    uses = _queries_of_columns(whole)
    yield from (f"    {column}   for {uses[column]} queries" for column in whole.columns)
    for notice in plan.notices:
        yield f"  notice: {notice}"


def _cell_lines(forest: Forest, folded_cells: FoldedCells) -> Iterator[str]:
    """The lines of `explain` about grids that are filled by cells."""
    yield f"  attributes: {len(forest.axes)}"
    yield from (f"    {_axis_text(axis)}" for axis in forest.axes)
    yield f"  grids: {len(forest.grids)}, {forest.cells:,} cells; every row is grouped once in each"
    for grid in forest.grids:
        yield f"    {_grid_text(grid, forest, folded_cells)}"


def _column_lines(forest: Forest) -> Iterator[str]:
    """The lines of `explain` about grids that are filled by columns."""
    attributes = {a.sql for query in forest.queries for a in query.attributes}
    key_sets = {grid.keys for grid in forest.grids}
    yield (
        f"  by columns: {len(forest.queries)} queries in {len(forest.grids)} grids of "
        f"{len(forest.trees)} patterns of slices, by {len(key_sets)} key sets; every row is "
        f"compared once for {len(attributes)} attributes"
    )
    for grid in forest.grids[:_LISTED]:
        yield f"    {_grid_text(grid, forest, {})}"
    if len(forest.grids) > _LISTED:
        yield f"    and {len(forest.grids) - _LISTED} more"


def _slice_lines(forest: Forest) -> Iterator[str]:
    """The lines of `explain` about slices: for each tree its windows and edges."""
    for tree, classes in forest.trees.items():
        windows = [q.window for q in forest.queries if forest.grid_of(q).tree == tree]
        slices = periodic(classes)
        how = str(slices) if slices else "listed around the data, panes beyond: the pattern is long"
        of = f" of tree {tree}" if len(forest.trees) > 1 else ""
        edges = f"{len(classes)} classes of edges"
        clock = windows[0].clock
        of += f" by {clock}" if clock.by_rows else ""
        yield f"  slices{of}: {len(set(windows))} different windows, {edges}, {how}"
        if len(forest.trees) > 1:
            slides = sorted({w.slide for w in windows})
            span = " to ".join(clock.length(s) for s in dict.fromkeys((slides[0], slides[-1])))
            yield f"    {len(windows)} queries, every {span}"


def _cost_line(plan: Plan) -> str:
    """The line of `explain` about the predicted cost and the rows that it is for."""
    statistics = plan.statistics
    how = "counted" if statistics.counted else "assumed"
    rows = f"{statistics.rows:,.0f} rows over {statistics.seconds:,.0f} s of event time, {how}"
    return f"  cost: {plan.seconds:.2g} s predicted for {rows}"


def _axis_text(axis: Axis) -> str:
    """The text of `explain` about an attribute: its intervals and the first of its cuts."""
    cuts = ", ".join(str(c) for c in axis.cuts[:_LISTED])
    more = ", ..." if len(axis.cuts) > _LISTED else ""
    return f"{axis.attribute.sql}: {len(axis.cuts) + 1} intervals at {cuts}{more}"


def _grid_text(grid: Grid, forest: Forest, folded_cells: FoldedCells) -> str:
    """The text of `explain` about a grid: its attributes, keys, cells and queries."""
    names = [query.name for query in forest.queries if forest.grid_of(query) is grid]
    by = f" by {', '.join(grid.keys)}" if grid.keys else ""
    by += f" in tree {grid.tree}" if len(forest.trees) > 1 else ""
    listed = ", ".join(names[:_LISTED]) + (", ..." if len(names) > _LISTED else "")
    cells = "its rows" if grid.by_columns else f"{grid.cells:,} cells"
    if grid.number in folded_cells:
        cells += f" in {len(np.unique(folded_cells[grid.number])):,} fragments"
    return f"{grid.over}{by}: {cells} for {len(names)} queries ({listed})"


def _queries_of_columns(forest: Forest) -> Counter[str]:
    """How many queries use each aggregate expression of the partials, for `explain`."""
    return Counter(
        column
        for query in forest.queries
        for column in {c for r in query.aggregates for p in r.partials for c in p.columns}
    )
