"""Rows to shards: code every row with its slice and cells, then group once."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gingham.core import names
from gingham.logical.domain import INTEGER
from gingham.plan.slices import Horizon, Periodic, Slices
from gingham.plan.tree import Grid, Tree
from gingham.spark.alone import micros
from gingham.spark.search import Search, number_intervals, place

_LONG = 1 << 62


def shards(enriched: DataFrame, tree: Tree, slices: Slices, time: str) -> DataFrame:
    """One row per slice, cell and group: `__code`, `__key_0`, ..., `__partial_0`, ..."""
    coded = code(enriched, tree, slices, time)
    numbers = [names.CODE] if fits_in_one(tree, slices) else [names.SLICE, names.CELL]
    keys = [names.key(i) for i in range(len(tree.keys))]
    values = [F.expr(c).alias(names.partial(i)) for i, c in enumerate(tree.columns)]
    if not values:  # every query only asks which groups there are
        return coded.select(*numbers, *keys).distinct()
    return coded.groupBy(*numbers, *keys).agg(*values)


def code(enriched: DataFrame, tree: Tree, slices: Slices, time: str) -> DataFrame:
    """Every row once per grid, with the number of its slice and its cell."""
    rows = enriched.withColumn(names.TIME, F.expr(micros(enriched, time)))
    # Spark puts rows without a time into no window at all.
    rows = rows.where(F.col(names.TIME).isNotNull())
    rows = number_intervals(rows, tree.axes)
    rows = number_slices(rows, slices)
    cells = [F.expr(_cell_in(grid, tree)) for grid in tree.grids]
    each = F.explode(F.array(*cells)) if len(cells) > 1 else cells[0]
    keys = [F.expr(k).alias(names.key(i)) for i, k in enumerate(tree.keys)]
    rows = rows.select("*", *keys, each.alias(names.CELL))
    if len(tree.grids) > 1 and tree.keys:
        of_grids = {names.key(i): _key_in_grids(tree, key, i) for i, key in enumerate(tree.keys)}
        rows = rows.withColumns({name: F.expr(sql) for name, sql in of_grids.items()})
    if fits_in_one(tree, slices):
        return rows.withColumn(names.CODE, F.expr(f"{names.SLICE} * {tree.cells}L + {names.CELL}"))
    return rows


def fits_in_one(tree: Tree, slices: Slices) -> bool:
    """Do slice and cell fit into one long? Spark groups by a single number fastest."""
    return slices.largest * tree.cells < _LONG


def cell(tree: Tree, slices: Slices) -> str:
    """The cell of a shard, as SQL."""
    return f"pmod({names.CODE}, {tree.cells}L)" if fits_in_one(tree, slices) else names.CELL


def number_slices(df: DataFrame, slices: Slices) -> DataFrame:
    """Add `__slice`."""
    time = names.TIME
    match slices:
        case Periodic(period, (edge,)):
            number = f"({time} - {edge} - pmod({time} - {edge}, {period}L)) DIV {period}L"
            return df.withColumn(names.SLICE, F.expr(number))
        case Periodic(period, edges):
            df = df.withColumn("__phase", F.expr(f"CAST(pmod({time}, {period}L) AS DOUBLE)"))
            df = place(df, [Search("__phase", "__phase_place", INTEGER, edges)])
            periods = f"({time} - pmod({time}, {period}L)) DIV {period}L"
            number = f"({periods}) * {len(edges)}L + __phase_place - 1"
            return df.withColumn(names.SLICE, F.expr(number))
        case Horizon(edges, pane, origin):
            df = df.withColumn("__instant", F.expr(f"CAST({time} AS DOUBLE)"))
            df = place(df, [Search("__instant", "__instant_place", INTEGER, edges)])
            inside = f"__instant_place BETWEEN 1 AND {len(edges) - 1}"
            panes = f"({time} - {origin} - pmod({time} - {origin}, {pane}L)) DIV {pane}L"
            number = f"IF({inside}, 2L * (__instant_place - 1), 2L * ({panes}) + 1)"
            return df.withColumn(names.SLICE, F.expr(number))


def _cell_in(grid: Grid, tree: Tree) -> str:
    """The cell's number: mixed radix over the intervals of the grid's attributes."""
    number = "0L"
    for axis in grid.axes:
        number = f"({number}) * {axis.size}L + {names.interval(tree.axes.index(axis))}"
    return f"{number} + {grid.offset}L"


def _key_in_grids(tree: Tree, key: str, position: int) -> str:
    """The key where the row stands for a grid with that key, NULL for other grids."""
    grids = [grid for grid in tree.grids if key in grid.keys]
    if len(grids) == len(tree.grids):
        return names.key(position)
    spans = " OR ".join(
        f"{names.CELL} BETWEEN {grid.offset}L AND {grid.offset + grid.cells - 1}L" for grid in grids
    )
    return f"IF({spans}, {names.key(position)}, NULL)"

