"""Exact queries over one stream: batches become shards, shards become answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
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
from gingham.core.names import POSITION
from gingham.core.stopwatch import Stopwatch
from gingham.core.time import FOREVER, LAST_INSTANT, NEVER, wall_clock
from gingham.finals.floors import Floors
from gingham.finals.frames import Due
from gingham.finals.recode import recode
from gingham.finals.row_counts import KeyCounts, RowFloors, RowsDue
from gingham.logical.window import EVENT_TIME, Clock
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
from gingham.stream.executor_shards import ExecutorFolder, ExecutorShards, recoded_rows
from gingham.stream.failing_rows import FailingRows
from gingham.stream.holes import Holes
from gingham.stream.matched_rows import MatchedRows
from gingham.stream.numbering import NumberedBatch, Numbering, ReleasedRows
from gingham.stream.planner import Job, Planner
from gingham.stream.row_clocks import NewRows
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
        numbering: Numbering,
        settings: StreamSettings,
    ) -> None:
        self._job = job
        self._log = log
        self._delivery = delivery
        self._executor_shards = executor_shards
        self._numbering = numbering
        self._planner = Planner(job, settings)
        self._state = State()
        self._epoch = NO_EPOCH
        self._stored = -1  # the number of the last epoch in the log
        self._computed: tuple[Epoch, Batch] = NO_EPOCH, no_rows()  # what `take` goes on with
        self._few = False  # had the last batch few rows?
        self._last_instant = LAST_INSTANT  # at which a row of the current batch counts
        self._latest: tuple[int, int] = NEVER, NEVER  # event time after the last two entries
        self._cells = ConditionCache()
        self._folds: list[tuple[Forest, Mapping[int, Ints]]] = []  # of the plans of an epoch
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
        self,
        stream: str,
        rows: DataFrame | None,
        last: Entry,
        watch: Stopwatch,
        watermark: int | None = None,
    ) -> Computed:
        """Plan the epoch of a micro-batch, make its shards, and log the epoch if it is new."""
        before, number = last.marks_of(stream), last.number + 1
        self._last_instant = self._find_last_instant(rows, before)
        planned = self._planner.plan(self._epoch, before, rows, self._state)
        watch.lap("plan")
        with ExitStack() as held:
            admitted: Sequence[BoundQuery] = ()
            if rows is not None or planned.clocks_by_rows:
                admitted = self._planner.quarantine.admitted(planned.queries)
            if rows is not None and planned.clocks_by_rows:
                rows = rows.persist()  # it is read again for windows of rows
                held.callback(rows.unpersist)
            epoch, batch = self._collect(rows, planned.on(EVENT_TIME), before, admitted)
            numbered: dict[str, Any] = {}
            if planned.clocks_by_rows:
                after = before.after(batch.latest, self._job.timing.delay, watermark)
                released = self._numbering.released(rows, before, after, self._last_instant, number)
                parts, new = self._collect_released(released, planned, before, admitted, held)
                epoch, batch = self._of_all_clocks(planned, [(epoch, batch), *parts])
                numbered = self._numbering.details(released, new)
            watch.lap("shards")
            folders = self._write_shards(number, batch)
        epoch = self._write_epoch(epoch)
        self._computed = epoch, batch
        return Computed(
            table=batch.shards,
            details={
                "epoch": epoch.number,
                "backfilled": sorted(epoch.backfilled),
                "folders": folders,
                "holes": self._new_holes,
                **numbered,
            },
            rows=batch.rows,
            late=batch.late,
            timeless=batch.timeless,
            ahead=batch.ahead,
            latest=batch.latest,
        )

    def _collect(
        self,
        rows: DataFrame | None,
        epoch: Epoch,
        before: Marks,
        admitted: Sequence[BoundQuery],
    ) -> tuple[Epoch, Batch]:
        """Make the shards of a micro-batch; queries that bring the job down have holes there.

        So have those of the epoch that are not `admitted`.
        """
        self._new_holes = {}
        if rows is None:
            return epoch, no_rows()
        job = self._job
        shards_of = partial(self._shards_of, before=before)

        def attempt(queries: Sequence[BoundQuery], some: DataFrame = rows) -> tuple[Epoch, Batch]:
            """Make the shards of some of the queries and rows."""
            return self._attempt(epoch, queries, before, partial(shards_of, some))

        own = {query.name for query in epoch.queries}
        admitted = [query for query in admitted if query.name in own]
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

    def _attempt(
        self,
        epoch: Epoch,
        queries: Sequence[BoundQuery],
        before: Marks,
        shards_of: Callable[[Epoch], Batch],
    ) -> tuple[Epoch, Batch]:
        """Make the shards of some of the queries of an epoch; too many go to the executors."""
        part = self._planner.only(epoch, queries, before)
        while True:
            try:
                return part, shards_of(part)
            except TooManyShardsError as found:
                part = part.moved_to_executors(found.grids)

    def _collect_released(
        self,
        released: ReleasedRows | None,
        planned: Epoch,
        before: Marks,
        admitted: Sequence[BoundQuery],
        held: ExitStack,
    ) -> tuple[list[tuple[Epoch, Batch]], list[NewRows]]:
        """Number the rows that the watermark passes by every clock, and make their shards.

        Also gives what is new on each clock. What executors hold meanwhile goes into `held`.
        """
        parts: list[tuple[Epoch, Batch]] = []
        new: list[NewRows] = []
        plan = planned.plan
        if released is None or plan is None:
            return parts, [NewRows(clock, KeyCounts()) for clock in planned.clocks_by_rows]
        held.callback(released.release)
        running = {(query.name, query.query.text) for query in self._epoch.queries}
        for clock in planned.clocks_by_rows:
            numbered = self._numbering.numbered(
                released.rows, clock, plan.columns, few_rows=self._few
            )
            held.callback(numbered.release)
            epoch = planned.on(clock)
            born: dict[str, KeyCounts] = {}
            if clock in self._numbering.clocks:
                texts = {query.name: query.query.text for query in epoch.queries}
                born = {n: numbered.before for n, text in texts.items() if (n, text) not in running}
            if len(numbered.new):
                own = [query for query in admitted if query.window.clock == clock]
                part, missing = self._collect_numbered(numbered, epoch, before, own)
                parts.append(part)
                for name in missing:
                    born[name] = born.get(name, KeyCounts()).largest(numbered.after)
            new.append(NewRows(clock, numbered.new, born))
        return parts, new

    def _collect_numbered(
        self,
        numbered: NumberedBatch,
        epoch: Epoch,
        before: Marks,
        admitted: Sequence[BoundQuery],
    ) -> tuple[tuple[Epoch, Batch], set[str]]:
        """Make the shards of rows that were numbered; also gives the queries that miss them."""
        instants = int(numbered.after.counts.max()), None
        shards_of = partial(self._shards_of_numbered, numbered.rows, instants)

        def attempt(queries: Sequence[BoundQuery]) -> tuple[Epoch, Batch]:
            """Make the shards of some of the queries."""
            return self._attempt(epoch, queries, before, shards_of)

        parts, culprits = run_in_parts(admitted, attempt, numbered.rows.count)
        failed = {query.name for query, _ in culprits}
        for query, why in culprits:
            self._tell(query, why, everywhere=True)
        if culprits or len(parts) != 1:
            for _, batch in parts:
                batch.release()
            parts = [attempt([query for query in admitted if query.name not in failed])]
        ran = {query.name for query in admitted} - failed
        return parts[0], {query.name for query in epoch.queries} - ran

    def _of_all_clocks(
        self, epoch: Epoch, parts: Sequence[tuple[Epoch, Batch]]
    ) -> tuple[Epoch, Batch]:
        """The shards of all clocks as shards of the epoch itself."""
        whole, batch = self._under(epoch, parts)
        grids = {grid.number: grid for grid in epoch.codebook.grids}
        in_cells = np.zeros(epoch.forest.cells if epoch.forest else 0, dtype=np.int64)
        for part, made in parts:
            for grid in part.codebook.grids if len(made.rows_in_cells) else ():
                there, count = grids[grid.number].offset, grid.cells
                rows = made.rows_in_cells[grid.offset : grid.offset + count]
                in_cells[there : there + count] = rows
        return whole, replace(batch, rows_in_cells=in_cells)

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

    def _shards_of_numbered(
        self, rows: DataFrame, near: tuple[int, int | None], epoch: Epoch
    ) -> Batch:
        """Make the shards of rows that were numbered; they are counted elsewhere.

        `near` are positions near which rows are expected.
        """
        job = self._job
        with job.lookups.checked():
            batch = collect(
                rows,
                epoch.plan,
                job.lookups,
                POSITION,
                NEVER,
                LAST_INSTANT,
                near,
                few=self._few,
                on_executors=epoch.on_executors,
                most=job.most_on_driver,
                folded_cells=self._folds_of(epoch),
            )
        return replace(batch, rows=0, late=0, timeless=0, ahead=0, latest=NEVER)

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
        forest = epoch.forest
        if not self._job.fold_cells or forest is None:
            return {}
        found = next((folds for of, folds in self._folds if of is forest), None)
        if found is None:
            found = fold_cells(forest, ConditionCache())
            self._folds.append((forest, found))
        return found

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
        self._numbering.take(entry.details)
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
        self._cells, self._folds = ConditionCache(), []

    def answer(self, before: Entry, entry: Entry) -> Answered:
        """Answer the windows that a log entry closes, on the driver or on executors."""
        epoch, due_answers = self._epoch, DueAnswers(self._holes)
        if epoch.forest is None:
            return Answered({}, {})
        due = self._due_windows(before, entry)
        on_driver: dict[Clock, dict[BoundQuery, Due | RowsDue]] = {}
        for query, windows in due.items():
            if not epoch.is_on_executors(query):
                on_driver.setdefault(query.window.clock, {})[query] = windows
        for of_clock in on_driver.values():
            reaches = [windows.reach(query.window) for query, windows in of_clock.items()]
            low, high = min(r[0] for r in reaches), max(r[1] for r in reaches)
            shards = self._state.between(low, high, epoch.forest)
            due_answers.on_driver(self._job.spark, of_clock, shards, self._cells)
        on_executors = {q: d for q, d in due.items() if epoch.is_on_executors(q)}
        if on_executors:
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
        found: dict[BoundQuery, Due | RowsDue] = {}
        for query in self._epoch.queries:
            if query.window.clock.by_rows:
                rows_due = self._numbering.clocks.due(query, early=timing.early)
                if rows_due is not None:
                    found[query] = rows_due
                continue
            marks = Marks() if query.name in backfilled else before.marks_of(stream)
            due = timing.due(marks, entry.marks_of(stream), born[query.name])
            if due.open is not None or may_close(query.window, due):
                found[query] = due
        return found

    def forget(self, entry: Entry) -> None:
        """Drop shards of the state that no window needs after a log entry."""
        floors = self._floors(entry)
        self._state.prune(floors, self._epoch.forest)
        self._holes.forget(floor for floor in floors.values() if isinstance(floor, int))
        self._numbering.clocks.forget(self._epoch.queries)

    def _floors(self, entry: Entry) -> Floors:
        """From where on shards of each grid are needed after a log entry."""
        epoch, clocks = self._epoch, self._numbering.clocks
        floors: dict[int, int | RowFloors] = {
            **epoch.floors(self._job.timing, entry.marks_of(self._job.stream))
        }
        for clock in epoch.clocks_by_rows:
            of_grid: dict[int, list[BoundQuery]] = {}
            for query in epoch.on(clock).queries:
                number = epoch.forest.grid_of(query).number if epoch.forest else -1
                of_grid.setdefault(number, []).append(query)
            floors |= {grid: clocks.floors(clock, own) for grid, own in of_grid.items()}
        return floors

    def snapshot(self, entry: Entry) -> Snapshot:
        """Gather the shards that are needed after a log entry, for a snapshot."""
        forest, folders, book = self._epoch.forest, list[ExecutorFolder](), self._codebook
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
                **self._numbering.snapshot(),
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
        self._numbering.snapshot_written()

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
        self._numbering.take(entry.details, restored=True)
        for folder in _folders(entry.details):
            self._executor_shards.restore(folder, logged)
        self._note_latest(entry)

    def check_restored(self) -> None:
        """Raise if executors' shards or rows that wait were restored and cannot be read."""
        self._executor_shards.check()
        self._numbering.check_restored()

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


def _folders(details: Mapping[str, Any]) -> list[ExecutorFolder]:
    """The folders of executors' shards that the details of a log entry name."""
    return [ExecutorFolder(**found) for found in details["folders"]]
