"""Records read as if they were shards: answers are rebuilt where they are asked for."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from gingham.aggregates import Partial, State
from gingham.aggregates.counts import ADD_INTEGERS, counted
from gingham.core.arrays import Array, Bools, Ints
from gingham.finals.shards import GridShards, Rolled, ShardTable, located
from gingham.plan.forest import Forest, Grid
from gingham.plan.layout import Layout, Numbers
from gingham.plan.records import GridRecords, Reduced
from gingham.plan.slices import Slices

ROWS = counted("*")
_LONGEST = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Read:
    """What Spark collects: the shards of a forest, or records that they are reduced to."""

    forest: Forest
    reduced: Reduced | None = None

    @property
    def layout(self) -> Layout:
        return self.forest if self.reduced is None else self.reduced

    def numbers(self, grid: Grid) -> Numbers:
        """How what belongs to a grid is numbered."""
        return grid if self.reduced is None else self.reduced.of(grid)

    def table(self, collected: pa.Table, slices: Mapping[int, Slices]) -> ShardTable:
        """What was collected, to be answered from."""
        found = located(collected, self.layout, slices)
        if self.reduced is None:
            return ShardTable(found, self.forest)
        return RecordTable(found, self.forest, self.reduced)


class RecordTable(ShardTable):
    """Records of a forest in place of its shards."""

    def __init__(self, table: pa.Table, forest: Forest, reduced: Reduced) -> None:
        super().__init__(table, forest)
        self.reduced = reduced

    @property
    def columns(self) -> tuple[str, ...]:
        return self.reduced.columns

    def _select(self, grid: Grid) -> GridShards:
        records = self.reduced.of(grid)
        return self._sorted(records, functools.partial(_Rebuilt, records=records))


@dataclass
class _Rebuilt(GridShards):
    """Records of one grid; `cells` are their numbers."""

    records: GridRecords

    def _roll_up(self, wanted: Bools, partial: Partial | None) -> Rolled:
        weights, divisor = self.records.weights(wanted, partial)
        if divisor == 1 and ((weights == 0) | (weights == 1)).all():
            # Nothing has to be taken out again: the condition's rows are these records.
            shape = self._shape(weights == 1)
            return shape if partial is None else self._merged(shape, partial)
        return self._combined(weights, divisor, partial)

    def _combined(self, weights: Ints, divisor: int, partial: Partial | None) -> Rolled:
        """Sums and differences of linear records."""
        shape = self._shape(weights != 0)
        if not len(shape.places):
            return shape
        if partial is None:
            # Records may be there of which nothing is left for this condition.
            some = self._total(ROWS, shape, weights, divisor) > 0
            return Rolled(self._shared(shape.places[some]), shape.kept, shape.first, None)
        values = self._total(partial, shape, weights, divisor)
        seen = np.ones(len(values), dtype=bool)
        if partial.witness is not None:
            witness = Partial((partial.witness,), ADD_INTEGERS)
            seen = self._total(witness, shape, weights, divisor) > 0
        return Rolled(shape.places, shape.kept, shape.first, State((values, seen)))

    def _total(self, partial: Partial, shape: Rolled, weights: Ints, divisor: int) -> Array:
        values = self.state(partial).arrays[0][shape.kept]
        times = weights[self.cells[shape.kept]]
        largest = max(abs(int(values.max())), abs(int(values.min())))
        if largest * int(np.abs(weights).sum()) > _LONGEST:
            values = values.astype(object)
        weighted = values * times.reshape(-1, *(1,) * (values.ndim - 1))
        return np.add.reduceat(weighted, shape.first) // divisor
