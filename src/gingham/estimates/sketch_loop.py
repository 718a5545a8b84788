"""Streams that are joined: a batch comes, its sketches are logged, what they close is estimated.

    batch -> plan -> sketches -> log entry | -> state -> estimates -> sink -> answered

Up to the bar nothing has happened yet: a batch that dies there is read again from the source.
From the bar on the entry decides: a batch that dies there is finished from the log.

Sketches of two plans do not add up. So each plan answers the windows that start while it is the
newest, and as long as some of them are open, rows are sketched under that plan, too. A query that
comes while they are open reads the sketches of that plan, if they are what it needs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from gingham.core import names
from gingham.core.errors import AnswerError, CheckpointError, GinghamError, SinkError
from gingham.core.time import FOREVER, NEVER, parse_duration
from gingham.estimates.planning.bound_join import BoundJoin
from gingham.estimates.planning.estimate_query import window_starts
from gingham.estimates.planning.sketch_plan import SketchPlan
from gingham.estimates.planning.sketch_table import SketchTable, no_sketches
from gingham.estimates.sketch_epoch import SketchEpoch
from gingham.estimates.sketch_log import SketchEntry, SketchLog
from gingham.estimates.sketch_session import SketchSession
from gingham.sinks.delivery import Delivery
from gingham.spark.failures import SPARK_ERRORS, failed_job
from gingham.stream.clock import Marks, Timing

# So many entries are kept before they are replaced by a snapshot.
ENTRIES = 20


class SketchLoop:
    """The batches of all streams that are joined, one after the other."""

    def __init__(
        self,
        session: SketchSession,
        queries: Callable[[], Sequence[BoundJoin]],  # those that are registered at this moment
        weights: dict[str, float],
        log: SketchLog,
        delivery: Delivery,
    ) -> None:
        self._session = session
        self._queries = queries
        self._weights = weights
        self._log = log
        self._delivery = delivery
        self._epochs: list[SketchEpoch] = []
        self._last = SketchEntry()
        self._quarantine: dict[str, str] = {}  # queries that brought a batch down, by their text
        self._known: Mapping[str, str] = {}  # the queries of the last batch, and their text
        self._closed: dict[str, int] = {}  # by query: windows up to here are answered
        self._snapshot = -1
        self._lock = threading.Lock()
        self._failed: dict[str, GinghamError] = {}  # why queries have no answer for some window
        self._waiting: dict[str, GinghamError] = {}  # why answers are not delivered yet
        self.error: GinghamError | None = None  # what stopped the streams

    def last_batch(self, stream: str) -> int:
        """Spark's number of the last batch of a stream in the log; -1 if there is none."""
        return self._last.batches.get(stream, -1)

    @property
    def failed(self) -> dict[str, GinghamError]:
        """Why answers of queries are missing: the last reason of each."""
        return {**self._failed, **self._waiting}

    def recover(self) -> None:
        """Go on where the log ends; an entry whose answers were not delivered is finished."""
        for stored, tables in self._log.epochs():
            queries = [self._session.bind(sql, name) for name, sql in stored.queries.items()]
            plan = self._session.plan(queries, stored.weights)
            if plan.sharing.fingerprint != stored.fingerprint:
                raise CheckpointError(
                    "the sketches of the checkpoint are of another plan",
                    "the budget, the metric, the seed or the relations are not what they were",
                    "the same loom.sketch(...) as before, or a new checkpoint",
                )
            epoch = SketchEpoch(stored.number, plan, stored.since, FOREVER, tables)
            for name, (sql, after) in stored.adopted.items():
                epoch.adopt(self._session.bind(sql, name), after)
            epoch.raised = {name: AnswerError(*why) for name, why in stored.raised.items()}
            self._say_lost(epoch)
            self._begin(epoch)
        snapshot = self._log.newest_snapshot()
        if snapshot is not None:
            entry, sketches, floors = snapshot
            for epoch in self._epochs:
                epoch.floor = floors.get(epoch.number, NEVER)
            self._take(entry, sketches)
            self._snapshot = entry.number
        for entry, sketches in self._log.entries(after=self._last.number):
            self._take(entry, sketches)
        answered, self._closed = self._log.closed()
        if self._epochs:
            self._known = self._epochs[-1].stored.queries
        self._come_and_go()
        if self._last.number > answered:
            self._answer()

    def batch(self, stream: str, rows: DataFrame, number: int) -> None:
        """What Spark calls with every micro-batch of a stream."""
        with self._lock:
            if number <= self.last_batch(stream):
                return  # it is in the log already, and was finished
            try:
                self._step(stream, rows, number)
            except GinghamError as error:
                self.error = error
                raise

    def _step(self, stream: str, rows: DataFrame, number: int) -> None:
        rows = rows.persist()
        try:
            self._plan()
            latest = self._session.latest(stream, rows)
            sketches = [self._of_batch(epoch, stream, rows) for epoch in self._epochs]
        finally:
            rows.unpersist()
        delay = parse_duration(self._session.source(stream).watermark or "0 seconds")
        marks = self._last.marks.get(stream, Marks()).seen(
            NEVER if latest is None else latest, delay
        )
        entry = self._last.next(stream, number, marks)
        table = pa.concat_tables([_NOTHING, *sketches])
        self._log.append(entry, table)
        self._take(entry, table)
        self._answer()
        if entry.number - self._snapshot >= ENTRIES:
            self._prune()

    def _plan(self) -> None:
        """A new epoch, if queries came or went; its windows start after all that was seen.

        Windows that are open already are answered by older epochs, for new queries as well.
        """
        self._come_and_go()
        held = self._quarantine
        wanted = [q for q in self._queries() if held.get(q.name) != q.query.text]
        newest = self._epochs[-1] if self._epochs else None
        texts = {query.name: query.query.text for query in wanted}
        if not wanted or (
            newest is not None and not newest.raised and newest.stored.queries == texts
        ):
            return
        for epoch in self._epochs:
            adopted = [query for query in wanted if epoch.adopt(query, self._watermark(query))]
            if adopted:
                self._log.write_epoch(epoch.stored, epoch.tables)
        plan = self._session.plan(wanted, self._weights)
        sources = {one.relation: self._session.source(one.relation) for one in plan.passes}
        tables = {name: source.rows for name, source in sources.items() if source.time is None}
        number = 0 if newest is None else newest.number + 1
        try:
            sketches = self._sketched(plan, tables, number)
        except SPARK_ERRORS as error:
            why = failed_job(error)
            raised = _fragile(wanted, tables)
            if not raised:
                raise why from error
            self._quarantine |= raised
            self._failed |= dict.fromkeys(raised, why)
            self._plan()
            return
        epoch = SketchEpoch(number, plan, self._ahead, FOREVER, sketches)
        self._log.write_epoch(epoch.stored, epoch.tables)
        self._begin(epoch)

    def _come_and_go(self) -> None:
        """Forget queries that were removed; whoever comes answers windows that end after now."""
        queries = self._queries()
        registered = {query.name: query.query.text for query in queries}
        gone = {name for name, text in self._known.items() if registered.get(name) != text}
        for name in gone | (self._delivery.waiting.keys() - registered.keys()):
            self._delivery.forget(name)
            self._failed.pop(name, None)
            self._waiting.pop(name, None)
        for query in queries:
            if self._known.get(query.name) != query.query.text:
                self._closed[query.name] = self._watermark(query)
                # Whoever was removed may be added again, mended or not.
                self._quarantine.pop(query.name, None)
        self._known = registered

    def _begin(self, epoch: SketchEpoch) -> None:
        if self._epochs:
            self._epochs[-1].until = epoch.since
        self._epochs.append(epoch)

    def _of_batch(self, epoch: SketchEpoch, stream: str, rows: DataFrame) -> pa.Table:
        """The sketches of a batch; queries that bring the job down are left out from then on."""
        try:
            return self._sketched(epoch.live, {stream: rows}, epoch.number)
        except SPARK_ERRORS as error:
            why = failed_job(error)
            queries = [q for q in epoch.plan.queries if q.name not in epoch.raised]
            raised = _fragile(queries, [stream])
            if not raised:
                raise why from error
        self._quarantine |= raised
        epoch.raised |= dict.fromkeys(raised, why)
        self._log.write_epoch(epoch.stored, epoch.tables)
        self._say_lost(epoch)
        return self._of_batch(epoch, stream, rows)

    def _say_lost(self, epoch: SketchEpoch) -> None:
        """Tell why an epoch does not answer queries that are registered."""
        registered, lost = self._registered(), epoch.lost
        texts = {query.name: query.query.text for query in epoch.plan.queries}
        self._failed |= {name: lost[name] for name in lost if registered.get(name) == texts[name]}

    def _sketched(self, plan: SketchPlan, rows: dict[str, DataFrame], epoch: int) -> pa.Table:
        if not any(one.relation in rows for one in plan.passes):
            return _NOTHING
        return _tagged(self._session.sketch(plan, rows), epoch)

    def _take(self, entry: SketchEntry, sketches: pa.Table) -> None:
        """Put the sketches of an entry into the state of the epochs that made them."""
        numbers = sketches[names.EPOCH].to_numpy()
        for epoch in self._epochs:
            own = sketches.filter(pa.array(numbers == epoch.number))
            if own.num_rows:
                epoch.parts.append(own)
        self._last = entry

    def _answer(self) -> None:
        """Estimate and deliver all windows that the watermarks have passed."""
        registered = self._registered()
        answers: dict[str, list[pa.Table]] = {}
        closed = dict(self._closed)
        for epoch in self._epochs:
            sketches = epoch.sketches()
            for query in epoch.read_by(registered):
                mark = max(
                    self._closed.get(query.name, NEVER), epoch.adopted.get(query.name, NEVER)
                )
                closes = self._watermark(query)
                if closes <= mark:
                    continue
                closed[query.name] = closes
                found = self._estimated(epoch, query, sketches, mark, closes)
                if found is not None and found.num_rows:
                    answers.setdefault(query.name, []).append(found)
        joined = {name: pa.concat_tables(parts) for name, parts in answers.items()}
        undelivered = self._delivery.deliver(joined, self._last.number)
        self._waiting = {name: _undelivered(name, error) for name, error in undelivered.items()}
        self._closed = closed
        self._log.answer(self._last, closed)

    def _registered(self) -> dict[str, str]:
        return {query.name: query.query.text for query in self._queries()}

    def _estimated(
        self, epoch: SketchEpoch, query: BoundJoin, sketches: SketchTable, closed: int, closes: int
    ) -> pa.Table | None:
        window = query.query.window
        assert window is not None  # others are refused when streams are started
        try:
            starts = window_starts(query, sketches, epoch.plan.sliced)
            assert starts is not None
            ends = starts + window.range
            own = (starts >= max(epoch.since, epoch.floor)) & (starts < epoch.until)
            due = starts[own & (ends > closed) & (ends <= closes)]
            found = self._session.estimate(query, epoch.plan, sketches, due)
        except GinghamError as error:
            self._failed[query.name] = error
            return None
        if found.weight is not None:
            self._weights[query.name] = found.weight
        return found.table

    def _watermark(self, query: BoundJoin) -> int:
        """How far all streams of a query have come."""
        streams = {
            relation
            for relation in query.query.relations.values()
            if self._session.source(relation).time is not None
        }
        return min(self._last.marks.get(stream, Marks()).watermark for stream in streams)

    def _prune(self) -> None:
        """Drop what no open window needs, and keep the rest in one file."""
        registered = self._registered()
        for epoch in list(self._epochs):
            # Whoever was removed needs nothing.
            needed = [self._floor(query) for query in epoch.read_by(registered)]
            floor = min(needed, default=self._ahead)
            if floor >= epoch.until:
                self._epochs.remove(epoch)
                self._log.forget_epoch(epoch.number)
                continue
            # What a newcomer would need from before is gone for good.
            epoch.floor = floor = max(epoch.floor, floor)
            parts = SketchTable(pa.concat_tables([_NOTHING, *epoch.parts]), epoch.plan.sharing)
            epoch.parts = [_tagged(parts.condensed(floor), epoch.number)]
        table = pa.concat_tables([_NOTHING, *(part for e in self._epochs for part in e.parts)])
        self._log.snapshot(self._last, table, {e.number: e.floor for e in self._epochs})
        self._snapshot = self._last.number

    @property
    def _ahead(self) -> int:
        """The first instant after all that was seen."""
        return 1 + max((marks.latest for marks in self._last.marks.values()), default=NEVER)

    def _floor(self, query: BoundJoin) -> int:
        """Where the first window starts that is not answered."""
        window = query.query.window
        assert window is not None  # others are refused when streams are started
        return Timing(0).floor(window, Marks(self._watermark(query)), NEVER)


def _tagged(sketches: pa.Table, epoch: int) -> pa.Table:
    """Sketches, with the epoch that made them."""
    tags = pa.array(np.full(sketches.num_rows, epoch, dtype=np.int64))
    return sketches.append_column(names.EPOCH, tags).select(_NOTHING.column_names)


def _fragile(queries: Iterable[BoundJoin], relations: Container[str]) -> dict[str, str]:
    """Who may have raised while these relations were read, with their text."""
    return {
        query.name: query.query.text
        for query in queries
        if query.fragile and any(name in relations for name in query.query.relations.values())
    }


def _undelivered(name: str, error: Exception) -> SinkError:
    return SinkError(
        f"query {name!r}: its sink failed",
        str(error),
        "a sink that takes answers: they wait in the checkpoint, and every batch tries again",
    )


_NOTHING = no_sketches().append_column(names.EPOCH, pa.array([], pa.int64()))
