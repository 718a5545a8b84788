"""The codebook: what the numbers and the columns of shards mean, under a plan and earlier ones.

numbers     0 1 2 3   4 5 6   7 8 9 ...
            cells     records of one generation, then those of another
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gingham.core.arrays import Ints
from gingham.plan.forest_records import GridRecords
from gingham.plan.grid import Grid
from gingham.plan.layout import GridLayout


@dataclass(frozen=True)  # no slots: cached properties need a __dict__
class Codebook:
    """What the cell numbers and the columns of stored shards mean.

    Grids are those of one plan. Records may be of several generations, also of earlier plans: each
    was chosen for a grid of the same number, and is read by the conditions that there were.
    """

    grids: tuple[Grid, ...]  # whose cells `__cell` numbers
    keys: tuple[str, ...]  # the expressions behind `__key_0`, ...
    columns: tuple[str, ...]  # the aggregate expressions behind `__partial_0`, ...
    records: tuple[GridRecords, ...] = ()  # whose records `__cell` numbers after the cells

    @cached_property
    def _starts(self) -> tuple[Ints, Ints]:
        """The first number of each grid and of each generation of records, and the grid's place."""
        place = {grid.number: place for place, grid in enumerate(self.grids)}
        starts = [grid.offset for grid in self.grids] + [part.offset for part in self.records]
        places = [*place.values(), *(place[part.grid.number] for part in self.records)]
        return np.array(starts, dtype=np.int64), np.array(places, dtype=np.int64)

    def places(self, numbers: Ints) -> Ints:
        """For shards with these numbers, the place of their grid in `grids`."""
        starts, places = self._starts
        return places[np.searchsorted(starts, numbers, side="right") - 1]

    def records_of(self, grid: Grid) -> tuple[GridRecords, ...]:
        """The records of a grid, of all generations."""
        return tuple(part for part in self.records if part.grid.number == grid.number)

    def layouts(self, grids: Collection[Grid]) -> Iterator[GridLayout]:
        """The ranges of numbers of some grids: cells, and records of all generations."""
        for grid in grids:
            yield grid
            yield from self.records_of(grid)

    def used(self, numbers: Ints) -> Codebook:
        """The same codebook without the records that no shard has, by the numbers of shards."""
        kept = tuple(
            part
            for part in self.records
            if ((numbers >= part.offset) & (numbers < part.offset + part.cells)).any()
        )
        return self if len(kept) == len(self.records) else replace(self, records=kept)

    def carrying(self, other: Codebook) -> Codebook:
        """The same codebook, with records of another one that it does not have yet.

        They are numbered after its own. Those of grids that are gone are left out.
        """
        grids = {grid.number for grid in self.grids}
        known = {part.name for part in self.records}
        carried = [
            part for part in other.records if part.name not in known and part.grid.number in grids
        ]
        if not carried:
            return self
        counts = (column for part in carried for column in part.counts)
        columns = tuple(dict.fromkeys((*self.columns, *counts)))
        return replace(self, columns=columns, records=(*self.records, *self._placed(carried)))

    def _placed(self, carried: Collection[GridRecords]) -> Iterator[GridRecords]:
        """Some records with numbers after all others."""
        last = (*self.grids, *self.records)[-1]
        offset = last.offset + last.cells
        for part in carried:
            yield replace(part, offset=offset)
            offset += part.cells
