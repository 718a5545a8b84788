"""A plan as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np

from gingham.core.arrays import Ints
from gingham.core.time import format_duration
from gingham.logical.predicate import Axis
from gingham.plan.forest import Forest, Grid, Plan
from gingham.plan.slices import periodic

_LISTED = 6


Folds = Mapping[int, Ints]


def explain(plan: Plan, folds: Folds | None = None) -> str:
    """What is shared, by whom, and why something is not.

    `folds` tell, for some grids by their numbers, the cell that each cell is taken for.
    """
    return "\n".join(_lines(plan, folds or {}))


def _lines(plan: Plan, folds: Folds) -> Iterator[str]:
    forest = plan.forest
    trees = f"{len(forest.trees)} trees, " if len(forest.trees) > 1 else ""
    yield f"{plan.stream}: {len(forest.queries)} queries, {trees}one pass over the rows"
    for join, inner in plan.joins:
        kind = "rows without a match are dropped" if inner else "rows without a match are kept"
        yield f"  lookup {join.role} by {', '.join(join.on)}: once for all queries, {kind}"
    yield from _slices(forest)
    yield _predicted(plan)
    yield f"  attributes: {len(forest.axes)}"
    yield from (f"    {_axis(axis)}" for axis in forest.axes)
    yield f"  grids: {len(forest.grids)}, {forest.cells:,} cells; every row is grouped once in each"
    for position, grid in enumerate(forest.grids):
        yield f"    {_grid(grid, forest, position, folds)}"
    yield f"  partials: {len(forest.columns)}"
    uses = _uses(forest)
    yield from (f"    {column}   for {uses[column]} queries" for column in forest.columns)
    for notice in plan.notices:
        yield f"  notice: {notice}"


def _slices(forest: Forest) -> Iterator[str]:
    for tree, classes in forest.trees.items():
        windows = [q.window for q in forest.queries if forest.grid_of(q).tree == tree]
        found = periodic(classes)
        how = str(found) if found else "listed around the data, panes beyond: the pattern is long"
        of = f" of tree {tree}" if len(forest.trees) > 1 else ""
        edges = f"{len(classes)} classes of edges"
        yield f"  slices{of}: {len(set(windows))} different windows, {edges}, {how}"
        if len(forest.trees) > 1:
            slides = sorted({w.slide for w in windows})
            span = " to ".join(format_duration(s) for s in dict.fromkeys((slides[0], slides[-1])))
            yield f"    {len(windows)} queries, every {span}"


def _predicted(plan: Plan) -> str:
    load = plan.load
    known = "counted" if load.counted else "assumed"
    rows = f"{load.rows:,.0f} rows over {load.seconds:,.0f} s of event time, {known}"
    return f"  cost: {plan.seconds:.2g} s predicted for {rows}"


def _axis(axis: Axis) -> str:
    cuts = ", ".join(str(c) for c in axis.cuts[:_LISTED])
    more = ", ..." if len(axis.cuts) > _LISTED else ""
    return f"{axis.attribute.sql}: {len(axis.cuts) + 1} intervals at {cuts}{more}"


def _grid(grid: Grid, forest: Forest, position: int, folds: Folds) -> str:
    names = [
        q.name
        for q, place in zip(forest.queries, forest.placement, strict=True)
        if place == position
    ]
    by = f" by {', '.join(grid.keys)}" if grid.keys else ""
    by += f" in tree {grid.tree}" if len(forest.trees) > 1 else ""
    listed = ", ".join(names[:_LISTED]) + (", ..." if len(names) > _LISTED else "")
    cells = f"{grid.cells:,} cells"
    if grid.number in folds:
        cells += f" in {len(np.unique(folds[grid.number])):,} fragments"
    return f"{grid.over}{by}: {cells} for {len(names)} queries ({listed})"


def _uses(forest: Forest) -> Counter[str]:
    return Counter(
        column
        for query in forest.queries
        for column in {
            c for r in (*query.readings, *query.guards) for p in r.partials for c in p.columns
        }
    )
