"""Rows to shards: code every row with its slice and cells, then group once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from pyspark.sql import DataFrame

from gingham.core import names
from gingham.core.arrays import Ints
from gingham.core.names import quoted
from gingham.logical.domain import INTEGER
from gingham.plan.fold import NOWHERE
from gingham.plan.forest import Forest
from gingham.plan.grid import Grid
from gingham.plan.layout import GridLayout, Layout
from gingham.plan.slices import Horizon, Periodic, Slices
from gingham.spark.event_time import bounded_micros_sql, micros_sql
from gingham.spark.interval_search import (
    MOST_BRANCHES,
    IntervalSearch,
    interval_columns,
    with_cut_positions,
    with_positions,
)
from gingham.spark.select_chain import SelectChain

_MOST_CODES = 1 << 62  # fits into a signed long
_MOST_LISTED_PANES = 1 << 17
_SLICE_NUMBER, _CELL_NUMBER = "__slice_number", "__cell_number"


def rows_to_shards(
    enriched: DataFrame,
    forest: Forest,
    slices: Mapping[int, Slices],
    time: str,
    *,
    more_aggregates: Mapping[str, str] | None = None,
    folded_cells: Mapping[int, Ints] | None = None,
    last: int | None = None,
) -> DataFrame:
    """One row per slice, cell and group: `__code`, `__key_0`, ..., `__partial_0`, ...

    `more_aggregates` are computed for every shard too, by name. They also count the rows without a
    time, whose slice is NULL; otherwise such rows are left out, as Spark leaves them out of all
    windows.

    `folded_cells` list, for some grids by their numbers, the cell that stands for each cell; rows
    that are counted nowhere make no shard. Rows after the instant `last` are taken for rows
    without a time.
    """
    rows = enriched if more_aggregates else enriched.where(f"{quoted(time)} IS NOT NULL")
    chain = with_slices_and_intervals(rows, forest, slices, time, last)
    chain = _once_per_grid(chain, forest, slices, folded_cells or {})
    coded = with_keys_of_grid(chain, forest.keys, forest, shard_cell_sql(forest, slices))
    return group_coded_rows(
        coded,
        keys=len(forest.keys),
        aggregates={names.partial(i): sql for i, sql in enumerate(forest.columns)}
        | dict(more_aggregates or {}),
        one_code=fits_in_one_code(forest, slices),
    )


def group_coded_rows(
    coded: SelectChain,
    *,
    keys: int,
    aggregates: Mapping[str, str],
    one_code: bool,
) -> DataFrame:
    """Aggregate coded rows by code, or by slice and cell unless `one_code`, and by keys.

    `keys` is the number of key columns; `aggregates` are the SQL of columns, by their names.
    """
    code = [names.CODE] if one_code else [names.SLICE, names.CELL]
    group_by = [*code, *(names.key(i) for i in range(keys))]
    aggregated = [f"{sql} AS {name}" for name, sql in aggregates.items()]
    # Without partials the groups themselves are all that queries need.
    return coded.select(*group_by, *aggregated).to_dataframe(group_by=", ".join(group_by))


def with_slices_and_intervals(
    rows: DataFrame,
    forest: Forest,
    slices: Mapping[int, Slices],
    time: str,
    last: int | None = None,
) -> SelectChain:
    """Add keys, the interval of every attribute and the slice in every tree to rows.

    Rows after the instant `last` have no slice, as those without a time.
    """
    keys = [f"{key} AS {names.key(i)}" for i, key in enumerate(forest.keys)]
    micros = micros_sql(rows, time) if last is None else bounded_micros_sql(rows, time, last)
    instant = f"{micros} AS {names.TIME}"
    # Slices and cells of further trees and grids are in the same method of generated code.
    room = MOST_BRANCHES - 24 * (len(slices) - 1) - 8 * (len(forest.grids) - 1)
    chain = with_cut_positions(SelectChain(rows), forest.axes, instant, *keys, most_branches=room)
    slice_columns: list[str] = []
    for tree, slices_of_tree in slices.items():
        chain, slice_column = slice_number(chain, slices_of_tree, names.slice_in(tree))
        slice_columns.append(slice_column)
    return chain.with_columns(*slice_columns, *interval_columns(forest.axes))


def with_keys_of_grid(
    chain: SelectChain, keys: Sequence[str], layout: Layout, cell: str
) -> SelectChain:
    """Set keys to NULL that the grid of a row does not group by; `cell` is SQL of its cell."""
    if len(layout.grids) == 1 or not keys:
        return chain
    columns = {key: names.key(i) for i, key in enumerate(keys)}
    replaced = [f"{_key_sql(layout, k, name, cell)} AS {name}" for k, name in columns.items()]
    return chain.select(f"* EXCEPT ({', '.join(columns.values())})", *replaced)


def _key_sql(layout: Layout, key: str, column: str, cell: str) -> str:
    """Spark SQL of a key column in the grids that group by that key, and NULL in the others."""
    grids = [grid for grid in layout.grids if key in grid.keys]
    if len(grids) == len(layout.grids):
        return column
    return f"IF({in_grids_sql(cell, grids)}, {column}, NULL)"


def _once_per_grid(
    chain: SelectChain,
    forest: Forest,
    slices: Mapping[int, Slices],
    folded_cells: Mapping[int, Ints],
) -> SelectChain:
    """Repeat every row once per grid, with its `__code` there, or its `__slice` and `__cell`.

    Left out are grids in which it is counted nowhere.
    """
    slices_and_cells = [
        (names.slice_in(grid.tree), folded_cell_sql(grid, forest, folded_cells.get(grid.number)))
        for grid in forest.grids
    ]
    if fits_in_one_code(forest, slices):
        codes = [f"{number} * {forest.cells}L + {cell}" for number, cell in slices_and_cells]
        code = f"explode(array({', '.join(codes)}))" if len(codes) > 1 else codes[0]
        repeated, cell = chain.with_columns(f"{code} AS {names.CODE}"), names.CODE
    else:
        pairs = ", ".join(f"struct({number}, {cell})" for number, cell in slices_and_cells)
        repeated = chain.with_columns(f"inline(array({pairs})) AS ({names.SLICE}, {names.CELL})")
        cell = names.CELL
    unwanted = any((fold == NOWHERE).any() for fold in folded_cells.values())
    return repeated.where(f"{cell} IS NOT NULL") if unwanted else repeated


def fits_in_one_code(layout: Layout, slices: Mapping[int, Slices]) -> bool:
    """True if slice and cell fit into one long: Spark groups by a single number fastest."""
    return max(found.largest for found in slices.values()) * layout.cells < _MOST_CODES


def shard_cell_sql(layout: Layout, slices: Mapping[int, Slices]) -> str:
    """Spark SQL of a shard's cell, or of the number of its record."""
    return (
        f"pmod({names.CODE}, {layout.cells}L)" if fits_in_one_code(layout, slices) else names.CELL
    )


def with_instants(shards: DataFrame, layout: Layout, slices: Mapping[int, Slices]) -> DataFrame:
    """Replace the code of shards by `__instant`, the start of their slice, and `__cell`.

    This is done by Spark, for shards that stay on the executors.
    """
    one_code = fits_in_one_code(layout, slices)
    number = _floor_div(names.CODE, layout.cells) if one_code else names.SLICE
    cell = f"CAST({shard_cell_sql(layout, slices)} AS BIGINT)"
    chain = SelectChain(shards).with_columns(
        f"{number} AS {_SLICE_NUMBER}", f"{cell} AS {_CELL_NUMBER}"
    )
    others = [c for c in shards.columns if c not in (names.CODE, names.SLICE, names.CELL)]
    starts = " ".join(
        f"WHEN {in_grids_sql(_CELL_NUMBER, [g for g in layout.grids if g.tree == tree])} "
        f"THEN {_slice_start_sql(slices_of_tree)}"
        for tree, slices_of_tree in slices.items()
    )
    instant = f"CAST(CASE {starts} END AS BIGINT) AS {names.INSTANT}"
    return chain.select(*others, instant, f"{_CELL_NUMBER} AS {names.CELL}").to_dataframe()


def _slice_start_sql(slices: Slices) -> str:
    """Spark SQL of the start of the slice whose number is in `__slice_number`."""
    number, edges = _SLICE_NUMBER, array_sql(slices.edges, "array<bigint>")
    match slices:
        case Periodic(period, within_period):
            count = len(within_period)
            edge = f"get({edges}, CAST(pmod({number}, {count}L) AS INT))"
            return f"{_floor_div(number, count)} * {period}L + {edge}"
        case Horizon(_, pane, origin):
            half = _floor_div(number, 2)
            beyond = f"{origin}L + {half} * {pane}L"
            return f"IF(pmod({number}, 2L) = 1, {beyond}, get({edges}, CAST({half} AS INT)))"


def in_grids_sql(cell: str, grids: Iterable[GridLayout]) -> str:
    """Spark SQL of whether a cell belongs to one of these grids."""
    ranges = [f"{cell} BETWEEN {g.offset}L AND {g.offset + g.cells - 1}L" for g in grids]
    return f"({' OR '.join(ranges) or 'FALSE'})"


def slice_number(chain: SelectChain, slices: Slices, name: str) -> tuple[SelectChain, str]:
    """The select item `sql AS name` of a row's slice number, and the chain to select it from."""
    time = names.TIME
    match slices:
        case Periodic(period, (edge,)):
            number = _floor_div(f"{time} - {edge}L", period)
        case Periodic(period, edges):
            # Before a period's first edge there is the last slice of the period before.
            before = 0 if edges[0] == 0 else 1
            borders = (*([0] * before), *edges, period)
            within = f"pmod({time}, {period}L)"
            chain, position = _edge_position(chain, within, borders, slices.pane, name)
            number = f"{_floor_div(time, period)} * {len(edges)}L + {position} - {1 + before}"
        case Horizon(edges, pane, origin):
            chain, position = _edge_position(chain, time, edges, pane, name)
            beyond = f"2L * {_floor_div(f'{time} - {origin}L', pane)} + 1"
            number = f"coalesce(2L * ({position} - 1), {beyond})"
    return chain, f"{number} AS {name}"


def _edge_position(
    chain: SelectChain, value: str, edges: tuple[int, ...], pane: int, name: str
) -> tuple[SelectChain, str]:
    """Spark SQL of the number of edges <= a value, NULL outside them; and the chain it reads.

    Edges lie on borders of panes, so a list by the pane's number gives the position in one step,
    unless panes are so short that the list would be long.
    """
    first, last = edges[0], edges[-1]
    panes = (last - first) // pane
    if panes <= _MOST_LISTED_PANES:
        starts = np.arange(first, last, pane, dtype=np.int64)
        positions = np.searchsorted(np.asarray(edges), starts, side="right")
        listed = array_sql(positions.tolist(), "array<int>")
        inside = f"{value} >= {first}L AND {value} < {last}L"
        pane_number = f"CAST(({value} - {first}L) DIV {pane}L AS INT)"
        return chain, f"IF({inside}, get({listed}, {pane_number}), NULL)"
    as_double, position = f"{name}_double", f"{name}_position"
    chain = chain.with_columns(f"CAST({value} AS DOUBLE) AS {as_double}")
    chain = with_positions(chain, [IntervalSearch(as_double, position, INTEGER, edges)])
    return chain, f"IF({position} BETWEEN 1 AND {len(edges) - 1}, {position}, NULL)"


def _floor_div(value: str, divisor: int) -> str:
    """Spark SQL of a division that rounds down, also for instants before 1970."""
    return f"(({value} - pmod({value}, {divisor}L)) DIV {divisor}L)"


def row_cell_sql(grid: Grid, forest: Forest) -> str:
    """Spark SQL of a row's cell in a grid: mixed radix over the intervals of its attributes."""
    number = "0L"
    for axis in grid.axes:
        number = f"({number}) * {axis.size}L + {names.interval(forest.axes.index(axis))}"
    return f"{number} + {grid.offset}L"


def folded_cell_sql(grid: Grid, forest: Forest, fold: Ints | None) -> str:
    """Spark SQL of the cell that stands for a row's cell in a grid, by the list `fold`.

    NULL stands for nowhere.
    """
    cell = row_cell_sql(grid, forest)
    if fold is None:
        return cell
    within = f"CAST({cell} - {grid.offset}L AS INT)"
    listed = [None if to == NOWHERE else to for to in fold.tolist()]
    return f"{grid.offset}L + get({array_sql(listed, 'array<int>')}, {within})"


def array_sql(values: Sequence[object], kind: str) -> str:
    """A list as a Spark SQL constant: JSON is how Spark reads long lists of constants fastest."""
    return f"from_json('{json.dumps(values)}', '{kind}')"
