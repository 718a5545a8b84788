"""The answer of one query, computed from shards or records."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from gingham.aggregates import Partial, State
from gingham.core.arrays import Bools, Ints
from gingham.finals.frames import Due, Frames, frames, ranges
from gingham.finals.row_counts import RowsDue
from gingham.finals.shards import GridShards, ShardTable
from gingham.plan.bound import BoundQuery, ConditionalAggregate
from gingham.plan.condition_cache import ConditionCache
from gingham.plan.grid import Grid


def answer(
    query: BoundQuery,
    table: ShardTable,
    conditions: ConditionCache,
    due: Due | RowsDue | None = None,
) -> pa.Table:
    """Answer one query from shards: bounds, keys and aggregates of each window and group.

    Covers all windows, or only those that are `due`.
    """
    grid = table.forest.grid_of(query)
    shards = table.of(grid)
    where = conditions.truths(grid, query.where).true
    positions = shards.merged_over_cells(where, None).positions
    windows = _answered_frames(positions, query, grid, shards, due, where)
    # Microseconds are what timestamps are made of; positions are what they are.
    instants = (windows.starts, windows.starts + query.window.range)
    bounds = [pa.array(i).view(f.type) for i, f in zip(instants, query.slots, strict=False)]
    keys = [shards.key(grid.keys.index(k), windows.groups, grid.keys) for k in query.keys]
    values = [
        _aggregate_values(a, windows, query, shards, grid, conditions) for a in query.aggregates
    ]
    columns = [
        column.cast(field.type) if column.type != field.type else column
        for column, field in zip((*bounds, *keys, *values), query.slots, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=query.slots)


def _answered_frames(
    positions: Ints,
    query: BoundQuery,
    grid: Grid,
    shards: GridShards,
    due: Due | RowsDue | None,
    where: Bools,
) -> Frames:
    """The frames (windows of groups) that hold one of the positions; only due ones, if given."""
    windows = shards.frames(positions, query.window)
    if due is None:
        return windows
    watched = due.early or (isinstance(due, Due) and due.open is not None)
    fresh = shards.fresh_positions(where) if watched else np.empty(0, dtype=np.int64)
    touched = frames(fresh, shards.instants, query.window)
    if isinstance(due, Due):
        return windows.where(due.of(windows, touched, query.window))
    every = np.arange(shards.group_count)
    per = [shards.key(grid.keys.index(k), every, grid.keys) for k in query.window.clock.per]
    return windows.where(due.of(windows, touched, query.window, per, len(every)))


def _aggregate_values(
    aggregate: ConditionalAggregate,
    windows: Frames,
    query: BoundQuery,
    shards: GridShards,
    grid: Grid,
    conditions: ConditionCache,
) -> pa.Array:
    """The values of one aggregate of a query, one for each frame (window of a group)."""
    wanted = conditions.truths(grid, aggregate.condition).true
    states = tuple(_merged_partial(p, windows, query, shards, wanted) for p in aggregate.partials)
    return aggregate.aggregate.finalize(states)


def _merged_partial(
    partial: Partial, windows: Frames, query: BoundQuery, shards: GridShards, wanted: Bools
) -> State:
    """Merge a partial over the cells that are wanted and the slices of each frame."""
    over_cells = shards.merged_over_cells(wanted, partial)
    low, high = ranges(windows, over_cells.positions, shards.instants, query.window)
    filled = low < high
    if over_cells.state is None or not filled.any():
        return partial.monoid.empty(len(windows))
    if filled.all():
        return partial.monoid.ranges(over_cells.state, low, high)
    # Only an aggregate with a filter of its own has windows without rows.
    merged = partial.monoid.ranges(over_cells.state, low[filled], high[filled])
    empty = partial.monoid.empty(len(windows))
    arrays = []
    for empty_array, merged_array in zip(empty.arrays, merged.arrays, strict=True):
        is_object = merged_array.dtype == object
        common = object if is_object else np.result_type(empty_array, merged_array)
        array = empty_array.astype(common)
        array[filled] = merged_array
        arrays.append(array)
    return State(tuple(arrays), merged.values)
