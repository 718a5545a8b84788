"""What streams have done, counted batch by batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gingham.stream.progress import BatchProgress, QueryProgress, StreamProgress
from gingham.stream.work import Answered


class Tally:
    """The progress of the streams of a loop, and of the queries that read them."""

    def __init__(self, streams: Iterable[str]) -> None:
        self._queries: dict[str, QueryProgress] = {}
        # Streams that are joined have the same queries.
        self.streams = {name: StreamProgress(name, queries=self._queries) for name in streams}

    def forget(self, name: str) -> None:
        """Drop the progress of a query that was removed from its stream."""
        self._queries.pop(name, None)

    def matched(self, rows: Mapping[str, int]) -> None:
        """Set in the progress of each query how many rows met its condition."""
        for name, count in rows.items():
            self._query(name).matched = count

    def answered(self, answered: Answered) -> None:
        """Count the answers of queries in their progress, and note why others have none."""
        for name, seconds in answered.seconds.items():
            self._query(name).seconds += seconds
        for name, rows in answered.answers.items():
            query = self._query(name)
            query.windows += rows.num_rows
            query.last_window = rows.last_window
            query.error = None
        for name, error in answered.failed.items():
            self._query(name).error = error.what

    def failed(self, errors: Mapping[str, str]) -> None:
        """Note in the progress of queries why they failed, or why their sink did."""
        for name, error in errors.items():
            self._query(name).error = error

    def waiting(self, queries: Iterable[str], answers: Mapping[str, int]) -> None:
        """Set in the progress of each query how many answers wait for their sink."""
        for name in queries:
            self._query(name).waiting = answers.get(name, 0)

    def batch(self, done: BatchProgress) -> None:
        """Add a micro-batch to the progress of its stream."""
        total = self.streams[done.stream]
        total.batches += 1
        total.rows += done.rows
        total.late += done.late
        total.timeless += done.timeless
        total.last = done

    def _query(self, name: str) -> QueryProgress:
        """The progress of a query, which is empty at first."""
        return self._queries.setdefault(name, QueryProgress(name))
