"""Estimates over streams that are joined: batches become sketches, sketches become estimates.

Sketches of two plans do not add up. So each plan answers the windows that start while it is the
newest, and as long as some of them are open, rows are sketched under that plan, too. A query that
comes while they are open reads the sketches of that plan, if they are what it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from gingham.checkpoint.log import Log
from gingham.core import names
from gingham.core.errors import AnswerError, CheckpointError, GinghamError, QueryError
from gingham.core.stopwatch import Stopwatch
from gingham.core.time import FOREVER, NEVER, parse_duration
from gingham.estimates.hold_budget import hold_budget
from gingham.estimates.join_codec import join_from_json
from gingham.estimates.planning.bound_join import BoundJoin
from gingham.estimates.planning.estimate_query import window_starts
from gingham.estimates.planning.sketch_plan import SketchPlan
from gingham.estimates.planning.sketch_table import SketchTable, words_of
from gingham.estimates.sketch_epoch import (
    NO_SKETCHES,
    SketchEpoch,
    StoredSketchEpoch,
    tag_with_epoch,
)
from gingham.estimates.sketch_session import SketchSession
from gingham.session.fragile import fragile, go_on_without
from gingham.sinks.answer import Answer, LocalAnswer
from gingham.stream.clock import Marks, Timing
from gingham.stream.entry import Entry
from gingham.stream.quarantine import Quarantine
from gingham.stream.work import Answered, Computed, Snapshot

_CLOSED = "closed"  # up to where windows are answered, by query
_FLOORS = "sketch_floors"  # where the first slice begins that is kept, by epoch and sketch
_FLOORS_OF_EPOCHS = "floors"  # the same for all sketches of an epoch, in older logs


class SketchWork:
    """What the stream loop does for estimates of joins: see `Work`, whose methods these are."""

    def __init__(
        self,
        session: SketchSession,
        current: Callable[[], Sequence[BoundJoin]],  # the queries that are registered now
        weights: dict[str, float],
        log: Log,
        unbound: dict[str, GinghamError],  # queries of the checkpoint that Spark refuses now
    ) -> None:
        self._session = session
        self._current = current
        self._weights = weights
        self._log = log
        self._unbound = unbound
        self._epochs: list[SketchEpoch] = []
        self._reduced: list[SketchEpoch] = []  # that lost queries at the start; not logged yet
        self._last = Entry()
        self._quarantine = Quarantine()
        self._known: Mapping[str, str] = {}  # the queries of the last batch, and their text
        self._closed: dict[str, int] = {}  # windows up to here are answered, by query
        self._removed: set[str] = set()
        self._lost: dict[str, GinghamError] = {}  # queries that lost windows, until this is told

    @property
    def queries(self) -> Collection[str]:
        """The names of the join queries that are estimated."""
        return self._known.keys()

    @property
    def registered(self) -> Collection[str]:
        """The names of the join queries that are wanted at this moment."""
        return {*self._texts(), *self._unbound}

    @property
    def epoch(self) -> int:
        """The number of the plan of sketches of the last batch."""
        return self._epochs[-1].number if self._epochs else -1

    @property
    def size(self) -> int:
        """How many words of sketches are in memory."""
        return sum(
            int(words_of(table).sum())
            for epoch in self._epochs
            for table in (epoch.tables, *epoch.parts)
        )

    def delay(self, stream: str) -> int:
        """How late rows of a joined stream may come by its watermark, in microseconds."""
        return parse_duration(self._session.source(stream).watermark or "0 seconds")

    def compute(
        self,
        stream: str,
        rows: DataFrame | None,
        last: Entry,
        watch: Stopwatch,
        watermark: int | None = None,  # noqa: ARG002  (time does not pass without rows here)
    ) -> Computed:
        """Plan, and sketch the rows of a stream's micro-batch."""
        assert rows is not None  # time does not pass without rows where streams are joined
        rows = rows.persist()
        try:
            self._plan()
            watch.lap("plan")
            seen, counted = self._session.look(stream, rows, last.marks_of(stream))
            sketches = [self._sketches_of(epoch, stream, counted) for epoch in self._epochs]
            watch.lap("shards")
        finally:
            rows.unpersist()
        return Computed(
            table=pa.concat_tables([NO_SKETCHES, *sketches]),
            rows=seen.rows,
            late=seen.late,
            timeless=seen.timeless,
            ahead=seen.ahead,
            latest=seen.latest,
        )

    def _plan(self) -> None:
        """Begin an epoch of sketches if queries came or went; its windows start after all seen.

        Windows that are open already are answered by older epochs, for new queries as well.
        """
        self._note_changes()
        # Before the first batch that is sketched without queries that are gone.
        while self._reduced:
            self._write_epoch(self._reduced.pop())
        wanted = self._quarantine.admitted(self._current())
        newest = self._epochs[-1] if self._epochs else None
        texts = {query.name: query.query.text for query in wanted}
        if not wanted or (newest is not None and not newest.raised and newest.planned == texts):
            return
        for epoch in self._epochs:
            adopted = [query for query in wanted if epoch.adopt(query, self._watermark(query))]
            if adopted:
                self._write_epoch(epoch)
        plan = self._session.plan(wanted, self._weights)
        sources = {one.relation: self._session.source(one.relation) for one in plan.passes}
        tables = {name: source.rows for name, source in sources.items() if source.time is None}
        number = 0 if newest is None else newest.number + 1

        def begin() -> None:
            sketches = self._sketched(plan, tables, number)
            epoch = SketchEpoch(
                number=number, plan=plan, since=self._ahead, until=FOREVER, tables=sketches
            )
            self._write_epoch(epoch)
            self._begin(epoch)

        def begin_without(suspects: Sequence[BoundJoin], why: AnswerError) -> None:
            self._quarantine.hold(suspects, why)
            self._plan()

        go_on_without(_queries_reading(fragile(wanted), tables), begin, begin_without)

    def _note_changes(self) -> None:
        """See which join queries were removed, and from where on new ones are estimated."""
        queries = self._current()
        registered = {query.name: query.query.text for query in queries}
        self._removed |= {
            name
            for name, text in self._known.items()
            if registered.get(name) != text and name not in self._unbound
        }
        for query in queries:
            if self._known.get(query.name) != query.query.text:
                # The windows of a new query end after now.
                self._closed[query.name] = self._watermark(query)
                self._quarantine.release(query.name)
        self._known = registered

    def _begin(self, epoch: SketchEpoch) -> None:
        """Begin an epoch of sketches; windows of the one before start earlier."""
        if self._epochs:
            self._epochs[-1].until = epoch.since
        self._epochs.append(epoch)

    def _write_epoch(self, epoch: SketchEpoch) -> None:
        """Write an epoch of sketches, with those of static tables, to the checkpoint's log."""
        self._log.write_epoch(epoch.number, asdict(epoch.stored), epoch.tables)

    def _sketches_of(self, epoch: SketchEpoch, stream: str, rows: DataFrame) -> pa.Table:
        """Sketch a micro-batch under one plan; queries that bring the job down are left out."""
        healthy = [query for query in epoch.plan.queries if query.name not in epoch.raised]

        def retry(suspects: Sequence[BoundJoin], why: AnswerError) -> pa.Table:
            self._quarantine.hold(suspects, why)
            epoch.raised |= {query.name: why for query in suspects}
            self._write_epoch(epoch)
            self._tell_lost(epoch)
            return self._sketches_of(epoch, stream, rows)

        return go_on_without(
            _queries_reading(fragile(healthy), [stream]),
            lambda: self._sketched(epoch.live, {stream: rows}, epoch.number),
            retry,
        )

    def _tell_lost(self, epoch: SketchEpoch) -> None:
        """Tell why an epoch of sketches does not answer queries that are registered."""
        registered, lost = self._texts(), epoch.lost
        texts = {query.name: query.query.text for query in epoch.plan.queries}
        self._lost |= {name: lost[name] for name in lost if registered.get(name) == texts[name]}

    def _sketched(self, plan: SketchPlan, rows: Mapping[str, DataFrame], epoch: int) -> pa.Table:
        """Sketch the rows of relations under a plan, tagged with the number of its epoch."""
        if not any(one.relation in rows for one in plan.passes):
            return NO_SKETCHES
        return tag_with_epoch(self._session.sketch(plan, rows), epoch)

    def take(self, entry: Entry, table: pa.Table) -> None:
        """Add the sketches of a micro-batch to the epochs that they were made for."""
        numbers = table[names.EPOCH].to_numpy()
        for epoch in self._epochs:
            own = table.filter(pa.array(numbers == epoch.number))
            if own.num_rows:
                epoch.parts.append(own)
        self._last = entry

    def answer(self, before: Entry, entry: Entry) -> Answered:  # noqa: ARG002  (marks are enough)
        """Estimate the joins of all windows that the watermarks have passed."""
        self._note_changes()
        registered = self._texts()
        tables: dict[str, list[pa.Table]] = {}
        failed: dict[str, GinghamError] = {}
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
                try:
                    table = self._estimated(epoch, query, sketches, mark, closes)
                except GinghamError as error:
                    failed[query.name] = error
                    continue
                if table.num_rows:
                    tables.setdefault(query.name, []).append(table)
        self._closed = closed
        answers: dict[str, Answer] = {
            name: LocalAnswer(pa.concat_tables(parts)) for name, parts in tables.items()
        }
        return Answered(answers, failed, done={_CLOSED: closed})

    def _texts(self) -> dict[str, str]:
        """The SQL of every join query that is registered."""
        return {query.name: query.query.text for query in self._current()}

    def _estimated(
        self, epoch: SketchEpoch, query: BoundJoin, sketches: SketchTable, closed: int, closes: int
    ) -> pa.Table:
        """Estimate the windows of an epoch of sketches that end in (closed, closes]."""
        window = query.query.window
        assert window is not None  # others are refused when streams are started
        starts = window_starts(query, sketches, epoch.plan.sliced)
        assert starts is not None
        ends = starts + window.range
        own = (starts >= max(epoch.since, epoch.floor(query))) & (starts < epoch.until)
        due = starts[own & (ends > closed) & (ends <= closes)]
        found = self._session.estimate(query, epoch.plan, sketches, due)
        if found.weight is not None:
            self._weights[query.name] = found.weight
        return found.table

    def _watermark(self, query: BoundJoin) -> int:
        """How far all streams of a join query have come."""
        streams = {
            relation
            for relation in query.query.relations.values()
            if self._session.source(relation).time is not None
        }
        return min(self._last.marks_of(stream).watermark for stream in streams)

    def forget(self, entry: Entry) -> None:  # noqa: ARG002  (it is the last one)
        """Drop sketches that no open window needs, and copies of others if memory is short."""
        registered = self._texts()
        for epoch in list(self._epochs):
            # A query that was removed needs nothing.
            needed = {query.name: self._floor(query) for query in epoch.read_by(registered)}
            if min(needed.values(), default=self._ahead) >= epoch.until:
                self._epochs.remove(epoch)
            else:
                epoch.drop_before(needed, self._ahead)
        hold_budget(self._epochs, self._session.budget)

    def snapshot(self, entry: Entry) -> Snapshot:  # noqa: ARG002  (it is the last one)
        """Gather the sketches that open windows still need, for a snapshot."""
        return Snapshot(
            table=pa.concat_tables(
                [NO_SKETCHES, *(part for e in self._epochs for part in e.parts)]
            ),
            details={_FLOORS: [[e.number, list(e.floors.items())] for e in self._epochs]},
            epochs=[epoch.number for epoch in self._epochs],
        )

    def snapshot_written(self, snapshot: Snapshot) -> None:
        """Nothing to delete: the log drops the epochs of sketches that are not kept."""

    @property
    def _ahead(self) -> int:
        """The first instant after all rows that were sketched."""
        return 1 + max((marks.latest for marks in self._last.marks.values()), default=NEVER)

    def _floor(self, query: BoundJoin) -> int:
        """Where the first window of a join query starts that is not estimated yet."""
        window = query.query.window
        assert window is not None  # others are refused when streams are started
        return Timing(0).floor(window, Marks(self._watermark(query)), NEVER)

    def open(self) -> None:
        """Plan the sketches of all epochs in the log again, as before the restart."""
        refused: dict[str, GinghamError] = {}
        for logged in self._log.epochs():
            stored = StoredSketchEpoch(**logged.about)
            refused = {}
            queries = [
                self._bind_again(name, sql, stored, refused) for name, sql in stored.queries.items()
            ]
            plan = self._session.plan_by_weights(
                queries, stored.weights, per_slice=stored.per_slice
            )
            if plan.sharing.fingerprint != stored.fingerprint:
                raise CheckpointError(
                    "the sketches of the checkpoint are of another plan",
                    "the budget, the metric, the seed or the relations are not what they were",
                    "the same loom.sketch(...) as before, or a new checkpoint",
                )
            epoch = SketchEpoch(
                number=stored.number,
                plan=plan,
                since=stored.since,
                until=FOREVER,
                tables=logged.table,
                per_slice=stored.per_slice,
            )
            for name, (sql, after) in stored.adopted.items():
                epoch.adopt(self._bind_again(name, sql, stored, refused), after)
            epoch.raised = {name: AnswerError(*why) for name, why in stored.raised.items()}
            if refused.keys() - epoch.raised.keys():
                self._reduced.append(epoch)
                epoch.raised = {**refused, **epoch.raised}
            self._tell_lost(epoch)
            self._begin(epoch)
        if self._epochs:
            self._known = self._epochs[-1].planned
            # Another query may have the name now.
            registered = self._texts()
            self._unbound |= {
                name: why
                for name, why in refused.items()
                if registered.get(name) in (None, self._known.get(name))
            }
            self._lost |= self._unbound

    def _bind_again(
        self, name: str, sql: str, stored: StoredSketchEpoch, refused: dict[str, GinghamError]
    ) -> BoundJoin:
        """Bind a query of a stored epoch; as it was, and noted in `refused`, if Spark refuses it.

        Its sketches are not made any more, but those of the others are what they were with it.
        """
        try:
            return self._session.bind(sql, name)
        except GinghamError as error:
            if name not in stored.bound:
                raise
            bound = join_from_json(name, stored.bound[name])
            if any(
                r.lower() not in self._session.sources() for r in bound.query.relations.values()
            ):
                raise
            refused[name] = _set_aside(name, error)
            return bound

    def restore(self, entry: Entry, table: pa.Table, *, is_snapshot: bool) -> None:
        """Add the sketches of a snapshot or log entry after a restart."""
        if is_snapshot:
            floors = dict(entry.details.get(_FLOORS, ()))
            older = dict(entry.details.get(_FLOORS_OF_EPOCHS, ()))
            for epoch in self._epochs:
                vertices = epoch.plan.sharing.vertices
                epoch.floors = {v.number: older.get(epoch.number, NEVER) for v in vertices}
                epoch.floors |= dict(floors.get(epoch.number, ()))
        self.take(entry, table)

    def check_restored(self) -> None:
        """Nothing to check: all sketches are in the log itself."""

    def resume(self, entry: Entry, done: Mapping[str, Any]) -> None:  # noqa: ARG002
        """Note up to where windows were estimated before the restart."""
        self._closed = dict(done[_CLOSED])

    def removed(self) -> Collection[str]:
        """The join queries that were removed since this was asked last."""
        removed, self._removed = self._removed, set()
        return removed

    def set_aside(self) -> Mapping[str, GinghamError]:
        """The join queries that were newly left out of sketches, and why."""
        lost, self._lost = self._lost, {}
        reasons, registered = {**self._quarantine.new_reasons(), **lost}, self.registered
        return {name: why for name, why in reasons.items() if name in registered}

    def matched(self) -> Mapping[str, int]:
        """Nothing: sketches do not tell how many rows a query matched."""
        return {}


def _set_aside(name: str, error: GinghamError) -> GinghamError:
    """The error of a join query of the checkpoint that cannot be bound any more."""
    return QueryError(
        f"query {name!r} of the checkpoint is set aside: {error.what}",
        error.why,
        f"what it needs before sketches.start(...), or sketches.remove({name!r})",
    )


def _queries_reading(queries: Iterable[BoundJoin], relations: Container[str]) -> list[BoundJoin]:
    """The join queries that read one of these relations."""
    return [q for q in queries if any(name in relations for name in q.query.relations.values())]
