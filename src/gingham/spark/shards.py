"""Rows to shards: code every row with its slice and cells, then group once."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gingham.core import names
from gingham.core.names import quoted
from gingham.logical.domain import INTEGER
from gingham.plan.slices import Horizon, Periodic, Slices
from gingham.plan.tree import Grid, Tree
from gingham.spark.alone import micros
from gingham.spark.search import Search, intervals, place, searches, values

_LONG = 1 << 62
_LISTED_PANES = 1 << 17


def shards(
    enriched: DataFrame,
    tree: Tree,
    slices: Slices,
    time: str,
    *,
    watched: Mapping[str, str] | None = None,
) -> DataFrame:
    """One row per slice, cell and group: `__code`, `__key_0`, ..., `__partial_0`, ...

    `watched` are more aggregates of every shard, by name. They also count the rows without a time,
    whose slice is NULL; otherwise such rows are left out, as Spark leaves them out of all windows.
    """
    rows = enriched if watched else enriched.where(f"{quoted(time)} IS NOT NULL")
    coded = code(rows, tree, slices, time)
    numbers = [names.CODE] if fits_in_one(tree, slices) else [names.SLICE, names.CELL]
    keys = [names.key(i) for i in range(len(tree.keys))]
    partials = [F.expr(c).alias(names.partial(i)) for i, c in enumerate(tree.columns)]
    partials += [F.expr(sql).alias(name) for name, sql in (watched or {}).items()]
    if not partials:  # every query only asks which groups there are
        return coded.select(*numbers, *keys).distinct()
    return coded.groupBy(*numbers, *keys).agg(*partials)


def code(rows: DataFrame, tree: Tree, slices: Slices, time: str) -> DataFrame:
    """Every row once per grid, with the number of its slice and its cell."""
    keys = [f"{k} AS {names.key(i)}" for i, k in enumerate(tree.keys)]
    rows = rows.selectExpr("*", f"{micros(rows, time)} AS {names.TIME}", *keys, *values(tree.axes))
    rows = number_slices(place(rows, searches(tree.axes)), slices)
    rows = rows.selectExpr("*", *intervals(tree.axes))
    one = fits_in_one(tree, slices)
    start = f"{names.SLICE} * {tree.cells}L + " if one else ""
    cells = [f"{start}{_cell_in(grid, tree)}" for grid in tree.grids]
    each = f"explode(array({', '.join(cells)}))" if len(cells) > 1 else cells[0]
    rows = rows.selectExpr("*", f"{each} AS {names.CODE if one else names.CELL}")
    if len(tree.grids) == 1 or not tree.keys:
        return rows
    cell = cell_of(tree, slices)
    of_grids = [
        f"{_key_in_grids(tree, k, i, cell)} AS {names.key(i)}" for i, k in enumerate(tree.keys)
    ]
    others = [quoted(c) for c in rows.columns if c not in {names.key(i) for i in range(len(keys))}]
    return rows.selectExpr(*others, *of_grids)


def fits_in_one(tree: Tree, slices: Slices) -> bool:
    """Do slice and cell fit into one long? Spark groups by a single number fastest."""
    return slices.largest * tree.cells < _LONG


def cell_of(tree: Tree, slices: Slices) -> str:
    """The cell of a shard, as SQL."""
    return f"pmod({names.CODE}, {tree.cells}L)" if fits_in_one(tree, slices) else names.CELL


def number_slices(df: DataFrame, slices: Slices) -> DataFrame:
    """Add `__slice`."""
    time = names.TIME
    match slices:
        case Periodic(period, (edge,)):
            return df.withColumn(names.SLICE, F.expr(_floor_div(f"{time} - {edge}L", period)))
        case Periodic(period, edges):
            # Before a period's first edge there is the last slice of the period before.
            before = 0 if edges[0] == 0 else 1
            borders = (*([0] * before), *edges, period)
            df, found = _place(df, f"pmod({time}, {period}L)", borders, slices.pane)
            number = f"{_floor_div(time, period)} * {len(edges)}L + {found} - {1 + before}"
            return df.withColumn(names.SLICE, F.expr(number))
        case Horizon(edges, pane, origin):
            df, found = _place(df, time, edges, pane)
            beyond = f"2L * {_floor_div(f'{time} - {origin}L', pane)} + 1"
            return df.withColumn(names.SLICE, F.expr(f"coalesce(2L * ({found} - 1), {beyond})"))


def _place(df: DataFrame, value: str, edges: tuple[int, ...], pane: int) -> tuple[DataFrame, str]:
    """How many edges are <= the value, as SQL; NULL before the first and after the last.

    Edges lie on borders of panes, so the pane's number leads to the place in one step, unless
    panes are so short that the list of them would be long.
    """
    first, last = edges[0], edges[-1]
    panes = (last - first) // pane
    if panes <= _LISTED_PANES:
        starts = np.arange(first, last, pane, dtype=np.int64)
        places = np.searchsorted(np.asarray(edges), starts, side="right")
        # JSON is how Spark reads a long list of constants fastest.
        table = f"from_json('{json.dumps(places.tolist())}', 'array<int>')"
        inside = f"{value} >= {first}L AND {value} < {last}L"
        return (
            df,
            f"IF({inside}, get({table}, CAST(({value} - {first}L) DIV {pane}L AS INT)), NULL)",
        )
    df = df.withColumn("__instant", F.expr(f"CAST({value} AS DOUBLE)"))
    df = place(df, [Search("__instant", "__found", INTEGER, edges)])
    return df, f"IF(__found BETWEEN 1 AND {len(edges) - 1}, __found, NULL)"


def _floor_div(value: str, divisor: int) -> str:
    """Division that rounds down, also before 1970."""
    return f"(({value} - pmod({value}, {divisor}L)) DIV {divisor}L)"


def _cell_in(grid: Grid, tree: Tree) -> str:
    """The cell's number: mixed radix over the intervals of the grid's attributes."""
    number = "0L"
    for axis in grid.axes:
        number = f"({number}) * {axis.size}L + {names.interval(tree.axes.index(axis))}"
    return f"{number} + {grid.offset}L"


def _key_in_grids(tree: Tree, key: str, position: int, cell: str) -> str:
    """The key where the row stands for a grid with that key, NULL for other grids."""
    grids = [grid for grid in tree.grids if key in grid.keys]
    if len(grids) == len(tree.grids):
        return names.key(position)
    spans = " OR ".join(
        f"{cell} BETWEEN {grid.offset}L AND {grid.offset + grid.cells - 1}L" for grid in grids
    )
    return f"IF({spans}, {names.key(position)}, NULL)"
