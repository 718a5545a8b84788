"""Streams that run: how to watch, stop and await them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from gingham.core.errors import AnswerError, GinghamError, SinkError
from gingham.sinks.memory import MemorySink
from gingham.sinks.sink import Sink
from gingham.spark.spark_errors import SPARK_ERRORS, stopped_stream
from gingham.spark.to_dataframe import to_dataframe
from gingham.stream.loop import Listener, StreamLoop
from gingham.stream.progress import StreamProgress
from gingham.stream.settings import StreamSettings

_LOOK = 0.2  # seconds between two looks at a stream that may be quiet, or at answers that wait
_LEFT_BEHIND = 2.0  # seconds in which a stream ends whose sink was left behind
_LEASE = 1.0  # seconds between two looks at the lease of the checkpoint


@dataclass(frozen=True, slots=True)
class RunningStream:
    """A stream that runs: Spark's streaming query, and the loop over its micro-batches."""

    name: str
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
        settings: StreamSettings | None = None,
    ) -> None:
        self._spark = spark
        self._streams = streams
        self._sink = sink
        self._listeners = listeners
        self._settings = settings or StreamSettings()
        self._over = threading.Event()  # nothing more is delivered, and no idle stream moves
        self._ended: float | None = None  # when all streams were seen to have ended
        calls: list[Callable[[], None]] = [partial(self._redeliver, loop) for loop in self._loops]
        calls.append(self._watch_lease)
        if idle is not None:
            calls += [partial(self._advance_idle, name, idle) for name in streams]
        self._threads = [threading.Thread(target=_help, args=(c,), daemon=True) for c in calls]
        for thread in self._threads:
            thread.start()

    @property
    def is_active(self) -> bool:
        """Whether every stream is still running."""
        return all(stream.query.isActive for stream in self._streams.values())

    @property
    def has_ended(self) -> bool:
        """Whether no stream is running any more."""
        return not any(stream.query.isActive for stream in self._streams.values())

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

    def undelivered(self) -> Mapping[str, int]:
        """How many answers of queries wait for their sink; `failed` tells why."""
        return {name: count for loop in self._loops for name, count in loop.waiting.items()}

    def listen(self, listener: Listener) -> None:
        """Call a function with the progress of every micro-batch from now on."""
        self._listeners.append(listener)

    def stop(self) -> None:
        """Stop all streams after the micro-batches that are being processed.

        A sink that does not return within `StreamSettings.stop_patience` seconds is left behind:
        what it was given is delivered again, under the same number, after the next start.
        """
        self._over.set()
        stop_streams(self._all, self._settings.stop_patience, self._threads)

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait for the end of all streams; True if they ended in time and all is delivered.

        Raises as soon as one of the streams ends with an error. If answers still wait for their
        sink `StreamSettings.end_patience` seconds after the end, a SinkError says how many.
        """
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            self._raise_any_error()
            if self.has_ended and self._is_settled():
                self._raise_undelivered()
                return True
            left = _LOOK if until is None else min(_LOOK, until - time.monotonic())
            if left <= 0:
                return False
            self._wait(left)

    def process_all_available(self) -> None:
        """Wait until everything that is in the sources now has been answered; for tests."""
        for stream in self._streams.values():
            try:
                stream.query.processAllAvailable()
            except StreamingQueryException as error:
                raise _reason_for_stop(stream, error) from error
            if stream.loop.error is not None:
                raise _reason_for_stop(stream, stream.loop.error)

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
        return to_dataframe(self._spark, table)

    @property
    def _all(self) -> Iterable[RunningStream]:
        """All streams, whatever their names."""
        return self._streams.values()

    @property
    def _loops(self) -> Iterable[StreamLoop]:
        """The loops of the streams, each once: streams that are joined share one."""
        return _loops_of(self._all)

    def _watch_lease(self) -> None:
        """Stop streams without rows, too, once another start has taken over their checkpoint."""
        # Spark would write to its own folder before the next batch comes to a loop.
        while not self._over.wait(_LEASE):
            for stream in self._streams.values():
                with suppress(OSError):  # a store that does not answer for a moment
                    lost = stream.loop.lost
                    if lost is not None and stream.query.isActive:
                        stream.loop.error = stream.loop.error or lost
                        stream.query.stop()

    def _wait(self, seconds: float) -> None:
        """Wait for a moment, or until some stream ends."""
        running = next((s.query for s in self._all if s.query.isActive), None)
        if running is None:
            time.sleep(min(seconds, _LOOK / 4))
            return
        # Spark takes parts of a second, too, whatever its type says.
        left: Any = max(0.001, seconds)
        # What it raises is looked at together with the errors of all streams.
        with suppress(StreamingQueryException):
            running.awaitTermination(left)

    def _raise_any_error(self) -> None:
        """Raise the error of a stream that has ended with one."""
        for stream in self._all:
            if not stream.query.isActive:
                error = stream.query.exception()
                if error is not None or stream.loop.error is not None:
                    raise _reason_for_stop(stream, error) from error

    def _is_settled(self) -> bool:
        """Whether nothing more will be delivered after the end of all streams."""
        if self._ended is None:
            self._ended = time.monotonic()
        if self.undelivered() and not self._over.is_set():
            return time.monotonic() > self._ended + self._settings.end_patience
        self._over.set()
        return True

    def _raise_undelivered(self) -> None:
        """Raise if answers wait for their sink although all streams have ended."""
        self._over.set()
        waiting, failed = self.undelivered(), self.failed()
        if waiting:
            counts = ", ".join(f"{count} of {name!r}" for name, count in waiting.items())
            raise SinkError(
                f"answers are not delivered: {counts}",
                "; ".join(sorted({failed[name].why for name in waiting if name in failed})),
                "a sink that takes them, and loom.start(...) with the same checkpoint, where they "
                "wait",
            )

    def _redeliver(self, loop: StreamLoop) -> None:
        """Deliver answers that wait for their sink: at once after the start, then ever rarer."""
        settings, pause, due = self._settings, 0.0, 0.0
        while True:
            if loop.waiting and time.monotonic() >= due:
                try:
                    delivered = loop.redeliver()
                except SinkError:
                    return  # the sink was left behind
                longer = min(2 * pause, settings.retry_at_most) if pause else settings.retry_after
                pause = 0.0 if delivered else longer
                if self.has_ended:
                    pause = min(pause, _LOOK)
                due = time.monotonic() + pause
            if self._over.wait(_LOOK):
                return
            if self.has_ended:
                due = min(due, time.monotonic() + _LOOK)
                if self._is_settled():
                    return

    def _advance_idle(self, name: str, idle: int) -> None:
        """Move the watermark of a quiet stream with the clock on the wall."""
        stream = self._streams[name]
        loop, query = stream.loop, stream.query
        batch, marks, since = loop.last_batch(name), loop.marks(name), time.monotonic()
        while not self._over.wait(_LOOK) and query.isActive:
            if loop.last_batch(name) != batch:
                batch, marks, since = loop.last_batch(name), loop.marks(name), time.monotonic()
                continue
            quiet = int((time.monotonic() - since) * 1e6)
            if quiet <= idle or query.status["isDataAvailable"]:
                continue
            try:
                loop.advance(name, marks.watermark + quiet, batch)
            except Exception as error:  # noqa: BLE001  it is told, and time goes on
                loop.stands_still(name, error)
                if loop.error is not None:
                    _stop(stream)
            else:
                loop.stands_still(name, None)


def stop_streams(
    streams: Iterable[RunningStream], patience: float, helpers: Iterable[threading.Thread] = ()
) -> None:
    """Stop streams and the threads that help them, and leave behind a sink that does not return."""
    until = time.monotonic() + patience
    stops = [threading.Thread(target=_stop, args=(s,), daemon=True) for s in streams]
    for thread in stops:
        thread.start()
    for thread in (*stops, *helpers):
        if thread is not threading.current_thread():  # a listener may stop what it listens to
            thread.join(max(0.0, until - time.monotonic()))
    for loop in _loops_of(streams):
        loop.abandon()
    until = time.monotonic() + _LEFT_BEHIND
    for thread in stops:
        thread.join(max(0.0, until - time.monotonic()))


def _stop(stream: RunningStream) -> None:
    """Stop Spark's streaming query, which waits for the micro-batch that is processed."""
    try:
        stream.query.stop()
    except SPARK_ERRORS as error:
        stream.loop.stands_still(stream.name, error)


def _loops_of(streams: Iterable[RunningStream]) -> Iterable[StreamLoop]:
    """The loops of streams, each once: streams that are joined share one."""
    return {id(stream.loop): stream.loop for stream in streams}.values()


def _help(call: Callable[[], None]) -> None:
    """Run what a thread does beside the streams, as long as Spark is there."""
    with suppress(Py4JError, ConnectionError):
        call()


def _reason_for_stop(stream: RunningStream, error: Exception | None) -> GinghamError:
    """The error that stopped a stream: its loop's, or else what Spark says."""
    # What else goes wrong follows from it: jobs are interrupted, Spark finds files of the other.
    with suppress(OSError):
        if (lost := stream.loop.lost) is not None:
            return lost
    if stream.loop.error is not None:
        return stream.loop.error
    assert error is not None  # one of the two stopped it
    return stopped_stream(error)
