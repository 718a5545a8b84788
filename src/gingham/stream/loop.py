"""One stream: a batch comes, its shards are logged, what they close is answered.

    batch -> plan -> shards -> log entry | -> state -> finals -> sink -> done -> snapshot

Up to the bar nothing has happened yet: a batch that dies there is read again from the source.
From the bar on the entry decides: a batch that dies there is finished from the log.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from gingham.core.arrays import Ints
from gingham.core.errors import GinghamError
from gingham.core.stopwatch import Stopwatch
from gingham.core.time import NEVER
from gingham.finals.recode import recode
from gingham.finals.shards import no_shards
from gingham.plan.cells import Cells
from gingham.plan.fold import fold
from gingham.plan.forest import Forest
from gingham.sinks.delivery import Delivery
from gingham.spark.failures import SPARK_ERRORS, failed_job
from gingham.stream.batch import FEW_ROWS, Batch, TooManyShardsError, collect
from gingham.stream.clock import Marks, may_close
from gingham.stream.due_answers import Asked, Finals
from gingham.stream.epoch import NO_EPOCH, Epoch
from gingham.stream.executor_shards import FarShards
from gingham.stream.log import START, Entry, Log
from gingham.stream.planner import Job, Planner
from gingham.stream.progress import BatchProgress, StreamProgress, instant
from gingham.stream.state import State
from gingham.stream.tally import Tally

# So many entries are kept before they are replaced by a snapshot.
ENTRIES = 20
# A batch is expected to reach up to so many times as far into the future as the last one did.
_FARTHER = 4

Listener = Callable[[BatchProgress], object]


class StreamLoop:
    """The batches of one stream, one after the other."""

    def __init__(
        self,
        job: Job,
        log: Log,
        delivery: Delivery,
        far: FarShards,
        listeners: Iterable[Listener],
    ) -> None:
        self._job = job
        self._log = log
        self._delivery = delivery
        self._far = far
        self._listeners = listeners
        self._state = State()
        self._epoch = NO_EPOCH
        self._last = START
        self._snapshot = -1
        self._stored = -1  # the last epoch that is in the log
        self._few = False
        self._cells = Cells()
        self._folded: tuple[Forest | None, Mapping[int, Ints]] = None, {}
        self._planner = Planner(job)
        self._lock = threading.RLock()  # a listener may ask for the progress
        self._tally = Tally(job.stream)
        self.error: GinghamError | None = None  # what stopped the stream

    @property
    def epoch(self) -> Epoch:
        """What runs at the moment."""
        return self._epoch

    @property
    def last_batch(self) -> int:
        """Spark's number of the last batch in the log; -1 if there is none."""
        return self._last.batch

    @property
    def marks(self) -> Marks:
        return self._last.after

    def recover(self) -> None:
        """Go on where the log ends; an entry whose answers were not delivered is finished."""
        snapshot = self._log.newest_snapshot()
        if snapshot is not None:
            self._last, shards = snapshot
            self._snapshot = self._last.number
            self._take(self._last, shards)
            self._forget(self._last)
        for entry, shards in self._log.entries(after=self._last.number):
            self._take(entry, shards)
            self._last = entry
            if not self._log.is_finished(entry):
                self._answer(entry, Stopwatch())
                self._log.finish(entry)
            # No snapshot here: under the plan of this life cells may have other numbers than under
            # the entry's epoch, by which a snapshot is read.
            self._forget(entry)

    def _take(self, entry: Entry, shards: pa.Table) -> None:
        """Put the shards of an entry into the state, under the plan that made them."""
        stored = self._log.epoch(entry.epoch)
        if entry.epoch != self._stored:
            bound = [self._job.bind(sql, name) for name, sql in stored.texts.items()]
            self._epoch = stored.bound(self._job.stream, bound)
            self._stored = entry.epoch
            self._cells = Cells()
        codebook = self._epoch.codebook
        self._state.add(recode(shards, stored.codebook, codebook), codebook)
        for folder in entry.far:
            self._far.add(folder, stored.codebook)

    def batch(self, df: DataFrame, number: int) -> None:
        """What Spark calls with every micro-batch."""
        with self._lock:
            if number > self._last.batch:  # else it is in the log already, and was finished
                try:
                    self._step(df, number)
                except GinghamError as error:
                    self.error = error
                    raise

    def advance(self, watermark: int) -> None:
        """Let time pass without rows."""
        with self._lock:
            if self._last.number >= 0 and watermark > self._last.after.watermark:
                self._step(None, self._last.batch, watermark)

    def _step(self, df: DataFrame | None, number: int, watermark: int | None = None) -> None:
        watch = Stopwatch()
        before = self._last.after
        epoch = self._planner.plan(self._epoch, before, df, self._state)
        watch.lap("plan")
        epoch, batch = self._collect(df, epoch, before)
        watch.lap("shards")
        after = before.seen(batch.latest, self._job.timing.delay)
        if watermark is not None:
            after = Marks(watermark, after.latest)
        following = self._last.number + 1
        far = () if batch.far is None else (self._far.write(following, batch.far),)
        if batch.kept is not None:
            batch.kept.unpersist()
        entry = Entry(
            following,
            number,
            epoch.number,
            before,
            after,
            batch.rows,
            batch.late,
            batch.timeless,
            tuple(sorted(epoch.backfilled)),
            far,
        )
        if epoch.number != self._stored:
            self._log.write_epoch(epoch)
            self._stored = epoch.number
        self._log.append(entry, batch.shards)
        watch.lap("log")
        self._change(epoch)
        self._tally.rows(batch.cells)
        self._state.add(batch.shards, epoch.codebook)
        for folder in far:
            self._far.add(folder, epoch.codebook)
        self._last = entry
        watch.lap("merge")
        failed, counts = self._answer(entry, watch)
        self._log.finish(entry)
        self._prune(entry)
        watch.lap("merge")
        self._few = batch.rows <= FEW_ROWS
        self._planner.rates.seen(batch.rows, after.latest)
        self._report(entry, batch, failed, counts, watch)

    def _collect(self, df: DataFrame | None, epoch: Epoch, before: Marks) -> tuple[Epoch, Batch]:
        """The batch's shards; queries that bring the job down are left out from then on."""
        if df is None:
            return epoch, _no_rows()
        job = self._job
        try:
            return epoch, collect(
                df,
                epoch.plan,
                job.lookups,
                job.time,
                before.watermark,
                self._near,
                few=self._few,
                far=epoch.far,
                most=job.most,
                folds=self._folds(epoch),
            )
        except TooManyShardsError as found:
            return self._collect(df, epoch.moved_away(found.grids), before)
        except SPARK_ERRORS as error:
            found = failed_job(error)
            fragile = [q for q in epoch.queries if q.fragile]
            if not fragile:
                raise found from error
            for query in fragile:
                self._tally.query(query.name).error = str(found)
            rest = self._planner.without(self._epoch, epoch, fragile, before)
            return self._collect(df, rest, before)

    def _folds(self, epoch: Epoch) -> Mapping[int, Ints]:
        if not self._job.fragments or epoch.forest is None:
            return {}
        if self._folded[0] is not epoch.forest:
            self._folded = epoch.forest, fold(epoch.forest, Cells())
        return self._folded[1]

    @property
    def _near(self) -> tuple[int, int | None] | None:
        """Where the next rows are expected: not much farther on than the last ones were."""
        before, after = self._last.before.latest, self._last.after.latest
        if after == NEVER:
            return None
        return after, None if before == NEVER else _FARTHER * (after - before)

    def _change(self, epoch: Epoch) -> None:
        if epoch is self._epoch:
            return
        self._tally.flush(self._epoch.forest, self._cells)
        gone = {q.name for q in self._epoch.queries} - {q.name for q in epoch.queries}
        for name in gone:
            self._delivery.forget(name)
            if name not in self._planner.quarantine:  # else it is still to be seen why it left
                self._tally.forget(name)
        self._epoch = replace(epoch, backfilled=frozenset())
        self._cells = Cells()

    def _answer(self, entry: Entry, watch: Stopwatch) -> tuple[dict[str, str], dict[str, int]]:
        """Answer the windows that an entry closes, and deliver them: failures, rows of answers."""
        finals, epoch = Finals(), self._epoch
        asked = self._asked(entry)
        near = {q: d for q, d in asked.items() if not epoch.is_far(q)}
        if near and epoch.forest is not None:
            reaches = [due.reach(query.window) for query, due in near.items()]
            low, high = min(r[0] for r in reaches), max(r[1] for r in reaches)
            table = self._state.between(low, high, epoch.forest)
            finals.near(self._job.spark, near, table, self._cells)
        far = {q: d for q, d in asked.items() if epoch.is_far(q)}
        if far and epoch.forest is not None:
            left = self._state.of(epoch.far, epoch.forest)
            shards = self._far.shards(epoch.forest, left, entry.far[-1] if entry.far else None)
            if shards is not None:
                write = partial(self._delivery.compute, entry.number)
                finals.far(far, shards, epoch.forest, write)
        self._tally.answered(finals)
        watch.lap("finals")
        failed = {name: str(error) for name, error in finals.failed.items()}
        for name, error in self._delivery.deliver(finals.answers, entry.number).items():
            failed[name] = f"its sink failed: {error}"
            self._tally.query(name).error = failed[name]
        watch.lap("sink")
        return failed, {name: found.num_rows for name, found in finals.answers.items()}

    def _asked(self, entry: Entry) -> Asked:
        """The queries that an entry may answer, and which of their windows."""
        timing, born = self._job.timing, self._epoch.born
        due = {
            q: timing.due(
                Marks() if q.name in entry.backfilled else entry.before, entry.after, born[q.name]
            )
            for q in self._epoch.queries
        }
        return {q: d for q, d in due.items() if d.open is not None or may_close(q.window, d)}

    def _forget(self, entry: Entry) -> Mapping[int, int]:
        """Drop shards that no window needs after an entry; what is kept, by grid."""
        floors = self._epoch.floors(self._job.timing, entry.after)
        self._state.prune(floors, self._epoch.forest)
        return floors

    def _prune(self, entry: Entry) -> None:
        floors = self._forget(entry)
        if entry.number - self._snapshot >= ENTRIES:
            forest, folders = self._epoch.forest, tuple[str, ...]()
            if forest is not None and self._far:
                near = self._state.of(self._epoch.far, forest)
                folders = (self._far.compact(entry.number, forest, near, floors),)
                self._state.drop(self._epoch.far, forest)
            self._log.snapshot(replace(entry, far=folders), self._state.table)
            self._far.keep_only(folders, self._epoch.codebook)
            self._snapshot = entry.number

    def current(self) -> StreamProgress:
        """Everything counted so far."""
        with self._lock:
            self._tally.flush(self._epoch.forest, self._cells)
            self._tally.waiting((q.name for q in self._epoch.queries), self._delivery.waiting)
            return self._tally.progress

    def _report(
        self,
        entry: Entry,
        batch: Batch,
        failed: Mapping[str, str],
        counts: Mapping[str, int],
        watch: Stopwatch,
    ) -> None:
        done = BatchProgress(
            self._job.stream,
            entry.number,
            entry.batch,
            entry.epoch,
            len(self._epoch.queries),
            entry.rows,
            entry.late,
            entry.timeless,
            batch.shards.num_rows,
            len(self._state),
            instant(entry.after.watermark),
            instant(entry.after.latest),
            dict(counts),
            dict(failed),
            dict(watch.laps),
        )
        self._tally.batch(done)
        for listener in tuple(self._listeners):
            listener(done)


def _no_rows() -> Batch:
    return Batch(no_shards(), 0, 0, 0, Marks().latest, np.zeros(0, dtype=np.int64))
