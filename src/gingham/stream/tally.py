"""What a stream has done, counted as it goes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from gingham.plan.cells import Cells
from gingham.plan.forest import Forest
from gingham.sinks.answer import last_window
from gingham.stream.due_answers import Finals
from gingham.stream.progress import BatchProgress, QueryProgress, StreamProgress


class Tally:
    """The progress of a stream and of its queries."""

    def __init__(self, stream: str) -> None:
        self.progress = StreamProgress(stream)
        self._matched = np.zeros(0, dtype=np.int64)  # rows in each cell, of all queries' grids

    def query(self, name: str) -> QueryProgress:
        return self.progress.queries.setdefault(name, QueryProgress(name))

    def forget(self, name: str) -> None:
        self.progress.queries.pop(name, None)

    def rows(self, cells: np.ndarray) -> None:
        """Rows came, so many into each cell."""
        if len(self._matched) != len(cells):
            self._matched = np.zeros(len(cells), dtype=np.int64)
        self._matched += cells

    def flush(self, forest: Forest | None, cells: Cells) -> None:
        """Turn rows per cell into rows per query: cells mean something else after this."""
        if forest is None or len(self._matched) != forest.cells:
            return
        for query in forest.queries:
            grid = forest.grid_of(query)
            rows = self._matched[grid.offset : grid.offset + grid.cells]
            self.query(query.name).matched += int(rows[cells.of(grid, query.where).true].sum())
        self._matched = np.zeros(0, dtype=np.int64)

    def answered(self, finals: Finals) -> None:
        """Queries were answered, or failed."""
        for name, seconds in finals.seconds.items():
            self.query(name).seconds += seconds
        for name, found in finals.answers.items():
            query = self.query(name)
            query.windows += found.num_rows
            query.last_window = last_window(found)
            query.error = None
        for name, error in finals.failed.items():
            self.query(name).error = error.what

    def waiting(self, queries: Iterable[str], answers: Mapping[str, int]) -> None:
        """So many answers wait for their sink."""
        for name in queries:
            self.query(name).waiting = answers.get(name, 0)

    def batch(self, done: BatchProgress) -> None:
        """A batch is done."""
        total = self.progress
        total.batches += 1
        total.rows += done.rows
        total.late += done.late
        total.timeless += done.timeless
        total.last = done
