"""The loop over micro-batches: a batch is computed, logged, and what it completes is answered.

    batch -> plan -> compute -> log entry | -> state -> answer -> sink -> done -> snapshot

Up to the bar nothing has happened yet: a batch that dies there is read again from the source.
From the bar on the entry decides: a batch that dies there is finished from the log.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from pyspark.sql import DataFrame

from gingham.checkpoint.log import Log, Logged
from gingham.core.errors import GinghamError, SinkError
from gingham.core.stopwatch import Stopwatch
from gingham.sinks.delivery import Delivery
from gingham.stream.clock import Marks
from gingham.stream.entry import Entry
from gingham.stream.progress import BatchProgress, StreamProgress, instant
from gingham.stream.settings import StreamSettings
from gingham.stream.tally import Tally
from gingham.stream.work import Answered, Computed, Work

Listener = Callable[[BatchProgress], object]


class StreamLoop:
    """The loop over the micro-batches of one stream, or of several that are joined."""

    def __init__(
        self,
        streams: Iterable[str],
        work: Work,
        log: Log,
        delivery: Delivery,
        listeners: Iterable[Listener] = (),
        settings: StreamSettings | None = None,
    ) -> None:
        self._work = work
        self._log = log
        self._delivery = delivery
        self._listeners = listeners
        self._settings = settings or StreamSettings()
        self._last = Entry()
        self._snapshot = -1
        self._lock = threading.RLock()  # a listener may ask for the progress
        self._tally = Tally(streams)
        self._failed: dict[str, GinghamError] = {}  # why queries lack an answer of some window
        self._undelivered: dict[str, GinghamError] = {}  # why answers wait for their sink
        self.error: GinghamError | None = None  # what stopped the stream

    @property
    def failed(self) -> Mapping[str, GinghamError]:
        """Why answers of queries are missing or wait for the sink: each query's last reason."""
        return {**self._failed, **self._undelivered}

    def last_batch(self, stream: str) -> int:
        """Spark's number of the last micro-batch in the log; -1 if there is none."""
        return self._last.last_batch(stream)

    def marks(self, stream: str) -> Marks:
        """How far a stream has come: its watermark and its latest event time."""
        return self._last.marks_of(stream)

    def progress(self) -> Mapping[str, StreamProgress]:
        """The progress of each stream: all that was counted since it was started."""
        with self._lock:
            self._tally.matched(self._work.matched())
            self._tally.waiting(self._work.queries, self._delivery.waiting)
            return self._tally.streams

    def recover(self) -> None:
        """Restore the state from snapshot and log, and finish entries not yet delivered."""
        self._work.open()
        snapshot = self._log.newest_snapshot()
        if snapshot is not None:
            self._restore(snapshot, is_snapshot=True)
            self._snapshot = snapshot.number
            self._work.forget(self._last)
        for logged in self._log.entries(after=self._last.number):
            before = self._last
            if not self._restore(logged, is_snapshot=False):
                self._answer(before, Stopwatch())
            # No snapshot here: under the plan of this life cells may have other numbers than under
            # the entry's epoch, by which a snapshot is read.
            self._work.forget(self._last)
        self._note_failed(self._work.set_aside())

    def _restore(self, logged: Logged, *, is_snapshot: bool) -> bool:
        """Restore the state of one log entry or snapshot; gives whether it was finished."""
        self._last = Entry.from_json(logged.about)
        self._work.restore(self._last, logged.table, is_snapshot=is_snapshot)
        done = self._log.finished(logged.number)
        if done is not None:
            self._work.resume(self._last, done)
        return done is not None

    def batch(self, stream: str, rows: DataFrame, number: int) -> None:
        """Process a micro-batch that Spark hands over; one that is in the log is skipped."""
        with self._lock:
            if number > self._last.last_batch(stream):
                try:
                    self._step(stream, rows, number)
                except GinghamError as error:
                    self.error = error
                    raise

    def advance(self, stream: str, watermark: int) -> None:
        """Move the watermark of a stream without rows, and answer the windows it closes."""
        with self._lock:
            marks = self._last.marks_of(stream)
            if self._last.number >= 0 and watermark > marks.watermark:
                self._step(stream, None, self._last.last_batch(stream), watermark)

    def _step(
        self, stream: str, rows: DataFrame | None, batch: int, watermark: int | None = None
    ) -> None:
        """Take one micro-batch through all steps: compute, log, merge, answer, deliver."""
        watch, before = Stopwatch(), self._last
        computed = self._work.compute(stream, rows, before, watch)
        marks = before.marks_of(stream).seen(computed.latest, self._work.delay(stream))
        if watermark is not None:
            marks = replace(marks, watermark=watermark)
        entry = before.next(stream, batch, marks, computed.details)
        self._log.append(entry.number, entry.to_json(), computed.table)
        watch.lap("log")
        self._work.take(entry, computed.table)
        self._last = entry
        watch.lap("merge")
        failed, counts = self._answer(before, watch)
        self._work.forget(entry)
        if entry.number - self._snapshot >= self._settings.snapshot_every:
            self._write_snapshot(entry)
        watch.lap("merge")
        self._report(stream, computed, failed, counts, watch)

    def _answer(self, before: Entry, watch: Stopwatch) -> tuple[dict[str, str], dict[str, int]]:
        """Answer what the last log entry completes, and deliver: failures, rows by query."""
        answered = self._work.answer(before, self._last)
        watch.lap("finals")
        self._forget_removed()
        failed = self._note_failed({**self._work.set_aside(), **answered.failed})
        self._tally.answered(answered)
        failed |= self._deliver(answered)
        watch.lap("sink")
        self._log.finish(self._last.number, answered.done)
        return failed, {name: rows.num_rows for name, rows in answered.answers.items()}

    def _deliver(self, answered: Answered) -> dict[str, str]:
        """Deliver answers to the sink; gives what failed, and notes it for progress."""
        errors = self._delivery.deliver(answered.answers, self._last.number)
        self._undelivered = {name: _undelivered(name, error) for name, error in errors.items()}
        failed = {name: f"its sink failed: {error}" for name, error in errors.items()}
        self._tally.failed(failed)
        return failed

    def _note_failed(self, failed: Mapping[str, GinghamError]) -> dict[str, str]:
        """Note why queries failed, for progress; gives the reasons as texts."""
        self._failed |= failed
        texts = {name: str(error) for name, error in failed.items()}
        self._tally.failed(texts)
        return texts

    def _forget_removed(self) -> None:
        """Drop waiting answers, progress and errors of queries that were removed."""
        unwanted = self._delivery.waiting.keys() - set(self._work.registered)
        for name in {*self._work.removed(), *unwanted}:
            self._delivery.forget(name)
            self._tally.forget(name)
            self._failed.pop(name, None)
            self._undelivered.pop(name, None)

    def _write_snapshot(self, entry: Entry) -> None:
        """Replace older entries of the log by a snapshot of the state."""
        snapshot = self._work.snapshot(entry)
        about = replace(entry, details=snapshot.details).to_json()
        self._log.snapshot(entry.number, about, snapshot.table, snapshot.epochs)
        self._work.snapshot_written(snapshot)
        self._snapshot = entry.number

    def _report(
        self,
        stream: str,
        computed: Computed,
        failed: Mapping[str, str],
        counts: Mapping[str, int],
        watch: Stopwatch,
    ) -> None:
        """Add the micro-batch to the progress, and call the listeners."""
        entry, marks = self._last, self._last.marks_of(stream)
        done = BatchProgress(
            stream=stream,
            number=entry.number,
            batch=entry.last_batch(stream),
            epoch=self._work.epoch,
            queries=len(self._work.queries),
            rows=computed.rows,
            late=computed.late,
            timeless=computed.timeless,
            shards=computed.table.num_rows,
            state=self._work.size,
            watermark=instant(marks.watermark),
            latest=instant(marks.latest),
            answered=dict(counts),
            failed=dict(failed),
            seconds=dict(watch.laps),
        )
        self._tally.batch(done)
        for listener in tuple(self._listeners):
            listener(done)


def _undelivered(name: str, error: Exception) -> SinkError:
    """The error of a query whose sink failed, so that its answers wait in the checkpoint."""
    return SinkError(
        f"query {name!r}: its sink failed",
        str(error),
        "a sink that takes answers: they wait in the checkpoint, and every batch tries again",
    )
