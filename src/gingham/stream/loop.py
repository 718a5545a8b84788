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
from gingham.checkpoint.spark_source import SparkSource
from gingham.core.errors import AnswerError, CheckpointError, GinghamError, SinkError
from gingham.core.full_disk import full_disk
from gingham.core.secrets import without_secrets
from gingham.core.stopwatch import Stopwatch
from gingham.core.time import NEVER
from gingham.sinks.delivery import Delivery
from gingham.spark.spark_errors import stopped_stream
from gingham.stream.clock import Marks
from gingham.stream.entry import Entry
from gingham.stream.progress import BatchProgress, StreamProgress, instant
from gingham.stream.settings import StreamSettings
from gingham.stream.tally import Tally
from gingham.stream.work import Answered, Computed, Work

Listener = Callable[[BatchProgress], object]

# What an entry holds besides: checksums of Spark's files, by stream; and, once it is finished,
# what `Work.resume` needs, and the files of answers that wait for their sinks.
SOURCE, WORK, PENDING = "source", "work", "pending"


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
        sources: Mapping[str, SparkSource] | None = None,
    ) -> None:
        self._work = work
        self._log = log
        self._delivery = delivery
        self._listeners = listeners
        self._settings = settings or StreamSettings()
        self._sources = sources or {}  # what Spark keeps of each stream
        self._checksums: dict[str, dict[str, int]] = {}  # of Spark's files, by stream
        self._last = Entry()
        self._snapshot = -1
        self._lock = threading.Lock()  # one micro-batch at a time
        self._tally = Tally(streams)
        self._failed: dict[str, GinghamError] = {}  # why queries lack an answer of some window
        self.error: GinghamError | None = None  # what stopped the stream

    @property
    def failed(self) -> Mapping[str, GinghamError]:
        """Why answers of queries are missing or wait for the sink: each query's last reason."""
        waiting = self._delivery.waiting
        errors = self._delivery.errors
        undelivered = {name: _undelivered(name, errors.get(name)) for name in waiting}
        return {**self._failed, **undelivered}

    @property
    def waiting(self) -> Mapping[str, int]:
        """How many answers of each query wait for the sink to take them."""
        return self._delivery.waiting

    @property
    def lost(self) -> GinghamError | None:
        """Why this loop may not write any more, if another start has taken over its checkpoint."""
        lease = self._log.lease
        return None if lease.is_held else lease.lost()

    def last_batch(self, stream: str) -> int:
        """Spark's number of the last micro-batch in the log; -1 if there is none."""
        return self._last.last_batch(stream)

    def marks(self, stream: str) -> Marks:
        """How far a stream has come: its watermark and its latest event time."""
        return self._last.marks_of(stream)

    def progress(self) -> Mapping[str, StreamProgress]:
        """The progress of each stream: all that was counted since it was started."""
        # Without the lock, which is held as long as a sink does not return.
        waiting, errors = self._delivery.waiting, self._delivery.errors
        return self._tally.progress(
            tuple(self._work.queries),
            self._work.matched(),
            waiting,
            {name: _sink_failed(errors.get(name)) for name in waiting},
        )

    def redeliver(self) -> bool:
        """Try to deliver answers that wait, between batches; gives whether the sink took one."""
        return self._delivery.redeliver()

    def abandon(self) -> None:
        """Leave a sink behind that does not return, and end this loop: nothing more is written.

        What the sink has not taken is not marked as delivered, so it is delivered after a restart.
        """
        hanging = self._delivery.current
        if hanging is not None:
            self._failed[hanging] = SinkError(
                f"query {hanging!r}: its sink did not return",
                "the streams were stopped meanwhile",
                "loom.start(...) with the same checkpoint delivers the answer again",
            )
        self._delivery.abandon()

    def stands_still(self, stream: str, error: Exception | None) -> None:
        """Note why the time of an idle stream does not pass, for progress; None if it does."""
        self._tally.stands_still(stream, None if error is None else str(error))

    def recover(self) -> None:
        """Restore the state from snapshot and log, and finish the entry not yet delivered."""
        self._work.open()
        before, done, pending = self._last, True, list[str]()
        for logged in self._log.recover():
            before = self._last
            done = self._restore(logged)
            if logged.is_snapshot:
                self._snapshot = logged.number
            if logged.done is not None:
                self._work.forget(self._last)
                pending = logged.done[PENDING]
        self._delivery.restore(pending)
        self._work.check_restored()
        for stream, source in self._sources.items():
            source.check(self._last.last_batch(stream), self._checksums.get(stream, {}))
        if not done:
            self._answer(before, Stopwatch())
            # No snapshot here: under the plan of this life cells may have other numbers than under
            # the entry's epoch, by which a snapshot is read.
            self._work.forget(self._last)
        self._note_failed(self._work.set_aside())

    def _restore(self, logged: Logged) -> bool:
        """Restore the state of one log entry or snapshot; gives whether it was finished."""
        self._last = Entry.from_json(logged.about)
        for stream, checksums in logged.about[SOURCE].items():
            self._checksums.setdefault(stream, {}).update(checksums)
        self._work.restore(self._last, logged.table, is_snapshot=logged.is_snapshot)
        if logged.done is not None:
            self._work.resume(self._last, logged.done[WORK])
        return logged.done is not None

    def batch(self, stream: str, rows: DataFrame, number: int) -> None:
        """Process a micro-batch that Spark hands over; one that is in the log is skipped."""
        with self._lock:
            self._refuse_broken()
            if number > self._last.last_batch(stream):
                try:
                    self._step(stream, rows, number)
                except BaseException as error:
                    self.error = _reason_for_stop(error)
                    if isinstance(error, Exception):
                        raise
                    # Spark waits for ever for a function that ends in this way.
                    raise self.error from error

    def advance(self, stream: str, watermark: int, batch: int) -> None:
        """Move the watermark of a stream without rows, and answer the windows it closes.

        Nothing happens if the stream is not where it was after `batch`. If an error is raised,
        this may be tried again, unless `error` says that the loop has ended.
        """
        with self._lock:
            self._refuse_broken()
            marks, last = self._last.marks_of(stream), self._last
            if last.last_batch(stream) != batch or not NEVER < marks.watermark < watermark:
                return
            try:
                self._step(stream, None, batch, watermark)
            except BaseException as error:
                if self._last is not last or not isinstance(error, Exception):
                    self.error = _reason_for_stop(error)
                raise

    def _refuse_broken(self) -> None:
        """Raise if an earlier step failed after its log entry: only a restart can finish it."""
        if self.error is not None:
            raise self.error

    def _step(
        self, stream: str, rows: DataFrame | None, batch: int, watermark: int | None = None
    ) -> None:
        """Take one micro-batch through all steps: compute, log, merge, answer, deliver."""
        watch, before = Stopwatch(), self._last
        self._log.lease.check()
        computed = self._work.compute(stream, rows, before, watch, watermark)
        delay = self._work.delay(stream)
        marks = before.marks_of(stream).after(computed.latest, delay, watermark)
        entry = before.next(stream, batch, marks, computed.details)
        found = self._spark_files(stream, batch) if rows is not None else {}
        about = {**entry.to_json(), SOURCE: {stream: found}}
        self._log.append(entry.number, about, computed.table)
        self._last = entry
        watch.lap("log")
        self._work.take(entry, computed.table)
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
        self._tally.answered(answered)
        failed = self._note_failed({**self._work.set_aside(), **answered.failed})
        failed |= self._deliver(answered)
        watch.lap("sink")
        pending = self._delivery.pending
        self._log.finish({WORK: dict(answered.done), PENDING: pending})
        self._delivery.settle(pending)
        return failed, {name: rows.num_rows for name, rows in answered.answers.items()}

    def _deliver(self, answered: Answered) -> dict[str, str]:
        """Deliver answers to the sink; gives which of them wait now, and why."""
        waiting = self._delivery.deliver(answered.answers, self._last.number)
        return {name: _sink_failed(error) for name, error in waiting.items()}

    def _note_failed(self, failed: Mapping[str, GinghamError]) -> dict[str, str]:
        """Note why queries failed, for progress; gives the reasons as texts."""
        self._failed |= failed
        texts = {name: str(error) for name, error in failed.items()}
        self._tally.failed(texts)
        return texts

    def _forget_removed(self) -> None:
        """Drop waiting answers, progress and errors of queries that were removed."""
        unwanted = (self.waiting.keys() | self._failed.keys()) - set(self._work.registered)
        for name in {*self._work.removed(), *unwanted}:
            self._delivery.forget(name)
            self._tally.forget(name)
            self._failed.pop(name, None)

    def _write_snapshot(self, entry: Entry) -> None:
        """Replace older entries of the log by a snapshot of the state."""
        snapshot = self._work.snapshot(entry)
        self._checksums = {
            stream: self._sources[stream].still_there(found) if stream in self._sources else found
            for stream, found in self._checksums.items()
        }
        about = {
            **replace(entry, details=snapshot.details).to_json(),
            SOURCE: self._checksums,
        }
        self._log.snapshot(about, snapshot.table, snapshot.epochs)
        self._work.snapshot_written(snapshot)
        self._snapshot = entry.number

    def _spark_files(self, stream: str, batch: int) -> dict[str, int]:
        """The checksums of what Spark has written about a micro-batch of a stream."""
        source = self._sources.get(stream)
        found = source.of_batch(batch) if source is not None else {}
        self._checksums.setdefault(stream, {}).update(found)
        return found

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
            ahead=computed.ahead,
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


def _undelivered(name: str, error: BaseException | None) -> SinkError:
    """The error of a query whose sink failed, so that its answers wait in the checkpoint."""
    full = None if error is None else full_disk(error)
    return SinkError(
        f"query {name!r}: its sink failed" + (f", because {full} is full" if full else ""),
        "before the last restart" if error is None else _text(error),
        "a sink that takes answers: they wait in the checkpoint, and are tried again and again",
    )


def _sink_failed(error: BaseException | None) -> str:
    """Why answers of a query wait, as progress tells it."""
    return "its sink failed: " + ("before the last restart" if error is None else _text(error))


def _text(error: BaseException) -> str:
    """The message of an error that a user's code raised; its kind if there is no message."""
    kind, text = type(error).__name__, without_secrets(str(error))
    if isinstance(error, Exception):
        return text or kind
    return f"{kind}: {text}" if text else kind


def _reason_for_stop(error: BaseException) -> GinghamError:
    """The error that stops a stream, in three parts."""
    match error:
        case GinghamError():
            return error
        case OSError():
            full = full_disk(error)
            return CheckpointError(
                "a batch could not be finished" + (f": {full} is full" if full else ""),
                without_secrets(str(error)),
                "a checkpoint that can be written; loom.start(...) goes on from there",
            )
        case Exception():
            return stopped_stream(error)
        case _:
            return AnswerError(
                f"a batch was ended by {type(error).__name__}",
                _text(error),
                "listeners that return, or raise exceptions",
            )
