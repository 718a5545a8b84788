"""Records in place of cells: which fragments are sent in which records, and how queries read them.

A fragment is the set of all cells of a grid in which the same conditions hold. A block holds the
records of some partials: a fragment goes into one record or several, a record takes in several
fragments, and a condition is answered from records with weights.

Which fragments occur in the data is seen in a first pass. A fragment that did not occur there has
a record of its own, so that answers never depend on what the first pass saw. Without a first pass
all fragments that cells make are taken to occur.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gingham.aggregates import Capability, Partial
from gingham.core.arrays import Bools, Ints
from gingham.plan.forest import Grid


class Weights(NamedTuple):
    """How often each record counts for a set of cells: `counts` divided by `divisor`."""

    counts: Ints
    divisor: int


@dataclass(frozen=True, eq=False)  # no slots: cached properties need a __dict__
class Block:
    """The records of one grid for partials of one capability.

    Records that fragments share come first. After them every fragment has a number for a record of
    its own; it uses that if its row of `reducer` is empty.
    """

    kind: Capability
    partials: frozenset[Partial]
    columns: Mapping[bytes, int]  # the sets of cells that conditions read, as columns
    fragments: Bools  # fragments x columns, whether they occur in the data or not
    fragment_of: Ints  # the fragment of each cell; -1 where no condition holds
    occupied: Bools  # which fragments occur in the data, as far as was seen
    reducer: Bools  # fragments x shared records
    numerators: Ints  # shared records x columns: weights, times the column's denominator
    denominators: Ints  # of each column

    @property
    def size(self) -> int:
        """The number of records for the fragments that rows were seen in."""
        alone = self.occupied & ~self.reducer.any(axis=1)
        return self.reducer.shape[1] + int(alone.sum())

    @property
    def capacity(self) -> int:
        """The number of records if every fragment occurs: so many numbers are reserved."""
        return self.reducer.shape[1] + len(self.fragments)

    @cached_property
    def records_of(self) -> tuple[tuple[int, ...], ...]:
        """The records that each fragment of the grid goes into."""
        shared = self.reducer.shape[1]
        return tuple(
            tuple(np.flatnonzero(row).tolist()) or (shared + fragment,)
            for fragment, row in enumerate(self.reducer)
        )

    def weights(self, wanted: bytes) -> Weights:
        """The weight of each record in the answer over a set of cells."""
        column = self.columns[wanted]
        divisor = int(self.denominators[column])
        alone = self.fragments[:, column] * divisor
        return Weights(np.concatenate([self.numerators[:, column], alone]), divisor)


@dataclass(frozen=True, eq=False)
class GridRecords:
    """The records of one grid, numbered block after block from `offset` on."""

    grid: Grid
    offset: int
    blocks: tuple[Block, ...]
    queries: int  # the number of queries that are answered from them

    @property
    def size(self) -> int:
        """The number of records of the grid for the fragments that rows were seen in."""
        return sum(block.size for block in self.blocks)

    @property
    def gain(self) -> float:
        """The part of the queries of the grid that needs no record of its own."""
        return 1 - self.size / self.queries

    @property
    def notice(self) -> str:
        """A line for `explain`: how many records are sent for this grid."""
        blocks = ", ".join(
            f"{int(block.occupied.sum())} fragments in {block.size} {block.kind} records"
            for block in self.blocks
        )
        return f"{self.grid.over}: {self.queries} queries, {blocks}, gain {self.gain:.0%}"

    @property
    def cells(self) -> int:
        """The number of record numbers reserved for the grid, like the cells of a `GridLayout`."""
        return sum(block.capacity for block in self.blocks)

    @property
    def keys(self) -> tuple[str, ...]:
        """The group keys of the grid, which its records have too."""
        return self.grid.keys

    @property
    def tree(self) -> int:
        """The number of the tree whose slices the grid's records are of."""
        return self.grid.tree

    def records_of(self, cell: int) -> tuple[int, ...]:
        """The numbers of all records that rows in a cell of the grid go into."""
        numbers: list[int] = []
        first = self.offset
        for block in self.blocks:
            fragment = block.fragment_of[cell]
            if fragment >= 0:
                numbers += [first + record for record in block.records_of[fragment]]
            first += block.capacity
        return tuple(numbers)

    def weights(self, wanted: Bools, partial: Partial | None) -> Weights:
        """The weight of each record of the grid in a partial's answer over a set of cells.

        Without a partial: records that tell whether there is any row.
        """
        counts, divisor = np.zeros(self.cells, dtype=np.int64), 1
        name, first = wanted.tobytes(), 0
        for block in self.blocks:
            if name in block.columns and (partial is None or partial in block.partials):
                of_block, divisor = block.weights(name)
                counts[first : first + block.capacity] = of_block
                return Weights(counts, divisor)
            first += block.capacity
        assert not wanted.any(), "a set of cells that no block was made for"
        return Weights(counts, divisor)


@dataclass(frozen=True, eq=False)
class ForestRecords:
    """The records of all grids of a forest, and the aggregate expressions that each holds."""

    grids: tuple[GridRecords, ...]
    columns: tuple[str, ...]

    @property
    def cells(self) -> int:
        """The number of record numbers reserved in all grids, like the cells of a `Layout`."""
        return max(1, sum(grid.cells for grid in self.grids))

    @property
    def notices(self) -> tuple[str, ...]:
        """A line for `explain` about the records of each grid."""
        return tuple(grid.notice for grid in self.grids)

    def of(self, grid: Grid) -> GridRecords:
        """The records of one grid of the forest."""
        return self._by_offset[grid.offset]

    @cached_property
    def _by_offset(self) -> dict[int, GridRecords]:
        """The records of each grid, by the number of the grid's first cell."""
        return {records.grid.offset: records for records in self.grids}
