"""Exact queries over one stream: batches become shards, shards become answers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from gingham.checkpoint.log import Log
from gingham.core.arrays import Ints
from gingham.core.errors import AnswerError, GinghamError
from gingham.core.stopwatch import Stopwatch
from gingham.core.time import NEVER
from gingham.finals.recode import recode
from gingham.plan.bound import BoundQuery
from gingham.plan.condition_cache import ConditionCache
from gingham.plan.fold import fold_cells
from gingham.plan.forest import Forest
from gingham.session.fragile import fragile, go_on_without
from gingham.sinks.delivery import Delivery
from gingham.stream.batch import FEW_ROWS, Batch, TooManyShardsError, collect, no_rows
from gingham.stream.clock import Marks, may_close
from gingham.stream.due_answers import DueAnswers, DueWindows
from gingham.stream.entry import Entry
from gingham.stream.epoch import NO_EPOCH, Epoch, StoredEpoch
from gingham.stream.executor_shards import ExecutorShards
from gingham.stream.matched_rows import MatchedRows
from gingham.stream.planner import Job, Planner
from gingham.stream.settings import StreamSettings
from gingham.stream.state import State
from gingham.stream.work import Answered, Computed, Snapshot

# A batch is expected to reach up to so many times as far into the future as the last one did.
_FARTHER = 4


class ExactWork:
    """What the stream loop does for exact queries: see `Work`, whose methods these are."""

    def __init__(
        self,
        job: Job,
        log: Log,
        delivery: Delivery,
        executor_shards: ExecutorShards,
        settings: StreamSettings,
    ) -> None:
        self._job = job
        self._log = log
        self._delivery = delivery
        self._executor_shards = executor_shards
        self._planner = Planner(job, settings)
        self._state = State()
        self._epoch = NO_EPOCH
        self._stored = -1  # the number of the last epoch in the log
        self._computed: tuple[Epoch, Batch] = NO_EPOCH, no_rows()  # what `take` goes on with
        self._few = False  # had the last batch few rows?
        self._latest: tuple[int, int] = NEVER, NEVER  # event time after the last two entries
        self._cells = ConditionCache()
        self._folds: tuple[Forest | None, Mapping[int, Ints]] = None, {}
        self._matched = MatchedRows()
        self._removed: set[str] = set()

    @property
    def queries(self) -> Collection[str]:
        """The names of the queries that the current epoch answers."""
        return [query.name for query in self._epoch.queries]

    @property
    def registered(self) -> Collection[str]:
        """The names of the exact queries that the loom has now."""
        return [query.name for query in self._job.queries()]

    @property
    def current(self) -> Epoch:
        """The epoch (plan and state of queries) of the last micro-batch."""
        return self._epoch

    @property
    def folded_cells(self) -> Mapping[int, Ints] | None:
        """Which cells stand for which in the last micro-batch; None if none are folded."""
        return self._folds_of(self._epoch) if self._job.fold_cells else None

    @property
    def epoch(self) -> int:
        """The number of the epoch of the last micro-batch."""
        return self._epoch.number

    @property
    def size(self) -> int:
        """The number of shards in the driver's memory."""
        return len(self._state)

    def delay(self, stream: str) -> int:  # noqa: ARG002  (there is only one)
        """How late rows of the stream may come, in microseconds: the watermark's delay."""
        return self._job.timing.delay

    def compute(
        self, stream: str, rows: DataFrame | None, last: Entry, watch: Stopwatch
    ) -> Computed:
        """Plan the epoch of a micro-batch, make its shards, and log the epoch if it is new."""
        before = last.marks_of(stream)
        planned = self._planner.plan(self._epoch, before, rows, self._state)
        watch.lap("plan")
        epoch, batch = self._collect(rows, planned, before)
        watch.lap("shards")
        folders = self._write_shards(last.number + 1, batch)
        if epoch.number != self._stored:
            self._log.write_epoch(epoch.number, epoch.to_json())
            self._stored = epoch.number
        self._computed = epoch, batch
        return Computed(
            table=batch.shards,
            details={
                "epoch": epoch.number,
                "backfilled": sorted(epoch.backfilled),
                "folders": folders,
            },
            rows=batch.rows,
            late=batch.late,
            timeless=batch.timeless,
            latest=batch.latest,
        )

    def _collect(self, rows: DataFrame | None, epoch: Epoch, before: Marks) -> tuple[Epoch, Batch]:
        """Make the shards of a micro-batch; leave out queries that bring the job down."""
        if rows is None:
            return epoch, no_rows()
        try:
            return go_on_without(
                fragile(epoch.queries),
                lambda: (epoch, self._shards_of(rows, epoch, before)),
                lambda suspects, why: self._collect(
                    rows, self._set_aside(epoch, suspects, why, before), before
                ),
            )
        except TooManyShardsError as found:
            return self._collect(rows, epoch.moved_to_executors(found.grids), before)

    def _set_aside(
        self, epoch: Epoch, suspects: Sequence[BoundQuery], why: AnswerError, before: Marks
    ) -> Epoch:
        """Quarantine the suspects, and plan the micro-batch again without them."""
        self._planner.quarantine.hold(suspects, why)
        return self._planner.without(self._epoch, epoch, suspects, before)

    def _shards_of(self, rows: DataFrame, epoch: Epoch, before: Marks) -> Batch:
        """Make the shards of a micro-batch with one Spark job, under the plan of an epoch."""
        job = self._job
        return collect(
            rows,
            epoch.plan,
            job.lookups,
            job.time,
            before.watermark,
            self._expected_time,
            few=self._few,
            on_executors=epoch.on_executors,
            most=job.most_on_driver,
            folded_cells=self._folds_of(epoch),
        )

    def _write_shards(self, number: int, batch: Batch) -> list[str]:
        """Let executors write their shards of a micro-batch; gives the names of folders."""
        if batch.on_executors is None:
            return []
        folder = self._executor_shards.write(number, batch.on_executors)
        if batch.cached is not None:
            batch.cached.unpersist()
        return [folder]

    def _folds_of(self, epoch: Epoch) -> Mapping[int, Ints]:
        """The cells that stand for others under an epoch's plan, computed once a plan."""
        if not self._job.fold_cells or epoch.forest is None:
            return {}
        if self._folds[0] is not epoch.forest:
            self._folds = epoch.forest, fold_cells(epoch.forest, ConditionCache())
        return self._folds[1]

    @property
    def _expected_time(self) -> tuple[int, int | None] | None:
        """The event time near which the next rows are expected, and how near."""
        before, after = self._latest
        if after == NEVER:
            return None
        return after, None if before == NEVER else _FARTHER * (after - before)

    def take(self, entry: Entry, table: pa.Table) -> None:
        """Add the shards of the micro-batch that was computed just now to the state."""
        epoch, batch = self._computed
        self._change_epoch(epoch)
        self._matched.add(batch.rows_in_cells)
        self._state.add(table, epoch.codebook)
        for folder in entry.details["folders"]:
            self._executor_shards.add(folder, epoch.codebook)
        self._note_latest(entry)
        self._few = batch.rows <= FEW_ROWS
        self._planner.rates.seen(batch.rows, self._latest[1])
        self._computed = epoch, no_rows()  # the rows are in the state now

    def _change_epoch(self, epoch: Epoch) -> None:
        """Go over to the epoch of a new micro-batch; note the queries that are gone."""
        if epoch is self._epoch:
            return
        self._matched.settle(self._epoch.forest, self._cells)
        gone = {q.name for q in self._epoch.queries} - {q.name for q in epoch.queries}
        # What is known of a query that was set aside is still to be seen.
        self._removed |= gone - set(self._planner.quarantine.names)
        self._epoch = replace(epoch, backfilled=frozenset())
        self._cells = ConditionCache()

    def answer(self, before: Entry, entry: Entry) -> Answered:
        """Answer the windows that a log entry closes, on the driver or on executors."""
        epoch, due_answers = self._epoch, DueAnswers()
        due = self._due_windows(before, entry)
        on_driver = {q: d for q, d in due.items() if not epoch.is_on_executors(q)}
        if on_driver and epoch.forest is not None:
            reaches = [windows.reach(query.window) for query, windows in on_driver.items()]
            low, high = min(r[0] for r in reaches), max(r[1] for r in reaches)
            shards = self._state.between(low, high, epoch.forest)
            due_answers.on_driver(self._job.spark, on_driver, shards, self._cells)
        on_executors = {q: d for q, d in due.items() if epoch.is_on_executors(q)}
        if on_executors and epoch.forest is not None:
            left = self._state.of(epoch.on_executors, epoch.forest)
            folders = entry.details["folders"]
            shards = self._executor_shards.shards(
                epoch.forest, left, folders[-1] if folders else None
            )
            if shards is not None:
                store = partial(self._delivery.store, entry.number)
                due_answers.on_executors(on_executors, shards, epoch.forest, store)
        return Answered(due_answers.answers, due_answers.failed, due_answers.seconds)

    def _due_windows(self, before: Entry, entry: Entry) -> DueWindows:
        """The queries that a log entry may answer, and which of their windows are due."""
        timing, born, stream = self._job.timing, self._epoch.born, self._job.stream
        backfilled = entry.details["backfilled"]
        due = {
            query: timing.due(
                Marks() if query.name in backfilled else before.marks_of(stream),
                entry.marks_of(stream),
                born[query.name],
            )
            for query in self._epoch.queries
        }
        return {q: d for q, d in due.items() if d.open is not None or may_close(q.window, d)}

    def forget(self, entry: Entry) -> None:
        """Drop shards of the state that no window needs after a log entry."""
        self._state.prune(self._floors(entry), self._epoch.forest)

    def _floors(self, entry: Entry) -> Mapping[int, int]:
        """The instant from which on shards of each grid are needed after a log entry."""
        return self._epoch.floors(self._job.timing, entry.marks_of(self._job.stream))

    def snapshot(self, entry: Entry) -> Snapshot:
        """Gather the shards that are needed after a log entry, for a snapshot."""
        forest, folders = self._epoch.forest, list[str]()
        if forest is not None and self._executor_shards:
            left = self._state.of(self._epoch.on_executors, forest)
            floors = self._floors(entry)
            folders = [self._executor_shards.compact(entry.number, forest, left, floors)]
            self._state.drop(self._epoch.on_executors, forest)
        return Snapshot(
            table=self._state.table,
            details={**entry.details, "folders": folders},
            epochs=[self._stored],
        )

    def snapshot_written(self, snapshot: Snapshot) -> None:
        """Delete folders of executors' shards that the snapshot does not name."""
        self._executor_shards.keep_only(snapshot.details["folders"], self._epoch.codebook)

    def open(self) -> None:
        """Nothing to read before recovery: log entries name their epochs."""

    def restore(self, entry: Entry, table: pa.Table, *, is_snapshot: bool) -> None:  # noqa: ARG002
        """Add the shards of a log entry or snapshot to the state after a restart."""
        number = entry.details["epoch"]
        stored = StoredEpoch.from_json(self._log.epoch(number).about)
        if number != self._stored:
            bound = [self._job.bind(sql, name) for name, sql in stored.texts.items()]
            self._epoch = stored.bound(self._job.stream, bound)
            self._stored = number
            self._cells = ConditionCache()
        codebook = self._epoch.codebook
        self._state.add(recode(table, stored.codebook, codebook), codebook)
        for folder in entry.details["folders"]:
            self._executor_shards.add(folder, stored.codebook)
        self._note_latest(entry)

    def _note_latest(self, entry: Entry) -> None:
        """Remember the latest event time of a log entry and of the one before."""
        self._latest = self._latest[1], entry.marks_of(self._job.stream).latest

    def resume(self, entry: Entry, done: Mapping[str, Any]) -> None:
        """Nothing to do after a finished entry: its marks tell what was answered."""

    def removed(self) -> Collection[str]:
        """The queries that left the plan since this was asked last."""
        removed, self._removed = self._removed, set()
        for name in removed:
            self._matched.of_query.pop(name, None)
        return removed

    def set_aside(self) -> Mapping[str, GinghamError]:
        """The queries that were quarantined since this was asked last, and why."""
        return self._planner.quarantine.new_reasons()

    def matched(self) -> Mapping[str, int]:
        """How many rows of the stream met the WHERE of each query."""
        self._matched.settle(self._epoch.forest, self._cells)
        return self._matched.of_query
