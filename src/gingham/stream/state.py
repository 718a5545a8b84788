"""The state of a stream: the shards that open windows still need, in memory."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pyarrow as pa

from gingham.core import names
from gingham.finals.condense import condense
from gingham.finals.floors import Floors, needed
from gingham.finals.recode import recode
from gingham.finals.shards import ShardTable, no_shards
from gingham.plan.forest import Codebook, Forest

# Shards of the same slice, cell and group are merged when the state has grown by this factor.
_GROWTH = 2
_FEW = 10_000


class State:
    """The shards of a stream on the driver; those of the last micro-batch are told apart."""

    def __init__(self) -> None:
        self._table: pa.Table | None = None
        self._fresh: pa.Table | None = None
        self._codebook = Codebook((), (), ())
        self._merged = 0  # the number of shards after the last merge

    def __len__(self) -> int:
        return sum(t.num_rows for t in (self._table, self._fresh) if t is not None)

    @property
    def table(self) -> pa.Table:
        """All shards in memory, in the cells and columns of the last plan."""
        parts = [t for t in (self._table, self._fresh) if t is not None]
        return pa.concat_tables(parts, promote_options="default") if parts else no_shards()

    def add(self, table: pa.Table, codebook: Codebook) -> None:
        """Add the shards of a micro-batch; recode older ones to the cells of its plan."""
        before = self.table
        if before.num_rows:
            self._table = recode(before, self._codebook, codebook)
        else:
            self._table = None
        self._codebook = codebook
        self._fresh = table if table.num_rows else None

    def between(self, low: int, high: int, forest: Forest) -> ShardTable:
        """Select the shards of slices that begin in [low, high), to answer windows from."""
        parts, fresh = [], []
        for part, is_fresh in ((self._table, False), (self._fresh, True)):
            if part is not None:
                instants = part[names.INSTANT].to_numpy()
                kept = part.filter(pa.array((instants >= low) & (instants < high)))
                parts.append(kept)
                fresh.append(np.full(kept.num_rows, is_fresh))
        if not parts:
            return ShardTable(no_shards(forest), forest, np.zeros(0, dtype=bool))
        table = pa.concat_tables([*parts, no_shards(forest)], promote_options="default")
        return ShardTable(table, forest, np.concatenate(fresh))

    def of(self, grids: Collection[int], forest: Forest) -> pa.Table:
        """Select the shards of some grids, given by their numbers."""
        table = self.table
        return table.filter(pa.array(_are_of_grids(table, grids, forest)))

    def drop(self, grids: Collection[int], forest: Forest) -> None:
        """Drop the shards of some grids, given by their numbers."""
        table = self.table
        self._table, self._fresh = (
            table.filter(pa.array(~_are_of_grids(table, grids, forest))),
            None,
        )

    def prune(self, floors: Floors, forest: Forest | None) -> None:
        """Drop shards of each grid that begin before its floor: no open window needs them."""
        table = self.table
        if not table.num_rows or forest is None:
            self._table = self._fresh = None
            return
        kept = needed(table, floors, forest)
        table = table if kept.all() else table.filter(pa.array(kept))
        if table.num_rows > max(_FEW, _GROWTH * self._merged):
            table = condense(table, forest)
            self._merged = table.num_rows
        self._table, self._fresh = table, None


def _are_of_grids(table: pa.Table, grids: Collection[int], forest: Forest) -> np.ndarray:
    """A flag for each shard of the state: whether it is of one of these grids."""
    cells = table[names.CELL].to_numpy()
    found = np.zeros(len(cells), dtype=bool)
    for grid in forest.grids:
        if grid.number in grids:
            found |= (cells >= grid.offset) & (cells < grid.offset + grid.cells)
    return found
