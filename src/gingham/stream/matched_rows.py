"""How many rows met the condition of each query, from how many fell into each cell."""

from __future__ import annotations

import numpy as np

from gingham.core.arrays import Ints
from gingham.plan.condition_cache import ConditionCache
from gingham.plan.forest import Forest


class MatchedRows:
    """Counts the rows of a stream that meet each query: by cell in a plan, by query over all."""

    def __init__(self) -> None:
        self._in_cells: Ints = np.zeros(0, dtype=np.int64)
        self.of_query: dict[str, int] = {}

    def add(self, rows_in_cells: Ints) -> None:
        """Add the rows of a micro-batch: so many fell into each cell of all grids."""
        if len(self._in_cells) != len(rows_in_cells):
            self._in_cells = np.zeros(len(rows_in_cells), dtype=np.int64)
        self._in_cells += rows_in_cells

    def settle(self, forest: Forest | None, cells: ConditionCache) -> None:
        """Turn rows by cell into rows by query, before a new plan numbers cells anew."""
        if forest is None or len(self._in_cells) != forest.cells:
            return
        for query in forest.queries:
            grid = forest.grid_of(query)
            rows = self._in_cells[grid.offset : grid.offset + grid.cells]
            matching = int(rows[cells.truths(grid, query.where).true].sum())
            self.of_query[query.name] = self.of_query.get(query.name, 0) + matching
        self._in_cells = np.zeros(0, dtype=np.int64)
