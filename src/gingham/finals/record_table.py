"""Records read as if they were shards: an answer is rebuilt from the records that hold it.

In a stream there are records of several generations, since fragments appear and queries come and
go: what each of them tells is merged.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from gingham.aggregates import Partial, State
from gingham.aggregates.counts import ADD_INTEGERS, counted
from gingham.core.arrays import Array, Bools, Ints
from gingham.finals.recode import cell_map
from gingham.finals.shards import GridShards, MergedShards, ShardTable, located
from gingham.plan.codebook import Codebook
from gingham.plan.forest import Forest
from gingham.plan.forest_records import ForestRecords, GridRecords, Weights
from gingham.plan.grid import Grid
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
        codebook = replace(
            self.forest.codebook, columns=self.records.columns, records=self.records.grids
        )
        return RecordTable(with_instants, self.forest, codebook)


class RecordTable(ShardTable):
    """Shards of a forest, and records in place of others, as a codebook numbers them."""

    def __init__(
        self, table: pa.Table, forest: Forest, codebook: Codebook, fresh: Bools | None = None
    ) -> None:
        super().__init__(table, forest, fresh)
        self.codebook = codebook

    @property
    def columns(self) -> tuple[str, ...]:
        """The SQL of the aggregates that are in the columns `__partial_0`, ... of records."""
        return self.codebook.columns

    def _select(self, grid: Grid) -> GridShards:
        """The shards and records of one grid, sorted, as an object that is read like its shards."""
        parts = self.codebook.records_of(grid)
        if not parts:
            return super()._select(grid)
        first, readers = grid.cells, list[_Reader]()
        for part in parts:
            readers.append(_Reader(part, first, cell_map(part.grid, grid)))
            first += part.cells
        make = functools.partial(_RebuiltShards, readers=readers, numbers=first)
        return self._sorted(grid, make, parts)


@dataclass(frozen=True, slots=True)
class _Reader:
    """The records of one generation, as conditions of a later plan read them.

    A condition is looked up as it was then: by the flags of the cells that there were. It has none
    if its query came later; the windows of that query begin after these records.
    """

    records: GridRecords
    first: int  # the number of the first record, counted from the first cell of the grid
    cells: Ints  # for each cell that there was, the cell that holds its lowest corner now

    def weights(self, wanted: Bools, partial: Partial | None) -> Weights | None:
        """The weight of each record in a partial's answer over a set of cells; None if unknown."""
        return self.records.weights(wanted[self.cells], partial)


@dataclass
class _RebuiltShards(GridShards):
    """Shards and records of one grid, read as its shards.

    `cells` are the numbers of cells, then those of the records of each generation.
    """

    readers: Sequence[_Reader]
    numbers: int

    def _merge(self, wanted: Bools, partial: Partial | None) -> MergedShards:
        """Merge a partial over shards of the wanted cells, and what records tell of these."""
        return self._rebuilt(wanted, partial, np.ones(len(self.rows), dtype=bool))

    def fresh_positions(self, wanted: Bools) -> Ints:
        """The positions (group and slice) at which the last batch brought rows of these cells."""
        return self._rebuilt(wanted, None, self.fresh).positions

    def _rebuilt(self, wanted: Bools, partial: Partial | None, among: Bools) -> MergedShards:
        """Rebuild a partial over the wanted cells, from some of the shards and records."""
        merged, combined, divisor = self._weights(wanted, partial)
        shape = self._shape(merged, among)
        if partial is not None:
            shape = self._with_state(shape, partial)
        if not combined.any():
            return shape
        rest = self._combined(Weights(combined, divisor), partial, among)
        return self._together(shape, rest, partial)

    def _weights(self, wanted: Bools, partial: Partial | None) -> tuple[Bools, Ints, int]:
        """Which shards and records are merged, and the weights of those that are subtracted, too.

        Rows of a condition are exactly some records if all weights are zero or one.
        """
        merged = np.zeros(self.numbers, dtype=bool)
        merged[: len(wanted)] = wanted
        combined, divisor = np.zeros(self.numbers, dtype=np.int64), 1
        for reader in self.readers:
            weights = reader.weights(wanted, partial)
            if weights is None:
                continue
            own = slice(reader.first, reader.first + reader.records.cells)
            if weights.divisor == 1 and ((weights.counts == 0) | (weights.counts == 1)).all():
                merged[own] = weights.counts == 1
            else:
                common = math.lcm(divisor, weights.divisor)
                combined *= common // divisor
                combined[own] = weights.counts * (common // weights.divisor)
                divisor = common
        return merged, combined, divisor

    def _combined(self, weights: Weights, partial: Partial | None, among: Bools) -> MergedShards:
        """Rebuild a linear partial as weighted sums of records, where the counts are not zero."""
        shape = self._shape(weights.counts != 0, among)
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

    def _together(
        self, one: MergedShards, other: MergedShards, partial: Partial | None
    ) -> MergedShards:
        """Merge what some records tell with what others tell, position by position."""
        if not len(one.positions) or not len(other.positions):
            return one if len(one.positions) else other
        positions = np.concatenate([one.positions, other.positions])
        order = np.argsort(positions, kind="stable")
        starts = np.flatnonzero(np.diff(positions[order], prepend=-1))
        state = None
        if partial is not None:
            assert one.state is not None
            assert other.state is not None
            arrays = zip(one.state.arrays, other.state.arrays, strict=True)
            both = State(tuple(np.concatenate(pair)[order] for pair in arrays), one.state.values)
            state = partial.monoid.runs(both, starts)
        shards = np.concatenate([one.shards, other.shards])
        return MergedShards(self._shared(positions[order][starts]), shards, starts, state)
