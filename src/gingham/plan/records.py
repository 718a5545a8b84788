"""Records in place of cells: what is sent of each fragment, and who is answered from what.

A fragment is all cells of a grid that the same conditions hold in. A block has records of some
partials: fragments go into records, several into one and one into several, and a condition is
answered by records, with weights. A fragment that was not met when that was decided has a record of
its own, so that nothing depends on what was met.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gingham.aggregates import Capability, Partial
from gingham.core.arrays import Bools, Ints
from gingham.plan.forest import Grid


@dataclass(frozen=True, eq=False)  # no slots: what is derived is kept once computed
class Block:
    """Records of one grid; a row of `reducer` without a one is a fragment with its own record."""

    kind: Capability
    partials: frozenset[Partial]
    columns: Mapping[bytes, int]  # sets of cells that conditions ask for
    fragments: Bools  # fragments x columns, met or not
    fragment_of: Ints  # the fragment of each cell; -1 where no condition holds
    met: Bools  # which fragments the data has, as far as was seen
    reducer: Bools  # fragments x records
    numerators: Ints  # records x columns: the weights, times
    denominators: Ints  # of each column

    @property
    def size(self) -> int:
        """How many records there are of the fragments that were met."""
        own = self.met & ~self.reducer.any(axis=1)
        return self.reducer.shape[1] + int(own.sum())

    @property
    def numbers(self) -> int:
        """How many records there may be."""
        return self.reducer.shape[1] + len(self.fragments)

    @cached_property
    def records_of(self) -> tuple[tuple[int, ...], ...]:
        """The records that each fragment goes into."""
        shared = self.reducer.shape[1]
        return tuple(
            tuple(np.flatnonzero(row).tolist()) or (shared + place,)
            for place, row in enumerate(self.reducer)
        )

    def weights(self, wanted: bytes) -> tuple[Ints, int]:
        """How often each record counts for a set of cells, and what to divide by."""
        column = self.columns[wanted]
        divisor = int(self.denominators[column])
        own = self.fragments[:, column] * divisor
        return np.concatenate([self.numerators[:, column], own]), divisor


@dataclass(frozen=True, eq=False)
class GridRecords:
    """The records of one grid, block after block."""

    grid: Grid
    offset: int
    blocks: tuple[Block, ...]
    queries: int  # that are answered from them

    @property
    def size(self) -> int:
        """How many records there are of the fragments that were met."""
        return sum(block.size for block in self.blocks)

    @property
    def gain(self) -> float:
        """The part of the queries that needs no record of its own."""
        return 1 - self.size / self.queries

    @property
    def notice(self) -> str:
        """What is sent of the grid, in a line."""
        blocks = ", ".join(
            f"{int(block.met.sum())} fragments in {block.size} {block.kind} records"
            for block in self.blocks
        )
        return f"{self.grid.over}: {self.queries} queries, {blocks}, gain {self.gain:.0%}"

    @property
    def cells(self) -> int:
        return sum(block.numbers for block in self.blocks)

    @property
    def keys(self) -> tuple[str, ...]:
        return self.grid.keys

    @property
    def tree(self) -> int:
        return self.grid.tree

    def records_of(self, cell: int) -> tuple[int, ...]:
        """The numbers of all records that a cell of the grid goes into."""
        found: list[int] = []
        first = self.offset
        for block in self.blocks:
            fragment = block.fragment_of[cell]
            if fragment >= 0:
                found += [first + record for record in block.records_of[fragment]]
            first += block.numbers
        return tuple(found)

    def weights(self, wanted: Bools, partial: Partial | None) -> tuple[Ints, int]:
        """How often each record counts for a set of cells, and what to divide by.

        Without a partial: records that tell whether there is any row.
        """
        weights, divisor = np.zeros(self.cells, dtype=np.int64), 1
        name, first = wanted.tobytes(), 0
        for block in self.blocks:
            if name in block.columns and (partial is None or partial in block.partials):
                found, divisor = block.weights(name)
                weights[first : first + block.numbers] = found
                return weights, divisor
            first += block.numbers
        assert not wanted.any(), "a set of cells that no block was made for"
        return weights, divisor


@dataclass(frozen=True, eq=False)
class Reduced:
    """The records of all grids of a forest, and the aggregate expressions of each."""

    grids: tuple[GridRecords, ...]
    columns: tuple[str, ...]

    @property
    def cells(self) -> int:
        """How many records there may be, in all grids; numbers are divided by that."""
        return max(1, sum(grid.cells for grid in self.grids))

    @property
    def notices(self) -> tuple[str, ...]:
        return tuple(grid.notice for grid in self.grids)

    def of(self, grid: Grid) -> GridRecords:
        return self._by_offset[grid.offset]

    @cached_property
    def _by_offset(self) -> dict[int, GridRecords]:
        return {records.grid.offset: records for records in self.grids}
