"""One query's answer from shards."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from gingham.aggregates import Partial, State
from gingham.core.arrays import Bools, Ints
from gingham.core.errors import AnswerError
from gingham.finals.frames import Due, Frames, frames, ranges
from gingham.finals.shards import GridShards, ShardTable
from gingham.plan.bound import BoundQuery, Reading
from gingham.plan.cells import Cells
from gingham.plan.forest import Grid


def answer(query: BoundQuery, table: ShardTable, cells: Cells, due: Due | None = None) -> pa.Table:
    """Window bounds, keys and aggregates: one row for each window and group with a matching row.

    All windows, or those that are due.
    """
    grid = table.forest.grid_of(query)
    shards = table.of(grid)
    _refuse_raised(query, shards, grid, cells, due)
    where = cells.of(grid, query.where).true
    found = _frames(shards.rolled(where, None).places, query, shards, due, where)
    for guard in query.guards:
        failed = np.asarray(_values(guard, found, query, shards, grid, cells))
        if failed.any():
            raise _would_raise(query, guard.aggregate.call.arguments[0])
    # Microseconds are what timestamps are made of.
    instants = (found.starts, found.starts + query.window.range)
    bounds = [pa.array(i).view(f.type) for i, f in zip(instants, query.slots, strict=False)]
    keys = [shards.key(grid.keys.index(k), found.groups, grid.keys) for k in query.keys]
    values = [_values(r, found, query, shards, grid, cells) for r in query.readings]
    columns = [
        column.cast(field.type) if column.type != field.type else column
        for column, field in zip((*bounds, *keys, *values), query.slots, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=query.slots)


def _frames(
    places: Ints, query: BoundQuery, shards: GridShards, due: Due | None, where: Bools
) -> Frames:
    found = shards.frames(places, query.window)
    if due is None:
        return found
    fresh = shards.places_of(shards.fresh & where[shards.cells]) if due.open is not None else []
    touched = frames(np.asarray(fresh, dtype=np.int64), shards.instants, query.window)
    return found.where(due.of(found, touched, query.window))


def _values(
    reading: Reading,
    found: Frames,
    query: BoundQuery,
    shards: GridShards,
    grid: Grid,
    cells: Cells,
) -> pa.Array:
    wanted = cells.of(grid, reading.condition).true
    states = tuple(_merged(p, found, query, shards, wanted) for p in reading.partials)
    return reading.aggregate.finalize(states)


def _merged(
    partial: Partial, found: Frames, query: BoundQuery, shards: GridShards, wanted: np.ndarray
) -> State:
    rolled = shards.rolled(wanted, partial)
    low, high = ranges(found, rolled.places, shards.instants, query.window)
    filled = low < high
    if rolled.state is None or not filled.any():
        return partial.monoid.empty(len(found))
    if filled.all():
        return partial.monoid.ranges(rolled.state, low, high)
    # Only an aggregate with a filter of its own has windows without rows.
    merged = partial.monoid.ranges(rolled.state, low[filled], high[filled])
    empty = partial.monoid.empty(len(found))
    arrays = []
    for whole, part in zip(empty.arrays, merged.arrays, strict=True):
        spread = (
            whole.astype(np.result_type(whole, part))
            if part.dtype != object
            else whole.astype(object)
        )
        spread[filled] = part
        arrays.append(spread)
    return State(tuple(arrays), merged.values)


def _refuse_raised(
    query: BoundQuery, shards: GridShards, grid: Grid, cells: Cells, due: Due | None
) -> None:
    for condition in query.conditions:
        raises = cells.raising(grid, condition)
        if raises is None:
            continue
        raised = shards.rolled(raises, None).places
        # Alone, Spark would raise for any row; a stream lives on, without the windows concerned.
        if len(raised) and (due is None or len(_frames(raised, query, shards, due, raises))):
            raise _would_raise(query, condition.sql)


def _would_raise(query: BoundQuery, sql: str) -> AnswerError:
    return AnswerError(
        f"query {query.name!r} fails: {sql}",
        "for some row Spark would raise an error here (a division by zero, an overflow or a bad "
        "cast in ANSI mode)",
        "a predicate that keeps such rows away, or the try_ form of the function",
    )
