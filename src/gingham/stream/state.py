"""The state of a stream: the shards that open windows still need, in memory."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pyarrow as pa

from gingham.core import names
from gingham.core.arrays import Bools
from gingham.finals.condense import condense
from gingham.finals.floors import Floors, needed
from gingham.finals.recode import recode
from gingham.finals.record_table import RecordTable
from gingham.finals.shards import ShardTable, no_shards
from gingham.plan.codebook import Codebook
from gingham.plan.forest import Forest

# Shards of the same slice, cell and group are merged when the state has grown by this factor.
_GROWTH = 2
_FEW = 10_000


class State:
    """The shards of a stream on the driver; those of the last micro-batch are told apart.

    The codebook is that of the last plan, with the records of earlier ones that are still there.
    """

    def __init__(self) -> None:
        self._table: pa.Table | None = None
        self._fresh: pa.Table | None = None
        self.codebook = Codebook((), (), ())
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
        book = codebook.carrying(self.codebook.used(before[names.CELL].to_numpy()))
        self._table = recode(before, self.codebook, book) if before.num_rows else None
        self.codebook = book
        self._fresh = table if table.num_rows else None

    def between(self, low: int, high: int, forest: Forest) -> ShardTable:
        """Select the shards of slices that begin in [low, high), to answer windows from."""
        parts, fresh = [no_shards(self.codebook)], [np.zeros(0, dtype=bool)]
        for part, is_fresh in ((self._table, False), (self._fresh, True)):
            if part is not None:
                instants = part[names.INSTANT].to_numpy()
                kept = part.filter(pa.array((instants >= low) & (instants < high)))
                parts.append(kept)
                fresh.append(np.full(kept.num_rows, is_fresh))
        table = pa.concat_tables(parts, promote_options="default")
        return RecordTable(table, forest, self.codebook, np.concatenate(fresh))

    def of(self, grids: Collection[int]) -> pa.Table:
        """Select the shards of some grids, given by their numbers."""
        table = self.table
        return table.filter(pa.array(self._are_of_grids(table, grids)))

    def drop(self, grids: Collection[int]) -> None:
        """Drop the shards of some grids, given by their numbers."""
        table = self.table
        self._table, self._fresh = table.filter(pa.array(~self._are_of_grids(table, grids))), None

    def prune(self, floors: Floors, forest: Forest | None) -> None:
        """Drop shards of each grid that begin before its floor: no open window needs them."""
        table = self.table
        if not table.num_rows or forest is None:
            self._table = self._fresh = None
            return
        kept = needed(table, floors, self.codebook)
        table = table if kept.all() else table.filter(pa.array(kept))
        if table.num_rows > max(_FEW, _GROWTH * self._merged):
            table = condense(table, forest, self.codebook)
            self._merged = table.num_rows
        self._table, self._fresh = table, None

    def _are_of_grids(self, table: pa.Table, grids: Collection[int]) -> Bools:
        """A flag for each shard of the state: whether it is of one of these grids."""
        wanted = np.array([grid.number in grids for grid in self.codebook.grids], dtype=bool)
        if not table.num_rows:
            return np.zeros(0, dtype=bool)
        return wanted[self.codebook.places(table[names.CELL].to_numpy())]
