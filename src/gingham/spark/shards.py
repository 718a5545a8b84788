"""Rows to shards: code every row with its slice and cells, then group once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

import numpy as np
from pyspark.sql import DataFrame

from gingham.core import names
from gingham.core.names import quoted
from gingham.logical.domain import INTEGER
from gingham.plan.slices import Horizon, Periodic, Slices
from gingham.plan.tree import Grid, Tree
from gingham.spark.alone import micros
from gingham.spark.draft import Draft
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
    numbers = [names.CODE] if fits_in_one(tree, slices) else [names.SLICE, names.CELL]
    keys = [names.key(i) for i in range(len(tree.keys))]
    partials = [f"{c} AS {names.partial(i)}" for i, c in enumerate(tree.columns)]
    partials += [f"{sql} AS {name}" for name, sql in (watched or {}).items()]
    # Without partials every query only asks which groups there are.
    coded = code(rows, tree, slices, time).select(*numbers, *keys, *partials)
    return coded.made(group_by=", ".join((*numbers, *keys)))


def code(rows: DataFrame, tree: Tree, slices: Slices, time: str) -> Draft:
    """Every row once per grid, with the number of its slice and its cell."""
    keys = {k: names.key(i) for i, k in enumerate(tree.keys)}
    named = [f"{key} AS {name}" for key, name in keys.items()]
    instant = f"{micros(rows, time)} AS {names.TIME}"
    draft = place(Draft(rows).plus(instant, *named, *values(tree.axes)), searches(tree.axes))
    draft = number_slices(draft, slices).plus(*intervals(tree.axes))
    one = fits_in_one(tree, slices)
    start = f"{names.SLICE} * {tree.cells}L + " if one else ""
    cells = [f"{start}{_cell_in(grid, tree)}" for grid in tree.grids]
    each = f"explode(array({', '.join(cells)}))" if len(cells) > 1 else cells[0]
    draft = draft.plus(f"{each} AS {names.CODE if one else names.CELL}")
    if len(tree.grids) == 1 or not keys:
        return draft
    cell = cell_of(tree, slices)
    of_grids = [f"{_key_in_grids(tree, k, name, cell)} AS {name}" for k, name in keys.items()]
    return draft.select(f"* EXCEPT ({', '.join(keys.values())})", *of_grids)


def fits_in_one(tree: Tree, slices: Slices) -> bool:
    """Do slice and cell fit into one long? Spark groups by a single number fastest."""
    return slices.largest * tree.cells < _LONG


def cell_of(tree: Tree, slices: Slices) -> str:
    """The cell of a shard, as SQL."""
    return f"pmod({names.CODE}, {tree.cells}L)" if fits_in_one(tree, slices) else names.CELL


def located_in_spark(made: DataFrame, tree: Tree, slices: Slices) -> DataFrame:
    """Shards with their instant and cell in place of numbers, for those that stay with Spark."""
    one = fits_in_one(tree, slices)
    number = _floor_div(names.CODE, tree.cells) if one else names.SLICE
    draft = Draft(made).plus(
        f"{number} AS __number", f"CAST({cell_of(tree, slices)} AS BIGINT) AS __own"
    )
    rest = [c for c in made.columns if c not in (names.CODE, names.SLICE, names.CELL)]
    instant = f"CAST({_start_of(slices)} AS BIGINT) AS {names.INSTANT}"
    return draft.select(*rest, instant, f"__own AS {names.CELL}").made()


def _start_of(slices: Slices) -> str:
    """Where the slice with number `__number` begins, as SQL."""
    edges = f"from_json('{json.dumps(list(slices.edges))}', 'array<bigint>')"
    match slices:
        case Periodic(period, found):
            count = len(found)
            place = f"CAST(pmod(__number, {count}L) AS INT)"
            return f"{_floor_div('__number', count)} * {period}L + get({edges}, {place})"
        case Horizon(_, pane, origin):
            half = _floor_div("__number", 2)
            beyond = f"{origin}L + {half} * {pane}L"
            return f"IF(pmod(__number, 2L) = 1, {beyond}, get({edges}, CAST({half} AS INT)))"


def in_grids(cell: str, grids: Iterable[Grid]) -> str:
    """Whether a cell is of one of some grids, as SQL."""
    spans = [f"{cell} BETWEEN {g.offset}L AND {g.offset + g.cells - 1}L" for g in grids]
    return f"({' OR '.join(spans) or 'FALSE'})"


def number_slices(draft: Draft, slices: Slices) -> Draft:
    """Add `__slice`."""
    time = names.TIME
    match slices:
        case Periodic(period, (edge,)):
            number = _floor_div(f"{time} - {edge}L", period)
        case Periodic(period, edges):
            # Before a period's first edge there is the last slice of the period before.
            before = 0 if edges[0] == 0 else 1
            borders = (*([0] * before), *edges, period)
            draft, found = _place(draft, f"pmod({time}, {period}L)", borders, slices.pane)
            number = f"{_floor_div(time, period)} * {len(edges)}L + {found} - {1 + before}"
        case Horizon(edges, pane, origin):
            draft, found = _place(draft, time, edges, pane)
            beyond = f"2L * {_floor_div(f'{time} - {origin}L', pane)} + 1"
            number = f"coalesce(2L * ({found} - 1), {beyond})"
    return draft.plus(f"{number} AS {names.SLICE}")


def _place(draft: Draft, value: str, edges: tuple[int, ...], pane: int) -> tuple[Draft, str]:
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
        number = f"CAST(({value} - {first}L) DIV {pane}L AS INT)"
        return draft, f"IF({inside}, get({table}, {number}), NULL)"
    draft = draft.plus(f"CAST({value} AS DOUBLE) AS __double")
    draft = place(draft, [Search("__double", "__found", INTEGER, edges)])
    return draft, f"IF(__found BETWEEN 1 AND {len(edges) - 1}, __found, NULL)"


def _floor_div(value: str, divisor: int) -> str:
    """Division that rounds down, also before 1970."""
    return f"(({value} - pmod({value}, {divisor}L)) DIV {divisor}L)"


def _cell_in(grid: Grid, tree: Tree) -> str:
    """The cell's number: mixed radix over the intervals of the grid's attributes."""
    number = "0L"
    for axis in grid.axes:
        number = f"({number}) * {axis.size}L + {names.interval(tree.axes.index(axis))}"
    return f"{number} + {grid.offset}L"


def _key_in_grids(tree: Tree, key: str, name: str, cell: str) -> str:
    """The key where the row stands for a grid with that key, NULL for other grids."""
    grids = [grid for grid in tree.grids if key in grid.keys]
    if len(grids) == len(tree.grids):
        return name
    return f"IF({in_grids(cell, grids)}, {name}, NULL)"
