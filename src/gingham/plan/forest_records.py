"""Records in place of cells: which fragments are sent in which records, and how queries read them.

A fragment is the set of all cells of a grid in which the same conditions hold. A block holds the
records of some partials: a fragment goes into one record or several, a record takes in several
fragments, and a condition is answered from records with weights.

Which fragments occur in the data is seen in a first pass, or in the batches of a stream so far. A
fragment that did not occur there goes into records that can take it in, or has one of its own, so
that answers never depend on what was seen. Without a first pass all fragments that cells make are
taken to occur.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gingham.aggregates import Capability, Partial
from gingham.core.arrays import Bools, Ints
from gingham.plan.grid import Grid


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
    partials: frozenset[tuple[str, ...]]  # the SQL of the columns of each
    fragments: Bools  # fragments x columns, whether they occur in the data or not
    fragment_of: Ints  # the fragment of each cell; -1 where no condition holds
    occupied: Bools  # which fragments occur in the data, as far as was seen
    reducer: Bools  # fragments x shared records
    numerators: Ints  # shared records x columns: weights, times the column's denominator
    denominators: Ints  # of each column

    @cached_property
    def columns(self) -> Mapping[bytes, int]:
        """The column of each set of cells that conditions read, by the bytes of its flags."""
        # A cell without conditions is in no set: a row of zeros stands for it, the last one.
        rows = np.vstack([self.fragments, np.zeros((1, self.fragments.shape[1]), dtype=bool)])
        cells = rows[self.fragment_of].T
        return {flags.tobytes(): column for column, flags in enumerate(cells)}

    @cached_property
    def alone(self) -> Bools:
        """Which fragments have a record of their own."""
        return np.logical_not(self.reducer.any(axis=1))

    @property
    def size(self) -> int:
        """The number of records for the fragments that rows were seen in."""
        return self.reducer.shape[1] + int((self.occupied & self.alone).sum())

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
        """The weight of each record in the answer over a set of cells, named by its flags."""
        column = self.columns[wanted]
        divisor = int(self.denominators[column])
        alone = self.fragments[:, column] * divisor
        return Weights(np.concatenate([self.numerators[:, column], alone]), divisor)


@dataclass(frozen=True, eq=False)
class GridRecords:
    """The records of one grid, numbered block after block from `offset` on.

    The same `generation` of records of a grid has the same meaning, wherever it is numbered from.
    """

    grid: Grid
    offset: int
    blocks: tuple[Block, ...]
    queries: int  # the number of queries that are answered from them
    counts: tuple[str, ...] = ()  # SQL of counts that are sent beside sums to subtract
    generation: int = 0

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

    @property
    def name(self) -> tuple[int, int]:
        """What the meaning of the records is known by: their generation and the grid's number."""
        return self.generation, self.grid.number

    @cached_property
    def occupied_cells(self) -> Bools:
        """The cells whose fragments have been seen: in all blocks, as a row is sent to each."""
        occupied = np.ones(self.grid.cells, dtype=bool)
        wanted = np.zeros(self.grid.cells, dtype=bool)
        for block in self.blocks:
            occupied &= np.append(block.occupied, True)[block.fragment_of]
            wanted |= block.fragment_of >= 0
        return occupied & wanted

    @cached_property
    def lists(self) -> tuple[Ints, tuple[tuple[int, ...], ...]]:
        """For each cell the place of a list, and lists of records that rows of cells go into."""
        fragments = np.column_stack([block.fragment_of for block in self.blocks])
        different, place = np.unique(fragments, axis=0, return_inverse=True)
        return place.ravel(), tuple(self._records_of(row) for row in different)

    def records_of(self, cell: int) -> tuple[int, ...]:
        """The numbers of all records that rows in a cell of the grid go into."""
        place, lists = self.lists
        return lists[place[cell]]

    def _records_of(self, fragments: Ints) -> tuple[int, ...]:
        """The numbers of the records of a fragment of each block; -1 where there is none."""
        return tuple(
            self.offset + first + record
            for fragment, (first, block) in zip(fragments, self._numbered(), strict=True)
            if fragment >= 0
            for record in block.records_of[fragment]
        )

    def weights(self, wanted: Bools, partial: Partial | None) -> Weights | None:
        """The weight of each record of the grid in a partial's answer over a set of cells.

        Without a partial: records that tell whether there is any row. None if the set is empty, or
        if no query read it when the records were chosen.
        """
        name = wanted.tobytes()
        for first, block in self._numbered():
            if name in block.columns and (partial is None or partial.columns in block.partials):
                return self._placed(block.weights(name), first)
        return None

    def row_weights(self, wanted: Bools) -> Weights | None:
        """The weight of each record in the number of rows in a set of cells.

        None if records overlap, so that rows cannot be counted.
        """
        name = wanted.tobytes()
        for first, block in self._numbered():
            if name in block.columns and block.kind != "idempotent":
                return self._placed(block.weights(name), first)
        return None

    def having_seen(self, numbers: Ints) -> GridRecords:
        """The same records, with fragments noted that were sent as they are, by their numbers."""
        blocks: list[Block] = []
        for first, block in self._numbered():
            fragments = numbers - (self.offset + first + block.reducer.shape[1])
            seen = block.occupied.copy()
            seen[fragments[(fragments >= 0) & (fragments < len(seen))]] = True
            same = np.array_equal(seen, block.occupied)
            blocks.append(block if same else replace(block, occupied=seen))
        same = all(new is old for new, old in zip(blocks, self.blocks, strict=True))
        return self if same else replace(self, blocks=tuple(blocks))

    def _placed(self, weights: Weights, first: int) -> Weights:
        """The weights of a block's records among all records of the grid."""
        counts = np.zeros(self.cells, dtype=np.int64)
        counts[first : first + len(weights.counts)] = weights.counts
        return Weights(counts, weights.divisor)

    def _numbered(self) -> Iterator[tuple[int, Block]]:
        """Each block, and the number of its first record, counted from `offset`."""
        first = 0
        for block in self.blocks:
            yield first, block
            first += block.capacity


@dataclass(frozen=True, eq=False)
class ForestRecords:
    """The records of all grids of a forest that are filled by cells, and what each record holds.

    Numbers below the first grid's offset are those of the forest's cells.
    """

    grids: tuple[GridRecords, ...]
    columns: tuple[str, ...]  # the aggregate expressions: those of the forest, then counts

    @property
    def cells(self) -> int:
        """How many numbers cells and records have together, like the cells of a `Layout`."""
        return self.grids[-1].offset + self.grids[-1].cells

    @property
    def size(self) -> int:
        """The number of records of all grids for the fragments that rows were seen in."""
        return sum(grid.size for grid in self.grids)

    @property
    def notices(self) -> tuple[str, ...]:
        """A line for `explain` about the records of each grid."""
        return tuple(grid.notice for grid in self.grids)

    def of(self, grid: Grid) -> GridRecords:
        """The records of one grid of the forest."""
        return self._by_offset[grid.offset]

    def having_seen(self, numbers: Ints) -> ForestRecords:
        """The same records, with fragments noted that were sent as they are, by their numbers."""
        grids = tuple(grid.having_seen(numbers) for grid in self.grids)
        same = all(new is old for new, old in zip(grids, self.grids, strict=True))
        return self if same else replace(self, grids=grids)

    @cached_property
    def _by_offset(self) -> dict[int, GridRecords]:
        """The records of each grid, by the number of the grid's first cell."""
        return {records.grid.offset: records for records in self.grids}
