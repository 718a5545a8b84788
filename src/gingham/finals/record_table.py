"""Records read as if they were shards: an answer is rebuilt from the records that hold it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from gingham.aggregates import Partial, State
from gingham.aggregates.counts import ADD_INTEGERS, counted
from gingham.core.arrays import Array, Bools
from gingham.finals.shards import GridShards, MergedShards, ShardTable, located
from gingham.plan.forest import Forest, Grid
from gingham.plan.forest_records import ForestRecords, GridRecords, Weights
from gingham.plan.layout import GridLayout, Layout
from gingham.plan.slices import Slices

ROWS = counted("*")
_LARGEST_LONG = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class ShardReader:
    """Turns what Spark collected into a table to answer from: shards, or records of a forest."""

    forest: Forest
    records: ForestRecords | None = None

    @property
    def layout(self) -> Layout:
        """How collected shards are numbered: by cells of the forest, or by records."""
        return self.forest if self.records is None else self.records

    def grid_layout(self, grid: Grid) -> GridLayout:
        """How the collected shards of one grid are numbered: by its cells, or by records."""
        return grid if self.records is None else self.records.of(grid)

    def table(self, collected: pa.Table, slices: Mapping[int, Slices]) -> ShardTable:
        """Turn what Spark collected into the table of shards that queries are answered from."""
        with_instants = located(collected, self.layout, slices)
        if self.records is None:
            return ShardTable(with_instants, self.forest)
        return RecordTable(with_instants, self.forest, self.records)


class RecordTable(ShardTable):
    """Records of a forest in place of its shards."""

    def __init__(self, table: pa.Table, forest: Forest, records: ForestRecords) -> None:
        super().__init__(table, forest)
        self.records = records

    @property
    def columns(self) -> tuple[str, ...]:
        """The SQL of the aggregates that are in the columns `__partial_0`, ... of records."""
        return self.records.columns

    def _select(self, grid: Grid) -> GridShards:
        """The records of one grid, sorted, as an object that is read like its shards."""
        records = self.records.of(grid)
        return self._sorted(records, functools.partial(_RebuiltShards, records=records))


@dataclass
class _RebuiltShards(GridShards):
    """The records of one grid, read as its shards; `cells` are the numbers of the records."""

    records: GridRecords

    def _merge(self, wanted: Bools, partial: Partial | None) -> MergedShards:
        """Rebuild a partial over the wanted cells from the records that hold their fragments."""
        weights = self.records.weights(wanted, partial)
        if weights.divisor == 1 and ((weights.counts == 0) | (weights.counts == 1)).all():
            # Nothing has to be subtracted: the condition's rows are exactly these records.
            shape = self._shape(weights.counts == 1)
            return shape if partial is None else self._with_state(shape, partial)
        return self._combined(weights, partial)

    def _combined(self, weights: Weights, partial: Partial | None) -> MergedShards:
        """Rebuild a linear partial as weighted sums of records, where the counts are not zero."""
        shape = self._shape(weights.counts != 0)
        if not len(shape.positions):
            return shape
        if partial is None:
            # A position may have records of which no row is left for this condition.
            some = self._total(ROWS, shape, weights) > 0
            positions = self._shared(shape.positions[some])
            return MergedShards(positions, shape.shards, shape.run_starts, None)
        values = self._total(partial, shape, weights)
        seen = np.ones(len(values), dtype=bool)
        if partial.witness is not None:
            witness = Partial((partial.witness,), ADD_INTEGERS)
            seen = self._total(witness, shape, weights) > 0
        return shape.with_state(State((values, seen)))

    def _total(self, partial: Partial, shape: MergedShards, weights: Weights) -> Array:
        """The weighted sum of a linear partial over the records at each position."""
        values = self.state(partial).arrays[0][shape.shards]
        times = weights.counts[self.cells[shape.shards]]
        largest = max(abs(int(values.max())), abs(int(values.min())))
        if largest * int(np.abs(weights.counts).sum()) > _LARGEST_LONG:
            values = values.astype(object)
        weighted = values * times.reshape(-1, *(1,) * (values.ndim - 1))
        return np.add.reduceat(weighted, shape.run_starts) // weights.divisor
