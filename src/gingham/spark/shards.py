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
from gingham.plan.forest import Forest, Grid
from gingham.plan.layout import Layout, Numbers
from gingham.plan.slices import Horizon, Periodic, Slices
from gingham.spark.draft import Draft
from gingham.spark.event_time import micros
from gingham.spark.search import MOST_BRANCHES, Search, intervals, place, searches, values

_LONG = 1 << 62
_LISTED_PANES = 1 << 17


def shards(
    enriched: DataFrame,
    forest: Forest,
    slices: Mapping[int, Slices],
    time: str,
    *,
    watched: Mapping[str, str] | None = None,
    folds: Mapping[int, Ints] | None = None,
) -> DataFrame:
    """One row per slice, cell and group: `__code`, `__key_0`, ..., `__partial_0`, ...

    `watched` are more aggregates of every shard, by name. They also count the rows without a time,
    whose slice is NULL; otherwise such rows are left out, as Spark leaves them out of all windows.

    `folds` tell, for some grids by their numbers, the cell that each cell is taken for.
    """
    rows = enriched if watched else enriched.where(f"{quoted(time)} IS NOT NULL")
    coded = code(rows, forest, slices, time, folds or {})
    one = fits_in_one(forest, slices)
    return grouped(coded, len(forest.keys), forest.columns, watched or {}, one=one)


def grouped(
    coded: Draft, keys: int, columns: Sequence[str], watched: Mapping[str, str], *, one: bool
) -> DataFrame:
    """Group coded rows by their number and so many keys; `one` number, or slice and cell."""
    numbers = [names.CODE] if one else [names.SLICE, names.CELL]
    by = [*numbers, *(names.key(i) for i in range(keys))]
    partials = [f"{c} AS {names.partial(i)}" for i, c in enumerate(columns)]
    partials += [f"{sql} AS {name}" for name, sql in watched.items()]
    # Without partials every query only asks which groups there are.
    return coded.select(*by, *partials).made(group_by=", ".join(by))


def code(
    rows: DataFrame,
    forest: Forest,
    slices: Mapping[int, Slices],
    time: str,
    folds: Mapping[int, Ints],
) -> Draft:
    """Every row once per grid, with the number of its slice and its cell."""
    draft = _each_grid(placed(rows, forest, slices, time), forest, slices, folds)
    return coded_by(draft, forest.keys, forest, cell_of(forest, slices))


def placed(rows: DataFrame, forest: Forest, slices: Mapping[int, Slices], time: str) -> Draft:
    """Every row with its keys, its interval of every attribute and its slice in every tree."""
    named = [f"{key} AS {names.key(i)}" for i, key in enumerate(forest.keys)]
    instant = f"{micros(rows, time)} AS {names.TIME}"
    # Slices and cells of further trees and grids are in the same method of generated code.
    room = MOST_BRANCHES - 24 * (len(slices) - 1) - 8 * (len(forest.grids) - 1)
    draft = Draft(rows).plus(instant, *named, *values(forest.axes))
    draft = place(draft, searches(forest.axes), room)
    numbers: list[str] = []
    for tree, found in slices.items():
        draft, number = number_slices(draft, found, names.slice_in(tree))
        numbers.append(number)
    return draft.plus(*numbers, *intervals(forest.axes))


def coded_by(draft: Draft, keys: Sequence[str], layout: Layout, cell: str) -> Draft:
    """Keep the keys of a row's grid only: `cell` is the SQL of its number."""
    if len(layout.grids) == 1 or not keys:
        return draft
    named = {key: names.key(i) for i, key in enumerate(keys)}
    of_grids = [f"{_key_in_grids(layout, k, name, cell)} AS {name}" for k, name in named.items()]
    return draft.select(f"* EXCEPT ({', '.join(named.values())})", *of_grids)


def _each_grid(
    draft: Draft, forest: Forest, slices: Mapping[int, Slices], folds: Mapping[int, Ints]
) -> Draft:
    """Every row once per grid: `__code`, or `__slice` and `__cell`."""
    cells = [
        (names.slice_in(grid.tree), folded(grid, forest, folds.get(grid.number)))
        for grid in forest.grids
    ]
    if fits_in_one(forest, slices):
        codes = [f"{number} * {forest.cells}L + {cell}" for number, cell in cells]
        each = f"explode(array({', '.join(codes)}))" if len(codes) > 1 else codes[0]
        return draft.plus(f"{each} AS {names.CODE}")
    pairs = ", ".join(f"struct({number}, {cell})" for number, cell in cells)
    return draft.plus(f"inline(array({pairs})) AS ({names.SLICE}, {names.CELL})")


def fits_in_one(layout: Layout, slices: Mapping[int, Slices]) -> bool:
    """Do slice and cell fit into one long? Spark groups by a single number fastest."""
    return max(found.largest for found in slices.values()) * layout.cells < _LONG


def cell_of(layout: Layout, slices: Mapping[int, Slices]) -> str:
    """The cell of a shard, or the number of its record, as SQL."""
    return f"pmod({names.CODE}, {layout.cells}L)" if fits_in_one(layout, slices) else names.CELL


def located_in_spark(made: DataFrame, forest: Forest, slices: Mapping[int, Slices]) -> DataFrame:
    """Shards with their instant and cell in place of numbers, for those that stay with Spark."""
    one = fits_in_one(forest, slices)
    number = _floor_div(names.CODE, forest.cells) if one else names.SLICE
    draft = Draft(made).plus(
        f"{number} AS __number", f"CAST({cell_of(forest, slices)} AS BIGINT) AS __own"
    )
    rest = [c for c in made.columns if c not in (names.CODE, names.SLICE, names.CELL)]
    starts = " ".join(
        f"WHEN {in_grids('__own', [g for g in forest.grids if g.tree == tree])} "
        f"THEN {_start_of(found)}"
        for tree, found in slices.items()
    )
    instant = f"CAST(CASE {starts} END AS BIGINT) AS {names.INSTANT}"
    return draft.select(*rest, instant, f"__own AS {names.CELL}").made()


def _start_of(slices: Slices) -> str:
    """Where the slice with number `__number` begins, as SQL."""
    edges = constant(slices.edges, "array<bigint>")
    match slices:
        case Periodic(period, found):
            count = len(found)
            place = f"CAST(pmod(__number, {count}L) AS INT)"
            return f"{_floor_div('__number', count)} * {period}L + get({edges}, {place})"
        case Horizon(_, pane, origin):
            half = _floor_div("__number", 2)
            beyond = f"{origin}L + {half} * {pane}L"
            return f"IF(pmod(__number, 2L) = 1, {beyond}, get({edges}, CAST({half} AS INT)))"


def in_grids(cell: str, grids: Iterable[Numbers]) -> str:
    """Whether a cell is of one of some grids, as SQL."""
    spans = [f"{cell} BETWEEN {g.offset}L AND {g.offset + g.cells - 1}L" for g in grids]
    return f"({' OR '.join(spans) or 'FALSE'})"


def number_slices(draft: Draft, slices: Slices, name: str) -> tuple[Draft, str]:
    """The number of a row's slice under a name, as SQL over the rows given back."""
    time = names.TIME
    match slices:
        case Periodic(period, (edge,)):
            number = _floor_div(f"{time} - {edge}L", period)
        case Periodic(period, edges):
            # Before a period's first edge there is the last slice of the period before.
            before = 0 if edges[0] == 0 else 1
            borders = (*([0] * before), *edges, period)
            within = f"pmod({time}, {period}L)"
            draft, found = _place(draft, within, borders, slices.pane, name)
            number = f"{_floor_div(time, period)} * {len(edges)}L + {found} - {1 + before}"
        case Horizon(edges, pane, origin):
            draft, found = _place(draft, time, edges, pane, name)
            beyond = f"2L * {_floor_div(f'{time} - {origin}L', pane)} + 1"
            number = f"coalesce(2L * ({found} - 1), {beyond})"
    return draft, f"{number} AS {name}"


def _place(
    draft: Draft, value: str, edges: tuple[int, ...], pane: int, name: str
) -> tuple[Draft, str]:
    """How many edges are <= the value, as SQL; NULL before the first and after the last.

    Edges lie on borders of panes, so the pane's number leads to the place in one step, unless
    panes are so short that the list of them would be long.
    """
    first, last = edges[0], edges[-1]
    panes = (last - first) // pane
    if panes <= _LISTED_PANES:
        starts = np.arange(first, last, pane, dtype=np.int64)
        places = np.searchsorted(np.asarray(edges), starts, side="right")
        table = constant(places.tolist(), "array<int>")
        inside = f"{value} >= {first}L AND {value} < {last}L"
        number = f"CAST(({value} - {first}L) DIV {pane}L AS INT)"
        return draft, f"IF({inside}, get({table}, {number}), NULL)"
    as_double, found = f"{name}_double", f"{name}_found"
    draft = draft.plus(f"CAST({value} AS DOUBLE) AS {as_double}")
    draft = place(draft, [Search(as_double, found, INTEGER, edges)])
    return draft, f"IF({found} BETWEEN 1 AND {len(edges) - 1}, {found}, NULL)"


def _floor_div(value: str, divisor: int) -> str:
    """Division that rounds down, also before 1970."""
    return f"(({value} - pmod({value}, {divisor}L)) DIV {divisor}L)"


def cell_in(grid: Grid, forest: Forest) -> str:
    """The cell's number: mixed radix over the intervals of the grid's attributes."""
    number = "0L"
    for axis in grid.axes:
        number = f"({number}) * {axis.size}L + {names.interval(forest.axes.index(axis))}"
    return f"{number} + {grid.offset}L"


def folded(grid: Grid, forest: Forest, fold: Ints | None) -> str:
    """The number of the cell that a row's cell is taken for, as SQL."""
    cell = cell_in(grid, forest)
    if fold is None:
        return cell
    within = f"CAST({cell} - {grid.offset}L AS INT)"
    return f"{grid.offset}L + get({constant(fold.tolist(), 'array<int>')}, {within})"


def constant(value: Sequence[object], kind: str) -> str:
    """A list as SQL: JSON is how Spark reads a long list of constants fastest."""
    return f"from_json('{json.dumps(value)}', '{kind}')"


def _key_in_grids(layout: Layout, key: str, name: str, cell: str) -> str:
    """The key where the row stands for a grid with that key, NULL for other grids."""
    grids = [grid for grid in layout.grids if key in grid.keys]
    if len(grids) == len(layout.grids):
        return name
    return f"IF({in_grids(cell, grids)}, {name}, NULL)"
