"""The session of estimates: join queries go in; a plan within a budget, and estimates, come out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from gingham.core.errors import AnswerError, CatalogError, GinghamError, QueryError
from gingham.core.file_names import check_name
from gingham.core.names import unused_name
from gingham.core.stopwatch import Stopwatch
from gingham.estimates.algebra.allocation import Metric
from gingham.estimates.estimates import Estimates
from gingham.estimates.planning.bound_join import BoundJoin
from gingham.estimates.planning.estimate_query import window_starts
from gingham.estimates.planning.explain_sketches import explain_sketches
from gingham.estimates.planning.query_weights import Histograms, PriorWeights
from gingham.estimates.planning.sketch_plan import SketchPlan
from gingham.estimates.planning.sketch_table import SketchTable
from gingham.estimates.sketch_session import SketchSession
from gingham.estimates.start_estimates import refuse_without_window, start_estimates
from gingham.session.fragile import fragile, go_on_without
from gingham.session.sources import RelationSource
from gingham.session.stand_ins import StandIns
from gingham.sinks.named import sink_for
from gingham.sinks.sink import Sink, SinkFunction
from gingham.sql.functions import IsAllowed
from gingham.stream.running import Running
from gingham.stream.settings import StreamSettings
from gingham.stream.start import Start


class Estimator:
    """Estimates COUNT, SUM and AVG over joins from sketches that share a budget of words.

    The budget is for all that a stream holds between two batches: the sketches of all queries in
    all slices of time that open windows need. `changes` has by relation the column that says
    whether a row was inserted or deleted.
    """

    def __init__(
        self,
        spark: SparkSession,
        sources: Callable[[], Mapping[str, RelationSource]],
        is_allowed: IsAllowed,
        *,
        budget: int,
        metric: Metric = "average",
        confidence: float = 0.95,
        seed: int = 0,
        weights: Mapping[str, float] | None = None,
        histograms: Histograms | None = None,
        changes: Mapping[str, str] | None = None,
    ) -> None:
        self._registered = sources
        self._changes = {name.lower(): column for name, column in (changes or {}).items()}
        self._own: dict[str, RelationSource] = {}
        self._stand_ins = StandIns(spark)  # of own relations
        self._session = SketchSession(
            spark=spark,
            sources=self._sources,
            stand_ins=self._stand_ins,
            is_allowed=is_allowed,
            budget=budget,
            metric=metric,
            seed=seed,
            confidence=confidence,
            prior=PriorWeights(weights or {}, histograms or {}),
        )
        self._lock = threading.Lock()  # of the queries; not held while Spark analyses one
        self._queries: dict[str, BoundJoin] = {}
        self._adding: set[str] = set()  # names of queries that Spark analyses at this moment
        self._weights: dict[str, float] = {}
        self._unbound: dict[str, GinghamError] = {}  # queries of the checkpoint that Spark refuses
        self._running: Running | None = None

    @property
    def queries(self) -> tuple[str, ...]:
        """The names of all join queries to estimate, in the order in which they were added."""
        return tuple(self._queries)

    def relation(self, name: str, rows: DataFrame) -> Estimator:
        """Register static rows to join that need neither an event time nor a unique key."""
        check_name(name, "relation", CatalogError)
        if name.lower() in self._sources():
            raise CatalogError.registered_twice(name)
        stand_in = self._stand_ins.add(name, rows)
        self._own[name.lower()] = RelationSource(name, rows, stand_in=stand_in)
        return self

    def add(self, sql: str, *, name: str | None = None) -> str:
        """Add a COUNT, SUM or AVG over a join; it is refused, or estimated from the next run on."""
        name = self._reserve(name)
        try:
            bound = self._session.bind(sql, name)
            with self._lock:
                if self._running is not None and self._running.is_active:
                    refuse_without_window(bound)
                # Refuses what does not fit the budget.
                self._session.plan([*self._queries.values(), bound], self._weights)
                self._queries[name] = bound
        except GinghamError as error:
            raise error.about(f"query {name!r}") from None
        finally:
            self._adding.discard(name)
        return name

    def replacement(self, queries: Mapping[str, str]) -> Callable[[], None]:
        """Check whether these can be the queries, by name; gives the call that makes them so.

        Raises if one is refused, or if they do not fit the budget together.
        """
        before, errors = dict(self._queries), list[GinghamError]()
        bound: dict[str, BoundJoin] = {}
        for name, sql in queries.items():
            here = before.get(name)
            try:
                same = here is not None and here.query.text == sql.strip()
                bound[name] = here if here and same else self._session.bind(sql, name)
                if self._running is not None and self._running.is_active:
                    refuse_without_window(bound[name])
            except GinghamError as error:
                errors.append(error.about(f"query {name!r}"))
        if errors:
            raise ExceptionGroup("queries that are refused", errors)
        if bound:
            self._session.plan(list(bound.values()), self._weights)

        def take() -> None:
            with self._lock:
                for name in [name for name in self._weights if name not in bound]:
                    del self._weights[name]
                self._unbound.clear()  # they are gone, or Spark takes them now
                self._queries = bound

        return take

    def remove(self, name: str) -> None:
        """Take a join query out; the next run divides its sketch memory among the others."""
        with self._lock:
            if name not in self._queries and name not in self._unbound:
                raise QueryError.unknown(name, (*self._queries, *self._unbound))
            self._queries.pop(name, None)
            self._unbound.pop(name, None)
            self._weights.pop(name, None)

    def plan(self) -> SketchPlan:
        """Which sketches the next run makes."""
        if not self._queries:
            raise QueryError("no queries", "there is nothing to plan", "sketches.add(...)")
        self._refuse_changes_of_nothing()
        return self._session.plan(list(self._queries.values()), self._weights)

    def explain(self) -> str:
        """The plan of sketches as text: which queries share each, and how large they are."""
        return explain_sketches(self.plan())

    def run(self) -> Estimates:
        """Estimate every join query from one pass over each relation.

        What the sketches show of how hard each query is divides the memory of the next run, save
        for queries whose weight was given.
        """
        plan = self.plan()
        for one in plan.passes:
            if self._session.source(one.relation).rows.isStreaming:
                raise CatalogError(
                    f"{one.relation} is a streaming DataFrame",
                    "its rows do not end, so there is no answer to wait for",
                    "sketches.start(checkpoint=..., sink=...)",
                )
        return self._run(plan)

    def start(
        self,
        *,
        checkpoint: str,
        sink: str | SinkFunction | Sink,
        trigger: Mapping[str, object] | None = None,
        settings: StreamSettings | None = None,
        adopt_sink: bool = False,
    ) -> Running:
        """Estimate every join query over streaming DataFrames, each read once.

        A window is answered once, when the watermarks of all streams that its query joins have
        passed its end. Queries may be added and removed meanwhile. A new one answers the windows
        that are open, if the sketches that others keep serve it, otherwise those that start after
        what was seen; from then on memory is divided anew, by what the last windows show of how
        hard each query is. `checkpoint`, `sink`, `trigger`, `settings` and `adopt_sink` are
        those of `loom.start`; from a checkpoint the queries of that time go on if they are added
        again. One of them that Spark refuses now is set aside until it is removed.
        """
        if self._running is not None:
            if not self._running.has_ended:
                raise CatalogError(
                    "the estimates are running", "they were started before", "running.stop()"
                )
            self._running.stop()  # answers that wait are delivered by what is started now
        self._refuse_changes_of_nothing()
        target = sink_for(sink, self._session.spark)
        start = Start(target, trigger, [], settings or StreamSettings(), adopt_sink)
        unbound: dict[str, GinghamError] = {}
        self._running = start_estimates(
            self._session,
            lambda: tuple(q for q in tuple(self._queries.values()) if q.name not in unbound),
            self._weights,
            unbound,
            checkpoint,
            start,
        )
        self._unbound = unbound
        return self._running

    def _reserve(self, name: str | None) -> str:
        """Keep a name for a join query until it is added or refused; raises if it is taken."""
        with self._lock:
            taken = {*self._queries, *self._adding, *self._unbound}
            name = unused_name(taken) if name is None else check_name(name, "query", QueryError)
            if name in taken:
                raise QueryError.named_twice(name, "sketches.remove")
            self._adding.add(name)
            return name

    def _run(self, plan: SketchPlan) -> Estimates:
        """Estimate all queries of a plan in a batch; without fragile ones if they bring it down."""

        def run_without(_: object, why: AnswerError) -> Estimates:
            healthy = [query for query in plan.queries if not query.fragile]
            found = Estimates(self._session.spark, {}, {})
            if healthy:
                found = self._run(self._session.plan(healthy, self._weights))
            tables = {query.name: found.tables.get(query.name, why) for query in plan.queries}
            return replace(found, tables=tables)

        return go_on_without(fragile(plan.queries), lambda: self._run_shared(plan), run_without)

    def _run_shared(self, plan: SketchPlan) -> Estimates:
        """Sketch all relations of a plan in a batch, and estimate each query from sketches."""
        session, watch = self._session, Stopwatch()
        rows = {one.relation: session.source(one.relation).rows for one in plan.passes}
        sketches = SketchTable(session.sketch(plan, rows), plan.sharing)
        watch.lap("sketches")
        tables: dict[str, pa.Table | GinghamError] = {}
        for query in plan.queries:
            try:
                starts = window_starts(query, sketches, plan.sliced)
                found = session.estimate(query, plan, sketches, starts)
            except GinghamError as error:
                tables[query.name] = error.about(f"query {query.name!r}")
                continue
            tables[query.name] = found.table
            if found.weight is not None:
                self._weights[query.name] = found.weight
        watch.lap("estimates")
        return Estimates(session.spark, tables, watch.laps)

    def _sources(self) -> dict[str, RelationSource]:
        """The relations that join queries may read: those of the loom, and own static ones."""
        found = {**self._registered(), **self._own}
        return {
            name: replace(source, changes=self._changes[name]) if name in self._changes else source
            for name, source in found.items()
        }

    def _refuse_changes_of_nothing(self) -> None:
        """Refuse changes of a relation that does not exist: its deletions would be added."""
        sources = self._sources()
        for name in self._changes.keys() - sources.keys():
            raise CatalogError(
                f"changes of {name!r}, which is no relation",
                "registered: " + (", ".join(source.name for source in sources.values()) or "none"),
                "the name of a stream, a table or a relation",
            )
