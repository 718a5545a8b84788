"""Streams that run: how to watch, stop and await them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming import StreamingQuery

from gingham.core.errors import AnswerError, GinghamError
from gingham.sinks.memory import MemorySink
from gingham.sinks.sink import Sink
from gingham.spark.spark_errors import spark_message
from gingham.stream.loop import Listener, StreamLoop
from gingham.stream.progress import StreamProgress

_LOOK = 0.2  # seconds between two looks at a stream that may be quiet


@dataclass(frozen=True, slots=True)
class RunningStream:
    """A stream that runs: Spark's streaming query, and the loop over its micro-batches."""

    query: StreamingQuery
    loop: StreamLoop


class Running:
    """What `loom.start` and `sketches.start` give: one streaming query for each stream."""

    def __init__(
        self,
        spark: SparkSession,
        streams: Mapping[str, RunningStream],
        sink: Sink,
        listeners: list[Listener],
        idle: int | None = None,
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
        return all(stream.query.isActive for stream in self._streams.values())

    @property
    def streaming(self) -> Mapping[str, StreamingQuery]:
        """Spark's own streaming query of each stream."""
        return {name: stream.query for name, stream in self._streams.items()}

    def progress(self) -> Mapping[str, StreamProgress]:
        """What each running stream has done since it was started."""
        return {name: stream.loop.progress()[name] for name, stream in self._streams.items()}

    def failed(self) -> Mapping[str, GinghamError]:
        """Why queries have no answer for some window, or it waits: each query's last reason."""
        return {name: why for loop in self._loops for name, why in loop.failed.items()}

    def listen(self, listener: Listener) -> None:
        """Call a function with the progress of every micro-batch from now on."""
        self._listeners.append(listener)

    def stop(self) -> None:
        """Stop all streams after the micro-batches that are being processed."""
        self._stopped.set()
        for stream in self._streams.values():
            stream.query.stop()

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait for the end of all streams, which may be an error; True if they ended in time."""
        until = None if timeout is None else time.monotonic() + timeout
        for stream in self._streams.values():
            # Spark takes parts of a second, too, whatever its type says.
            left: Any = None if until is None else max(0.001, until - time.monotonic())
            try:
                ended = stream.query.awaitTermination(left)
            except StreamingQueryException as error:
                self._stopped.set()
                raise self._reason_for_stop(error) from error
            if ended is False:
                return False
        self._stopped.set()
        return True

    def process_all_available(self) -> None:
        """Wait until everything that is in the sources now has been answered; for tests."""
        for stream in self._streams.values():
            try:
                stream.query.processAllAvailable()
            except StreamingQueryException as error:
                raise self._reason_for_stop(error) from error

    def arrow(self, name: str) -> pa.Table:
        """All answers of a query that the memory sink holds."""
        answers = self._sink.arrow(name) if isinstance(self._sink, MemorySink) else None
        if answers is None:
            raise AnswerError(
                f"there is no answer of {name!r} in memory",
                'none yet, or answers go elsewhere than to sink="memory"',
                "running.progress() to see what was answered, running.failed() why not",
            )
        return answers

    def __getitem__(self, name: str) -> DataFrame:
        table = self.arrow(name)
        return self._spark.createDataFrame(table, from_arrow_schema(table.schema))

    @property
    def _loops(self) -> Iterable[StreamLoop]:
        """The loops of the streams, each once: streams that are joined share one."""
        # Streams that are joined have one loop.
        return {id(stream.loop): stream.loop for stream in self._streams.values()}.values()

    def _reason_for_stop(self, error: StreamingQueryException) -> GinghamError:
        """The error that stopped a stream: its loop's, or else what Spark says."""
        for loop in self._loops:
            if loop.error is not None:
                return loop.error
        return AnswerError("the stream stopped", spark_message(error), "a source that can be read")

    def _advance_idle(self, idle: int) -> None:
        """Move the watermark of a quiet stream with the clock on the wall."""
        seen = {
            name: (stream.loop.marks(name), time.monotonic())
            for name, stream in self._streams.items()
        }
        while not self._stopped.wait(_LOOK):
            for name, stream in self._streams.items():
                marks, since = seen[name]
                now = stream.loop.marks(name)
                if now.latest != marks.latest:
                    seen[name] = now, time.monotonic()
                    continue
                quiet = int((time.monotonic() - since) * 1e6)
                query = stream.query
                if quiet > idle and query.isActive and not query.status["isDataAvailable"]:
                    stream.loop.advance(name, marks.watermark + quiet)
