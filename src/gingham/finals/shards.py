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
from gingham.finals.bounded_cache import BoundedCache
from gingham.finals.frames import Frames, frames
from gingham.logical.window import Window
from gingham.plan.codebook import Codebook
from gingham.plan.forest import Forest
from gingham.plan.grid import Grid
from gingham.plan.layout import GridLayout, Layout, grid_starts
from gingham.plan.slices import Slices

# Numbers that are cached for queries with the same condition: a quarter of a gigabyte.
_CACHE_SIZE = 1 << 25


def located(table: pa.Table, layout: Layout, slices: Mapping[int, Slices]) -> pa.Table:
    """Decode shards that Spark collected: replace `__code` by the slice's instant and the cell.

    Shards of rows without an event time have no slice and are left out.
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
    tree_of = trees[np.searchsorted(offsets, cells, side="right") - 1]
    instants = np.zeros(len(cells), dtype=np.int64)
    for tree, of_tree in slices.items():
        in_tree = tree_of == tree
        instants[in_tree] = of_tree.starts(numbers[in_tree])
    table = table.append_column(names.INSTANT, pa.array(instants))
    table = table.append_column(names.CELL, pa.array(cells))
    # A count that Spark never makes NULL is so beside shards that do not have it.
    return pa.Table.from_arrays(table.columns, names=table.column_names)


def no_shards(codebook: Codebook | None = None) -> pa.Table:
    """An empty table of shards with the key and partial columns of a codebook.

    Keys and partials have the type null, which gives way to any other when tables are joined.
    """
    empty = pa.array([], pa.int64())
    table = pa.table({names.INSTANT: empty, names.CELL: empty})
    if codebook is None:
        return table
    columns = [names.key(i) for i in range(len(codebook.keys))]
    for name in (*columns, *(names.partial(i) for i in range(len(codebook.columns)))):
        table = table.append_column(name, pa.nulls(0))
    return table


def shards_in(table: pa.Table, codebook: Codebook) -> dict[Grid, int]:
    """Count the shards of each grid in a table."""
    places = codebook.places(_integers(table[names.CELL]))
    counts = np.bincount(places, minlength=len(codebook.grids))
    return dict(zip(codebook.grids, counts.tolist(), strict=True))


class ShardTable:
    """Shards of a forest: one row or several for each instant, cell and group.

    `fresh` tells which of them come from the last batch of a stream. `cache_size` bounds what each
    grid keeps for queries that merge the same cells. Shards of some grids, by their numbers, may be
    in tables of their own, which have only the columns of that grid: `apart`.
    """

    def __init__(
        self,
        table: pa.Table,
        forest: Forest,
        fresh: Bools | None = None,
        *,
        cache_size: int = _CACHE_SIZE,
        apart: Mapping[int, pa.Table] | None = None,
    ) -> None:
        self.table = table
        self._apart = apart or {}
        self.forest = forest
        self.fresh = fresh
        self.cache_size = cache_size
        self._grids: dict[int, GridShards] = {}

    def of(self, grid: Grid) -> GridShards:
        """The shards of one grid as sorted arrays."""
        if grid.offset not in self._grids:
            self._grids[grid.offset] = self._select(grid)
        return self._grids[grid.offset]

    @cached_property
    def _cells(self) -> Ints:
        """The cell of each shard of the table."""
        return _integers(self.table[names.CELL])

    @cached_property
    def _by_cell(self) -> Ints:
        """The shards of the table in the order of their cells."""
        return np.argsort(self._cells, kind="stable")

    @cached_property
    def _instants(self) -> Ints:
        """The instant at which the slice of each shard of the table starts."""
        return _integers(self.table[names.INSTANT])

    @property
    def columns(self) -> tuple[str, ...]:
        """The SQL of the aggregates that are in the columns `__partial_0`, ... of shards."""
        return self.forest.columns

    def _select(self, grid: Grid) -> GridShards:
        """The shards whose cells are those of one grid."""
        if grid.by_columns and self.fresh is None:
            return self._select_apart(grid)
        return self._sorted(grid, GridShards)

    def _select_apart(self, grid: Grid) -> GridShards:
        """The shards of a grid of one cell, which are in a table of their own."""
        shards = self._apart.get(grid.number, no_shards(self.forest.codebook))
        rows = np.arange(shards.num_rows)
        instants = _integers(shards[names.INSTANT])
        return self._arranged(
            grid, shards, rows, np.zeros(len(rows), dtype=np.int64), instants, GridShards
        )

    def _sorted(
        self,
        grid: Grid,
        make: Callable[..., GridShards],
        records: Sequence[GridLayout] = (),
    ) -> GridShards:
        """The shards of one grid as arrays, sorted by group and instant; `make` builds them.

        Those of its `records` have numbers after its cells.
        """
        rows, cells, first = list[Ints](), list[Ints](), 0
        for layout in (grid, *records):
            ends = (layout.offset, layout.offset + layout.cells)
            low, high = np.searchsorted(self._cells, ends, sorter=self._by_cell)
            rows.append(self._by_cell[low:high])
            cells.append(self._cells[rows[-1]] - layout.offset + first)
            first += layout.cells
        all_rows, all_cells = np.concatenate(rows), np.concatenate(cells)
        order = np.argsort(all_rows)
        all_rows = all_rows[order]
        return self._arranged(
            grid, self.table, all_rows, all_cells[order], self._instants[all_rows], make
        )

    def _arranged(
        self,
        grid: Grid,
        shards: pa.Table,
        rows: Ints,
        cells: Ints,
        instants: Ints,
        make: Callable[..., GridShards],
    ) -> GridShards:
        """The shards in some rows of a table as arrays, sorted by group and instant."""
        columns = [shards[names.key(self.forest.keys.index(k))] for k in grid.keys]
        groups, count = numbered(columns, rows)
        order = np.lexsort((instants, groups))
        return make(
            table=self,
            shards=shards,
            rows=rows[order],
            cells=cells[order],
            starts=instants[order],
            groups=groups[order],
            group_count=count,
        )


@dataclass
class GridShards:
    """The shards of one grid as arrays, sorted by group and slice."""

    table: ShardTable
    shards: pa.Table
    rows: Ints  # the row of each shard in `shards`
    cells: Ints  # counted from the first cell of the grid
    starts: Ints  # where the slice of each shard begins
    groups: Ints  # a number for each combination of key values
    group_count: int

    def __post_init__(self) -> None:
        self._states: dict[Partial, State] = {}
        self._cache = BoundedCache(self.table.cache_size)

    @cached_property
    def instants(self) -> Ints:
        """The starts of all slices that have a shard in this grid, sorted, each once."""
        return np.unique(self.starts)

    @cached_property
    def positions(self) -> Ints:
        """The position (group and slice in one number) of each shard; sorted."""
        ranks = np.searchsorted(self.instants, self.starts)
        return self.groups * (len(self.instants) + 1) + ranks

    def state(self, partial: Partial) -> State:
        """The state of a partial in every shard of the grid."""
        if partial not in self._states:
            columns = self.table.columns
            index = pa.array(self.rows)
            loaded = [
                flat(self.shards[names.partial(columns.index(c))].take(index))
                for c in partial.columns
            ]
            # A column without a type was added after all these shards: they have nothing of it.
            untyped = any(pa.types.is_null(column.type) for column in loaded)
            monoid = partial.monoid
            self._states[partial] = monoid.empty(len(index)) if untyped else monoid.load(loaded)
        return self._states[partial]

    def key(self, position: int, groups: Ints, keys: Sequence[str]) -> pa.Array:
        """The values of a group key, one for each of some groups of shards."""
        first = np.full(self.group_count, -1, dtype=np.int64)
        first[self.groups[::-1]] = self.rows[::-1]
        column = self.shards[names.key(self.table.forest.keys.index(keys[position]))]
        return flat(column.take(pa.array(first[groups])))

    def merged_over_cells(self, wanted: Bools, partial: Partial | None) -> MergedShards:
        """Merge shards of the wanted cells into one for each group and slice; cached.

        Without a partial: only which groups and slices have such shards.
        """
        name = (wanted.tobytes(), partial)
        return self._cache.get(name, lambda: self._merge(wanted, partial))

    def frames(self, positions: Ints, window: Window) -> Frames:
        """The frames (windows of groups) that hold at least one of the positions; cached."""
        # The frames hold the positions, so that no other array has their id meanwhile.
        name = (id(positions), window)
        return self._cache.get(name, lambda: frames(positions, self.instants, window))

    @cached_property
    def fresh(self) -> Bools:
        """A flag for each shard: whether it comes from the last batch of a stream."""
        if self.table.fresh is None:
            return np.zeros(len(self.rows), dtype=bool)
        return self.table.fresh[self.rows]

    def fresh_positions(self, wanted: Bools) -> Ints:
        """The positions (group and slice) at which the last batch brought rows of these cells."""
        return self._shape(wanted, self.fresh).positions

    def _merge(self, wanted: Bools, partial: Partial | None) -> MergedShards:
        """Merge shards of the wanted cells into one for each group and slice."""
        if partial is None:
            return self._shape(wanted)
        return self._with_state(self.merged_over_cells(wanted, None), partial)

    def _with_state(self, shape: MergedShards, partial: Partial) -> MergedShards:
        """Merge the states of a partial in all shards at the same position."""
        if not len(shape.positions):
            return shape
        state = self.state(partial)
        return shape.with_state(partial.monoid.runs(state.take(shape.shards), shape.run_starts))

    def _shape(self, wanted: Bools, among: Bools | None = None) -> MergedShards:
        """The positions (group and slice) at which there are shards of the wanted cells.

        Only shards whose flag in `among` is set count, if that is given.
        """
        chosen = wanted[self.cells]
        shards = np.flatnonzero(chosen if among is None else chosen & among)
        positions = self.positions[shards]
        run_starts = np.flatnonzero(np.diff(positions, prepend=-1))
        return MergedShards(self._shared(positions[run_starts]), shards, run_starts, None)

    def _shared(self, positions: Ints) -> Ints:
        """The same array object for equal positions, so that cached frames are found by it."""
        return self._cache.get(positions.tobytes(), lambda: positions)


@dataclass(frozen=True, slots=True)
class MergedShards:
    """Shards of some cells, merged into one for each position (group and slice)."""

    positions: Ints  # those that have shards, sorted
    shards: Ints  # the shards that are merged, sorted by position
    run_starts: Ints  # for each position, where its shards begin in `shards`
    state: State | None  # the merged state at each position; None if no partial was asked for

    @property
    def size(self) -> int:
        """The approximate number of array elements, by which the cache is bounded."""
        return len(self.shards) + 3 * len(self.positions)

    def with_state(self, state: State) -> MergedShards:
        """The same positions (group and slice) with the merged state of a partial."""
        return MergedShards(self.positions, self.shards, self.run_starts, state)


def _integers(column: pa.ChunkedArray) -> Ints:
    """An integer column of a table of shards as a numpy array."""
    return flat(column).to_numpy(zero_copy_only=False).astype(np.int64, copy=False)


def numbered(columns: list[pa.ChunkedArray], rows: Ints) -> tuple[Ints, int]:
    """Number the groups: each combination of key values in some rows; NULL is a value here.

    Gives the number of each row's combination, and how many combinations there are.
    """
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
