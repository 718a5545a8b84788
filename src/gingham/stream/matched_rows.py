"""How many rows met the condition of each query, from how many fell into cells and records."""

from __future__ import annotations

import numpy as np

from gingham.core.arrays import Ints
from gingham.plan.condition_cache import ConditionCache
from gingham.plan.forest import Forest
from gingham.plan.forest_records import ForestRecords


class MatchedRows:
    """Counts the rows of a stream that meet each query: by cell in a plan, by query over all.

    Rows are not counted for queries that read overlapping records.
    """

    def __init__(self) -> None:
        self._in_cells: Ints = np.zeros(0, dtype=np.int64)
        self.of_query: dict[str, int] = {}

    def add(self, rows_in_cells: Ints) -> None:
        """Add the rows of a micro-batch: so many fell into each cell of all grids, and record."""
        if len(self._in_cells) != len(rows_in_cells):
            self._in_cells = np.zeros(len(rows_in_cells), dtype=np.int64)
        self._in_cells += rows_in_cells

    def settle(
        self, forest: Forest | None, records: ForestRecords | None, cells: ConditionCache
    ) -> None:
        """Turn rows by cell into rows by query, before a new plan numbers cells anew."""
        numbers = 0 if forest is None else forest.cells if records is None else records.cells
        if forest is None or len(self._in_cells) != numbers:
            return
        for query in forest.queries:
            grid = forest.grid_of(query)
            rows = self._in_cells[grid.offset : grid.offset + grid.cells]
            where = cells.truths(grid, query.where).true
            matching = int(rows[where].sum())
            if records is not None and not grid.by_columns:
                part = records.of(grid)
                weights = part.row_weights(where)
                if weights is not None:
                    rows = self._in_cells[part.offset : part.offset + part.cells]
                    matching += int(rows @ weights.counts) // weights.divisor
            self.of_query[query.name] = self.of_query.get(query.name, 0) + matching
        self._in_cells = np.zeros(0, dtype=np.int64)
