"""Streams that run: how to watch, stop and await them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pyarrow as pa
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming import StreamingQuery

from gingham.core.errors import AnswerError, GinghamError
from gingham.sinks.sinks import MemorySink, Sink
from gingham.spark.failures import spark_says
from gingham.stream.epoch import Epoch
from gingham.stream.loop import Listener, StreamLoop
from gingham.stream.progress import StreamProgress

_LOOK = 0.2  # seconds between two looks at a stream that may be quiet


class Running:
    """What `loom.start` gives: one streaming query for each stream."""

    def __init__(
        self,
        spark: SparkSession,
        streams: Mapping[str, tuple[StreamingQuery, StreamLoop]],
        sink: Sink,
        listeners: list[Listener],
        idle: int | None,
    ) -> None:
        self._spark = spark
        self._streams = streams
        self._sink = sink
        self._listeners = listeners
        self._stopped = threading.Event()
        if idle is not None:
            threading.Thread(target=self._advance_idle, args=(idle,), daemon=True).start()

    @property
    def is_active(self) -> bool:
        """Whether every stream is still running."""
        return all(query.isActive for query, _ in self._streams.values())

    @property
    def streaming(self) -> Mapping[str, StreamingQuery]:
        """Spark's own handle of each stream."""
        return {name: query for name, (query, _) in self._streams.items()}

    @property
    def epochs(self) -> Mapping[str, Epoch]:
        """What each stream ran in its last batch."""
        return {name: loop.epoch for name, (_, loop) in self._streams.items()}

    def progress(self) -> Mapping[str, StreamProgress]:
        """What each stream has done since it was started."""
        return {name: loop.current() for name, (_, loop) in self._streams.items()}

    def listen(self, listener: Listener) -> None:
        """Call a function after every batch, with what it did."""
        self._listeners.append(listener)

    def stop(self) -> None:
        """Stop after the batches that are being worked on."""
        self._stopped.set()
        for query, _ in self._streams.values():
            query.stop()

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait for the end of all streams, which may be an error; True if they ended in time."""
        until = None if timeout is None else time.monotonic() + timeout
        for query, _ in self._streams.values():
            # Spark takes parts of a second, too, whatever its type says.
            left: Any = None if until is None else max(0.001, until - time.monotonic())
            try:
                ended = query.awaitTermination(left)
            except StreamingQueryException as error:
                self._stopped.set()
                raise self._why(error) from error
            if ended is False:
                return False
        self._stopped.set()
        return True

    def process_all_available(self) -> None:
        """Wait until everything that is in the sources now has been answered; for tests."""
        process_all(self.streaming.values(), self._why)

    def arrow(self, name: str) -> pa.Table:
        """All answers of a query that the memory sink holds."""
        return in_memory(self._sink, name, "running.progress() to see what was answered")

    def __getitem__(self, name: str) -> DataFrame:
        table = self.arrow(name)
        return self._spark.createDataFrame(table, from_arrow_schema(table.schema))

    def _why(self, error: StreamingQueryException) -> GinghamError:
        for _, loop in self._streams.values():
            if loop.error is not None:
                return loop.error
        return AnswerError("the stream stopped", spark_says(error), "a source that can be read")

    def _advance_idle(self, idle: int) -> None:
        """Let the watermark of a quiet stream follow the clock on the wall."""
        seen = {name: (loop.marks, time.monotonic()) for name, (_, loop) in self._streams.items()}
        while not self._stopped.wait(_LOOK):
            for name, (query, loop) in self._streams.items():
                latest, since = seen[name]
                if loop.marks.latest != latest.latest:
                    seen[name] = loop.marks, time.monotonic()
                    continue
                quiet = int((time.monotonic() - since) * 1e6)
                if quiet > idle and query.isActive and not query.status["isDataAvailable"]:
                    loop.advance(latest.watermark + quiet)


def process_all(
    queries: Iterable[StreamingQuery], why: Callable[[StreamingQueryException], GinghamError]
) -> None:
    """Wait until everything that is in the sources now has been processed."""
    for query in queries:
        try:
            query.processAllAvailable()
        except StreamingQueryException as error:
            raise why(error) from error


def in_memory(sink: Sink, name: str, instead: str) -> pa.Table:
    """All answers of a query that the memory sink holds."""
    found = sink.arrow(name) if isinstance(sink, MemorySink) else None
    if found is None:
        raise AnswerError(
            f"there is no answer of {name!r} in memory",
            'none yet, or answers go elsewhere than to sink="memory"',
            instead,
        )
    return found
