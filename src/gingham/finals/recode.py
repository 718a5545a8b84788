"""Recoding: shards of one plan become shards of the next plan.

When queries come and go, attributes get other cuts. An old cell becomes the cell of the new plan
that holds its lowest corner. Where the new plan cuts finer, that is only part of the old cell. It
does no harm: queries that were running then do not tell the parts apart, and the windows of a query
that was added later begin after the last row that was seen before.

Records keep their meaning, which their generation tells: they only get other numbers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator

import numpy as np
import pyarrow as pa

from gingham.core import names
from gingham.core.arrays import Ints
from gingham.finals.shards import no_shards
from gingham.logical.domain import sort_key
from gingham.logical.predicate import Axis
from gingham.plan.codebook import Codebook
from gingham.plan.grid import Grid


def recode(table: pa.Table, old: Codebook, new: Codebook) -> pa.Table:
    """Give stored shards the cells and columns of a new plan; drop those of grids that are gone.

    The new codebook has to carry the records of the old one (`Codebook.carrying`).
    """
    if old == new:
        return table
    if not table.num_rows:
        return no_shards()
    cells = table[names.CELL].to_numpy()
    moved = np.full(len(cells), -1, dtype=np.int64)
    for first, new_cells in moves(old, new):
        in_grid = (cells >= first) & (cells < first + len(new_cells))
        moved[in_grid] = new_cells[cells[in_grid] - first]
    table = table.set_column(table.column_names.index(names.CELL), names.CELL, pa.array(moved))
    return _renamed(table, old, new).filter(pa.array(moved >= 0))


def moves(old: Codebook, new: Codebook) -> Iterator[tuple[int, Ints]]:
    """For each grid of both codebooks: its first old cell, and the new cell of each old cell.

    Also for each generation of records: its first old number, and the new number of each record.
    """
    known = {grid.number: grid for grid in old.grids}
    for grid in new.grids:
        before = known.get(grid.number)
        if before is not None:
            yield before.offset, cell_map(before, grid) + grid.offset
    numbered = {part.name: part for part in old.records}
    for part in new.records:
        if part.name in numbered:
            yield numbered[part.name].offset, part.offset + np.arange(part.cells)


def renamed_columns(
    present: Collection[str], old: Codebook, new: Codebook
) -> Iterator[tuple[str, str]]:
    """For the keys and partials of both plans: the old name of their column, and the new one.

    Shards may lack columns of their plan, `present` are those that they have: by columns, a key or
    a partial is there only if the grids that have it got rows.
    """
    for name, before, after in (
        (names.key, old.keys, new.keys),
        (names.partial, old.columns, new.columns),
    ):
        places = {sql: position for position, sql in enumerate(before)}
        for position, sql in enumerate(after):
            if sql in places and (column := name(places[sql])) in present:
                yield column, name(position)


def _renamed(table: pa.Table, old: Codebook, new: Codebook) -> pa.Table:
    """Rename the columns of keys and partials as the new plan does; drop those that are gone."""
    kept = {to: table[column] for column, to in renamed_columns(table.column_names, old, new)}
    positional = {names.key(i) for i in range(len(old.keys))}
    positional |= {names.partial(i) for i in range(len(old.columns))}
    rest = {c: table[c] for c in table.column_names if c not in positional}
    return pa.table(kept | rest)


def cell_map(old: Grid, new: Grid) -> Ints:
    """For every cell of an old grid, the cell of the new grid, counted from the grid's first.

    It is the cell that holds the lowest corner of the old one.
    """
    if old.axes == new.axes:
        return np.arange(old.cells)
    shape = tuple(axis.size for axis in old.axes)
    intervals = np.unravel_index(np.arange(old.cells), shape) if shape else ()
    old_axes = {axis.attribute: (axis, intervals[i]) for i, axis in enumerate(old.axes)}
    cells = np.zeros(old.cells, dtype=np.int64)
    for axis in new.axes:
        if axis.attribute in old_axes:
            old_axis, old_intervals = old_axes[axis.attribute]
            new_intervals = _new_intervals(old_axis, axis)[old_intervals]
        else:
            new_intervals = _interval_of_new_attribute(axis)
        cells = cells * axis.size + new_intervals
    return cells


def _new_intervals(old: Axis, new: Axis) -> Ints:
    """For every interval of an old axis, the new axis' interval that holds its lowest value."""
    cuts = [sort_key(c) for c in new.cuts]
    intervals = [0, *(bisect_right(cuts, sort_key(c)) for c in old.cuts), new.null, new.null + 1]
    return np.array(intervals[: old.size], dtype=np.int64)


def _interval_of_new_attribute(axis: Axis) -> int:
    """The interval that old shards get along an attribute that the old plan did not have.

    No query that reads old shards looks at it, with one exception: a join that used to drop the
    rows without a match keeps them now. All rows of old shards had a match then.
    """
    return 1 if axis.attribute.sql.endswith(names.MATCHED + "`") else 0
