"""Shards of one plan as shards of the next.

Queries come and go, so attributes are cut in other places. A shard's cell becomes the cell of the
new plan that holds its lowest corner. Where the new plan cuts finer, that is only part of the old
cell; but the queries that read old shards lived then, and none of them tells the parts apart. A
newcomer does, but its windows begin after the last row that was seen before it came.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from gingham.core import names
from gingham.core.arrays import Ints
from gingham.logical.domain import sort_key
from gingham.logical.predicate import Axis
from gingham.plan.forest import Codebook, Grid


def recode(table: pa.Table, old: Codebook, new: Codebook) -> pa.Table:
    """The shards in cells and columns of the new plan, without those of grids that are gone."""
    if old == new:
        return table
    cells = table[names.CELL].to_numpy()
    moved = np.full(len(cells), -1, dtype=np.int64)
    for first, places in moves(old, new):
        own = (cells >= first) & (cells < first + len(places))
        moved[own] = places[cells[own] - first]
    kept = moved >= 0
    table = table.set_column(table.column_names.index(names.CELL), names.CELL, pa.array(moved))
    return _renamed(table, old, new).filter(pa.array(kept))


def moves(old: Codebook, new: Codebook) -> Iterator[tuple[int, Ints]]:
    """For each grid of both plans its first old cell, and where its cells are in the new plan."""
    for grid in new.grids:
        before = next((g for g in old.grids if g.number == grid.number), None)
        if before is not None:
            yield before.offset, _moved(before, grid) + grid.offset


def _renamed(table: pa.Table, old: Codebook, new: Codebook) -> pa.Table:
    """Keys and partials in the order of the new plan; NULL for those that are new."""
    columns: dict[str, pa.ChunkedArray | pa.Array] = {}
    for kind, before, after in (
        (names.key, old.keys, new.keys),
        (names.partial, old.columns, new.columns),
    ):
        for position, sql in enumerate(after):
            if sql in before:
                columns[kind(position)] = table[kind(before.index(sql))]
    positional = {names.key(i) for i in range(len(old.keys))}
    positional |= {names.partial(i) for i in range(len(old.columns))}
    rest = {c: table[c] for c in table.column_names if c not in positional}
    return pa.table(columns | rest)


def _moved(old: Grid, new: Grid) -> Ints:
    """For every cell of the old grid, the cell of the new one."""
    shape = tuple(axis.size for axis in old.axes)
    intervals = np.unravel_index(np.arange(old.cells), shape) if shape else ()
    before = {axis.attribute: (axis, intervals[i]) for i, axis in enumerate(old.axes)}
    number = np.zeros(old.cells, dtype=np.int64)
    for axis in new.axes:
        found = before.get(axis.attribute)
        place = _unknown(axis) if found is None else _places(found[0], axis)[found[1]]
        number = number * axis.size + place
    return number


def _places(old: Axis, new: Axis) -> Ints:
    """For every interval of an attribute, the new interval that holds its lowest value."""
    cuts = [sort_key(c) for c in new.cuts]
    places = [0, *(bisect_right(cuts, sort_key(c)) for c in old.cuts), new.null, new.null + 1]
    return np.array(places[: old.size], dtype=np.int64)


def _unknown(axis: Axis) -> int:
    """Where shards lie along an attribute that they were not coded by.

    No query that reads them looks there, but for one case: a lookup used to drop the rows without
    a match and keeps them now. All rows of old shards had a match.
    """
    return 1 if axis.attribute.sql.endswith(names.MATCHED + "`") else 0
