"""The shards of one grid as arrays, sorted by group and slice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from gingham.aggregates import Partial, State
from gingham.aggregates.monoid import flat
from gingham.core import names
from gingham.core.arrays import Bools, Ints
from gingham.finals.bounded_cache import Kept
from gingham.finals.frames import Frames, frames
from gingham.logical.window import Window
from gingham.plan.forest import Forest, Grid
from gingham.plan.layout import Layout, Numbers, grid_starts
from gingham.plan.slices import Slices

# Numbers kept for queries with the same condition: a quarter of a gigabyte.
_MOST_KEPT = 1 << 25


def located(table: pa.Table, layout: Layout, slices: Mapping[int, Slices]) -> pa.Table:
    """What Spark collected, with the instant and the cell of every shard in place of numbers.

    Rows without a time have no slice and are left out.
    """
    if names.CODE in table.column_names:
        table = table.filter(table[names.CODE].is_valid())
        numbers, cells = np.divmod(_integers(table[names.CODE]), layout.cells)
        table = table.drop_columns([names.CODE])
    else:
        table = table.filter(table[names.SLICE].is_valid())
        numbers, cells = _integers(table[names.SLICE]), _integers(table[names.CELL])
        table = table.drop_columns([names.SLICE, names.CELL])
    offsets, trees = grid_starts(layout)
    of = trees[np.searchsorted(offsets, cells, side="right") - 1]
    starts = np.zeros(len(cells), dtype=np.int64)
    for tree, found in slices.items():
        own = of == tree
        starts[own] = found.starts(numbers[own])
    table = table.append_column(names.INSTANT, pa.array(starts))
    return table.append_column(names.CELL, pa.array(cells))


def no_shards(forest: Forest | None = None) -> pa.Table:
    """No shards, with the columns of a forest; their types come from wherever there are shards."""
    empty = pa.array([], pa.int64())
    table = pa.table({names.INSTANT: empty, names.CELL: empty})
    if forest is None:
        return table
    columns = [names.key(i) for i in range(len(forest.keys))]
    for name in (*columns, *(names.partial(i) for i in range(len(forest.columns)))):
        table = table.append_column(name, pa.nulls(0))
    return table


def shards_in(table: pa.Table, forest: Forest) -> dict[Grid, int]:
    """How many shards each grid has."""
    offsets, _ = forest.bounds
    places = np.searchsorted(offsets, _integers(table[names.CELL]), side="right") - 1
    counts = np.bincount(places, minlength=len(offsets))
    return dict(zip(forest.grids, counts.tolist(), strict=True))


class ShardTable:
    """Shards of a forest: one row per instant, cell and group, or several that are yet to merge.

    `fresh` tells the shards that came last.
    """

    def __init__(self, table: pa.Table, forest: Forest, fresh: Bools | None = None) -> None:
        self.table = table
        self.forest = forest
        self.fresh = fresh
        self._grids: dict[int, GridShards] = {}

    def of(self, grid: Grid) -> GridShards:
        """The shards of one grid."""
        if grid.offset not in self._grids:
            self._grids[grid.offset] = self._select(grid)
        return self._grids[grid.offset]

    @cached_property
    def _cells(self) -> Ints:
        return _integers(self.table[names.CELL])

    @cached_property
    def _instants(self) -> Ints:
        return _integers(self.table[names.INSTANT])

    @property
    def columns(self) -> tuple[str, ...]:
        """The aggregate expressions behind `__partial_0`, ..."""
        return self.forest.columns

    def _select(self, grid: Grid) -> GridShards:
        return self._sorted(grid, GridShards)

    def _sorted(self, grid: Numbers, made: Callable[..., GridShards]) -> GridShards:
        cells = self._cells
        rows = np.flatnonzero((cells >= grid.offset) & (cells < grid.offset + grid.cells))
        starts = self._instants[rows]
        columns = [self.table[names.key(self.forest.keys.index(k))] for k in grid.keys]
        groups, count = numbered(columns, rows)
        order = np.lexsort((starts, groups))
        return made(
            table=self,
            rows=rows[order],
            cells=cells[rows][order] - grid.offset,
            starts=starts[order],
            groups=groups[order],
            group_count=count,
        )


@dataclass
class GridShards:
    """Shards of one grid; `groups` numbers the different keys."""

    table: ShardTable
    rows: Ints
    cells: Ints
    starts: Ints
    groups: Ints
    group_count: int

    def __post_init__(self) -> None:
        self._states: dict[Partial, State] = {}
        self._kept = Kept(_MOST_KEPT)

    @cached_property
    def instants(self) -> Ints:
        """All different starts of slices, sorted."""
        return np.unique(self.starts)

    @cached_property
    def places(self) -> Ints:
        """One sorted number per shard for its group and the rank of its slice."""
        ranks = np.searchsorted(self.instants, self.starts)
        return self.groups * (len(self.instants) + 1) + ranks

    def state(self, partial: Partial) -> State:
        """A partial of all shards."""
        if partial not in self._states:
            columns = self.table.columns
            index = pa.array(self.rows)
            loaded = [
                flat(self.table.table[names.partial(columns.index(c))].take(index))
                for c in partial.columns
            ]
            self._states[partial] = partial.monoid.load(loaded)
        return self._states[partial]

    def key(self, position: int, groups: Ints, keys: Sequence[str]) -> pa.Array:
        """The values of a key for some groups."""
        first = np.full(self.group_count, -1, dtype=np.int64)
        first[self.groups[::-1]] = self.rows[::-1]
        column = self.table.table[names.key(self.table.forest.keys.index(keys[position]))]
        return flat(column.take(pa.array(first[groups])))

    def rolled(self, wanted: Bools, partial: Partial | None) -> Rolled:
        """Shards of the wanted cells merged over cells: one per group and slice."""
        name = (wanted.tobytes(), partial)
        return self._kept.get(name, lambda: self._roll_up(wanted, partial))

    def frames(self, places: Ints, window: Window) -> Frames:
        """Every window of every group that holds at least one of the places."""
        # The frames hold the places, so that no others have their id meanwhile.
        name = (id(places), window)
        return self._kept.get(name, lambda: frames(places, self.instants, window))

    @cached_property
    def fresh(self) -> Bools:
        """Which shards came last."""
        if self.table.fresh is None:
            return np.zeros(len(self.rows), dtype=bool)
        return self.table.fresh[self.rows]

    def places_of(self, chosen: Bools) -> Ints:
        """The different places of some shards, in order."""
        return np.unique(self.places[chosen])

    def _roll_up(self, wanted: Bools, partial: Partial | None) -> Rolled:
        if partial is None:
            return self._shape(wanted)
        return self._merged(self.rolled(wanted, None), partial)

    def _merged(self, shape: Rolled, partial: Partial) -> Rolled:
        """The shards of every place as one."""
        if not len(shape.places):
            return shape
        state = self.state(partial)
        merged = partial.monoid.runs(state.take(shape.kept), shape.first)
        return Rolled(shape.places, shape.kept, shape.first, merged)

    def _shape(self, wanted: Bools) -> Rolled:
        """Where there are shards of the wanted cells."""
        kept = np.flatnonzero(wanted[self.cells])
        places = self.places[kept]
        first = np.flatnonzero(np.diff(places, prepend=-1))
        return Rolled(self._shared(places[first]), kept, first, None)

    def _shared(self, places: Ints) -> Ints:
        """The same array for the same places: conditions often hold in the same slices."""
        return self._kept.get(places.tobytes(), lambda: places)


@dataclass(frozen=True, slots=True)
class Rolled:
    """Places with shards, in order; where their shards are; their merged state."""

    places: Ints
    kept: Ints
    first: Ints
    state: State | None

    @property
    def size(self) -> int:
        """About how many numbers it keeps."""
        return len(self.kept) + 3 * len(self.places)


def _integers(column: pa.ChunkedArray) -> Ints:
    return flat(column).to_numpy(zero_copy_only=False).astype(np.int64, copy=False)


def numbered(columns: list[pa.ChunkedArray], rows: Ints) -> tuple[Ints, int]:
    """Number the different combinations of key values; NULL is a value here."""
    groups = np.zeros(len(rows), dtype=np.int64)
    count = 1 if len(rows) else 0
    index = pa.array(rows)
    for column in columns:
        encoded = flat(column.take(index)).dictionary_encode(null_encoding="encode")
        codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        # Numbered afresh after each key, so that the product of two never overflows.
        _, groups = np.unique(groups * max(1, len(encoded.dictionary)) + codes, return_inverse=True)
        count = int(groups.max()) + 1 if len(groups) else 0
    return groups, count
