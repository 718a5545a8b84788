"""Exact queries over one stream: batches become shards, shards become answers."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from gingham.checkpoint.log import Log
from gingham.core import names
from gingham.core.arrays import Ints
from gingham.core.errors import AnswerError, GinghamError
from gingham.core.stopwatch import Stopwatch
from gingham.core.time import FOREVER, LAST_INSTANT, NEVER, wall_clock
from gingham.finals.recode import recode
from gingham.plan.bound import BoundQuery
from gingham.plan.codebook import Codebook
from gingham.plan.condition_cache import ConditionCache
from gingham.plan.fold import fold_cells
from gingham.plan.forest import Forest
from gingham.session.fragile import run_in_parts
from gingham.sinks.delivery import Delivery
from gingham.spark.event_time import earliest_instant
from gingham.spark.measure_rows import count_rows
from gingham.stream.batch import FEW_ROWS, Batch, TooManyShardsError, collect, no_rows
from gingham.stream.clock import Marks, last_instant, may_close
from gingham.stream.codec import codebook_from_json, codebook_to_json
from gingham.stream.due_answers import DueAnswers, DueWindows
from gingham.stream.entry import Entry
from gingham.stream.epoch import NO_EPOCH, Epoch, StoredEpoch
from gingham.stream.executor_shards import ExecutorShards, ShardFolder, recoded_rows
from gingham.stream.failing_rows import FailingRows
from gingham.stream.holes import Holes
from gingham.stream.matched_rows import MatchedRows
from gingham.stream.planner import Job, Planner
from gingham.stream.settings import StreamSettings
from gingham.stream.state import State
from gingham.stream.work import Answered, Computed, Snapshot


def _missing_windows(query: BoundQuery, why: AnswerError) -> AnswerError:
    """The error of a query that failed for rows of a batch, and misses the windows with them."""
    return AnswerError(
        f"query {query.name!r} fails for some row of a batch",
        why.why,
        "a predicate that keeps such rows away, or the try_ form of the function; windows around "
        "such rows have no answer",
    )


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
        self._last_instant = LAST_INSTANT  # at which a row of the current batch counts
        self._latest: tuple[int, int] = NEVER, NEVER  # event time after the last two entries
        self._cells = ConditionCache()
        self._folds: tuple[Forest | None, Mapping[int, Ints]] = None, {}
        self._matched = MatchedRows()
        self._counting = threading.Lock()  # progress is asked for while a batch is processed
        self._removed: set[str] = set()
        self._holes = Holes()
        self._new_holes: dict[str, list[list[int]]] = {}  # of the batch that is computed
        self._unbound: Mapping[str, GinghamError] = job.unbound()  # until it is told

    @property
    def queries(self) -> Collection[str]:
        """The names of the queries that the current epoch answers."""
        return [query.name for query in self._epoch.queries]

    @property
    def registered(self) -> Collection[str]:
        """The names of the exact queries that the loom has now."""
        return [*(query.name for query in self._job.queries()), *self._job.unbound()]

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
        self._last_instant = self._find_last_instant(rows, before)
        planned = self._planner.plan(self._epoch, before, rows, self._state)
        watch.lap("plan")
        epoch, batch = self._collect(rows, planned, before)
        watch.lap("shards")
        folders = self._write_shards(last.number + 1, batch)
        epoch = self._write_epoch(epoch)
        self._computed = epoch, batch
        return Computed(
            table=batch.shards,
            details={
                "epoch": epoch.number,
                "backfilled": sorted(epoch.backfilled),
                "folders": folders,
                "holes": self._new_holes,
            },
            rows=batch.rows,
            late=batch.late,
            timeless=batch.timeless,
            ahead=batch.ahead,
            latest=batch.latest,
        )

    def _collect(self, rows: DataFrame | None, epoch: Epoch, before: Marks) -> tuple[Epoch, Batch]:
        """Make the shards of a micro-batch; queries that bring the job down have holes there."""
        self._new_holes = {}
        if rows is None:
            return epoch, no_rows()
        job, quarantine = self._job, self._planner.quarantine

        def attempt(queries: Sequence[BoundQuery], some: DataFrame = rows) -> tuple[Epoch, Batch]:
            """Make the shards of some of the queries and rows; too many go to the executors."""
            part = self._planner.only(epoch, queries, before)
            while True:
                try:
                    return part, self._shards_of(some, part, before)
                except TooManyShardsError as found:
                    part = part.moved_to_executors(found.grids)

        admitted = quarantine.admitted(epoch.queries)
        parts, culprits = run_in_parts(admitted, attempt, lambda: count_rows(rows, job.time))
        is_whole = not culprits and len(parts) == 1
        if is_whole and len(admitted) == len(epoch.queries):
            return parts[0]
        failing = FailingRows(rows, job.time, self._last_instant, attempt)
        ran = {query.name for query in admitted}
        holes = {q.name: [failing.span] for q in epoch.queries if q.name not in ran}
        if not is_whole:
            for _, batch in parts:
                batch.release()
            found, parts = failing.around([query for query, _ in culprits], admitted)
            for query, why in culprits:
                self._tell(query, why, everywhere=found[query.name] == [failing.span])
            holes |= found
        self._new_holes = {name: [list(hole) for hole in spans] for name, spans in holes.items()}
        return self._under(epoch, parts)

    def _tell(self, query: BoundQuery, why: AnswerError, *, everywhere: bool) -> None:
        """Tell why a query misses windows; one that fails everywhere is left out for a while."""
        error, quarantine = _missing_windows(query, why), self._planner.quarantine
        if everywhere:
            quarantine.hold([query], error)
        else:
            quarantine.note(query, error)

    def _under(self, epoch: Epoch, parts: Sequence[tuple[Epoch, Batch]]) -> tuple[Epoch, Batch]:
        """The shards of parts of a micro-batch and its queries, as shards of the epoch itself."""
        new = epoch.codebook
        moved = {number for part, _ in parts for number in part.on_executors}
        grids = epoch.forest.grids if epoch.forest is not None else ()
        whole = epoch.moved_to_executors(g for g in grids if g.number in moved)
        recoded = [
            replace(
                batch,
                shards=recode(batch.shards, part.codebook, new),
                on_executors=None
                if batch.on_executors is None
                else recoded_rows(batch.on_executors, part.codebook, new),
            )
            for part, batch in parts
        ]
        return whole, Batch.combined(recoded)

    def _shards_of(self, rows: DataFrame, epoch: Epoch, before: Marks) -> Batch:
        """Make the shards of a micro-batch with one Spark job, under the plan of an epoch."""
        job = self._job
        with job.lookups.checked():
            return collect(
                rows,
                epoch.plan,
                job.lookups,
                job.time,
                before.watermark,
                self._last_instant,
                self._expected_time,
                few=self._few,
                on_executors=epoch.on_executors,
                most=job.most_on_driver,
                folded_cells=self._folds_of(epoch),
                records=epoch.records,
            )

    def _find_last_instant(self, rows: DataFrame | None, before: Marks) -> int:
        """The last instant at which a row of a micro-batch counts; found once for all its jobs."""
        ahead, time, earliest = self._job.timing.ahead, self._job.time, NEVER
        if before.latest == NEVER and ahead < FOREVER and rows is not None:
            earliest = earliest_instant(rows, time)
        return last_instant(wall_clock(), before.latest, earliest, ahead)

    def _write_epoch(self, epoch: Epoch) -> Epoch:
        """Log an epoch if it is new; gives it under another number if its own is taken.

        That is so if a step failed after its epoch was written: queries may have changed since.
        """
        if epoch.number == self._stored:
            if epoch is self._epoch:
                return epoch
            epoch = replace(epoch, number=self._stored + 1)
        self._log.write_epoch(epoch.number, epoch.to_json())
        self._stored = epoch.number
        return epoch

    def _write_shards(self, number: int, batch: Batch) -> list[dict[str, Any]]:
        """Let executors write their shards of a micro-batch; gives the folders, for the log."""
        if batch.on_executors is None:
            return []
        folder = self._executor_shards.write(number, batch.on_executors)
        batch.release()
        return [folder.to_json()]

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
        with self._counting:
            self._change_epoch(epoch)
            self._matched.add(batch.rows_in_cells)
        self._state.add(table, epoch.codebook)
        self._note_fragments(np.flatnonzero(batch.rows_in_cells))
        self._holes.add(entry.details)
        for folder in _folders(entry.details):
            self._executor_shards.add(folder, epoch.codebook)
        self._note_latest(entry)
        self._few = batch.rows <= FEW_ROWS
        self._planner.rates.seen(batch.rows, self._latest[1])
        self._computed = epoch, no_rows()  # the rows are in the state now

    def _note_fragments(self, numbers: Ints) -> None:
        """Note fragments that were sent as they are: from now on they may be reduced to records."""
        if self._epoch.records is not None:
            records = self._epoch.records.having_seen(numbers)
            if records is not self._epoch.records:
                self._epoch = replace(self._epoch, records=records)

    def _change_epoch(self, epoch: Epoch) -> None:
        """Go over to the epoch of a new micro-batch; note the queries that are gone."""
        if epoch is self._epoch:
            return
        self._matched.settle(self._epoch.forest, self._epoch.records, self._cells)
        gone = {q.name for q in self._epoch.queries} - {q.name for q in epoch.queries}
        self._removed |= gone
        self._epoch = replace(epoch, backfilled=frozenset())
        self._cells = ConditionCache()

    def answer(self, before: Entry, entry: Entry) -> Answered:
        """Answer the windows that a log entry closes, on the driver or on executors."""
        epoch, due_answers = self._epoch, DueAnswers(self._holes)
        due = self._due_windows(before, entry)
        on_driver = {q: d for q, d in due.items() if not epoch.is_on_executors(q)}
        if on_driver and epoch.forest is not None:
            reaches = [windows.reach(query.window) for query, windows in on_driver.items()]
            low, high = min(r[0] for r in reaches), max(r[1] for r in reaches)
            shards = self._state.between(low, high, epoch.forest)
            due_answers.on_driver(self._job.spark, on_driver, shards, self._cells)
        on_executors = {q: d for q, d in due.items() if epoch.is_on_executors(q)}
        if on_executors and epoch.forest is not None:
            left, book = self._state.of(epoch.on_executors), self._codebook
            folders = _folders(entry.details)
            shards = self._executor_shards.shards(book, left, folders[-1].name if folders else None)
            if shards is not None:
                store = partial(self._delivery.store, entry.number)
                due_answers.on_executors(on_executors, shards, epoch.forest, book, store)
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
        floors = self._floors(entry)
        self._state.prune(floors, self._epoch.forest)
        self._holes.forget(floors.values())

    def _floors(self, entry: Entry) -> Mapping[int, int]:
        """The instant from which on shards of each grid are needed after a log entry."""
        return self._epoch.floors(self._job.timing, entry.marks_of(self._job.stream))

    def snapshot(self, entry: Entry) -> Snapshot:
        """Gather the shards that are needed after a log entry, for a snapshot."""
        forest, folders, book = self._epoch.forest, list[ShardFolder](), self._codebook
        numbers = list[Ints]()
        if forest is not None and self._executor_shards:
            left = self._state.of(self._epoch.on_executors)
            floors = self._floors(entry)
            folders = [self._executor_shards.compact(entry.number, forest, book, left, floors)]
            self._state.drop(self._epoch.on_executors)
            numbers += [self._executor_shards.numbers(f) for f in folders if book.records]
        table = self._state.table
        book = book.used(np.concatenate([table[names.CELL].to_numpy(), *numbers]))
        return Snapshot(
            table=table,
            details={
                **entry.details,
                "folders": [folder.to_json() for folder in folders],
                "holes": self._holes.to_json(),
                "codebook": codebook_to_json(book) if book.records else None,
            },
            epochs=[self._stored],
        )

    @property
    def _codebook(self) -> Codebook:
        """What the numbers of all shards mean; those of shards on the driver are its first ones."""
        return self._executor_shards.carried(self._state.codebook)

    def snapshot_written(self, snapshot: Snapshot) -> None:
        """Delete folders of executors' shards that the snapshot does not name."""
        book = _codebook_of(snapshot.details, self._epoch.codebook)
        self._executor_shards.keep_only(_folders(snapshot.details), book)

    def open(self) -> None:
        """Nothing to read before recovery: log entries name their epochs."""

    def restore(self, entry: Entry, table: pa.Table, *, is_snapshot: bool) -> None:
        """Add the shards of a log entry or snapshot to the state after a restart."""
        number = entry.details["epoch"]
        stored = StoredEpoch.from_json(self._log.epoch(number).about)
        if number != self._stored:
            self._epoch = stored.bound(self._job.stream, self._bind_again(stored))
            self._stored = number
            self._cells = ConditionCache()
        logged = stored.codebook
        if is_snapshot:
            logged = _codebook_of(entry.details, logged)
        codebook = self._epoch.codebook.carrying(logged)
        recoded = recode(table, logged, codebook)
        self._state.add(recoded, codebook)
        self._note_fragments(np.unique(recoded[names.CELL].to_numpy()))
        self._holes.add(entry.details)
        for folder in _folders(entry.details):
            self._executor_shards.restore(folder, logged)
        self._note_latest(entry)

    def check_restored(self) -> None:
        """Raise if executors' shards that were restored cannot be read."""
        self._executor_shards.check()

    def _bind_again(self, stored: StoredEpoch) -> list[BoundQuery]:
        """Bind the queries of a stored epoch; one that Spark refuses now leaves the plan."""
        bound: list[BoundQuery] = []
        for name, sql in stored.texts.items():
            # It was removed meanwhile, or the loom has set it aside and tells why.
            with suppress(GinghamError):
                bound.append(self._job.bind(sql, name))
        return bound

    def _note_latest(self, entry: Entry) -> None:
        """Remember the latest event time of a log entry and of the one before."""
        self._latest = self._latest[1], entry.marks_of(self._job.stream).latest

    def resume(self, entry: Entry, done: Mapping[str, Any]) -> None:
        """Nothing to do after a finished entry: its marks tell what was answered."""

    def removed(self) -> Collection[str]:
        """The queries that left the plan since this was asked last."""
        removed, self._removed = self._removed, set()
        with self._counting:
            for name in removed:
                self._matched.of_query.pop(name, None)
        return removed

    def set_aside(self) -> Mapping[str, GinghamError]:
        """The queries that were set aside since this was asked last, and why."""
        unbound, self._unbound = self._unbound, {}
        return {**unbound, **self._planner.quarantine.new_reasons()}

    def matched(self) -> Mapping[str, int]:
        """How many rows of the stream met the WHERE of each query."""
        with self._counting:
            self._matched.settle(self._epoch.forest, self._epoch.records, self._cells)
            return dict(self._matched.of_query)


def _codebook_of(details: Mapping[str, Any], default: Codebook) -> Codebook:
    """The codebook that the details of a snapshot have: if there are records of several plans."""
    found = details.get("codebook")
    return default if found is None else codebook_from_json(found)


def _folders(details: Mapping[str, Any]) -> list[ShardFolder]:
    """The folders of executors' shards that the details of a log entry name."""
    return [ShardFolder(**found) for found in details["folders"]]
