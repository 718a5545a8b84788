"""What streams have done, counted batch by batch."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace

from gingham.stream.progress import BatchProgress, QueryProgress, StreamProgress
from gingham.stream.work import Answered


class Tally:
    """The progress of the streams of a loop, and of the queries that read them.

    One thread counts; others may ask for the progress at any time.
    """

    def __init__(self, streams: Iterable[str]) -> None:
        self._queries: dict[str, QueryProgress] = {}
        self._streams = {name: StreamProgress(name) for name in streams}
        self._lock = threading.Lock()

    def progress(
        self,
        queries: Iterable[str],
        matched: Mapping[str, int],
        waiting: Mapping[str, int],
        undelivered: Mapping[str, str],
    ) -> dict[str, StreamProgress]:
        """A copy of the progress, with rows that matched, answers that wait, and why they do."""
        with self._lock:
            names = dict.fromkeys((*self._queries, *queries, *waiting))
            copies = {
                name: replace(
                    self._queries.get(name) or QueryProgress(name),
                    matched=matched.get(name, 0),
                    waiting=waiting.get(name, 0),
                )
                for name in names
            }
            for name in undelivered.keys() & copies.keys():
                copies[name].error = undelivered[name]
            # Streams that are joined have the same queries.
            return {name: replace(s, queries=copies) for name, s in self._streams.items()}

    def forget(self, name: str) -> None:
        """Drop the progress of a query that was removed from its stream."""
        with self._lock:
            self._queries.pop(name, None)

    def answered(self, answered: Answered) -> None:
        """Count the answers of queries in their progress, and note why others have none."""
        ends = {name: rows.last_window for name, rows in answered.answers.items()}
        with self._lock:
            for name, seconds in answered.seconds.items():
                self._query(name).seconds += seconds
            for name, rows in answered.answers.items():
                query = self._query(name)
                query.windows += rows.num_rows
                query.last_window = ends[name]
                query.error = None
            for name, error in answered.failed.items():
                self._query(name).error = error.what

    def failed(self, errors: Mapping[str, str]) -> None:
        """Note in the progress of queries why they failed."""
        with self._lock:
            for name, error in errors.items():
                self._query(name).error = error

    def stands_still(self, stream: str, error: str | None) -> None:
        """Note in the progress of an idle stream why its time does not pass; None if it does."""
        with self._lock:
            self._streams[stream].error = error

    def batch(self, done: BatchProgress) -> None:
        """Add a micro-batch to the progress of its stream."""
        with self._lock:
            total = self._streams[done.stream]
            total.batches += 1
            total.rows += done.rows
            total.late += done.late
            total.timeless += done.timeless
            total.ahead += done.ahead
            total.last = done

    def _query(self, name: str) -> QueryProgress:
        """The progress of a query, which is empty at first."""
        return self._queries.setdefault(name, QueryProgress(name))
