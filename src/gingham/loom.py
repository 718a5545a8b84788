"""The session: streams, tables and queries go in; a plan, and answers, come out."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from gingham.checkpoint.folder import Checkpoint
from gingham.checkpoint.registry import Registered, Registry
from gingham.core.errors import CatalogError, GinghamError, QueryError
from gingham.core.names import unused_name
from gingham.core.time import parse_duration
from gingham.estimates.algebra.allocation import Metric
from gingham.estimates.estimator import Estimator
from gingham.inspect.text import explain
from gingham.logical.query import Query
from gingham.optimizer import optimize
from gingham.optimizer.cost import Cost
from gingham.plan.bound import BoundQuery
from gingham.plan.cells import Cells
from gingham.plan.fold import fold
from gingham.plan.forest import Plan
from gingham.plan.load import Load
from gingham.plan.records import Reduced
from gingham.session.choose_records import Fragments, choose
from gingham.session.measured_load import have_different_edges, weighed
from gingham.session.sources import Sources, StreamSource
from gingham.sinks.sinks import Sink, SinkFunction, sink_for
from gingham.spark.alone import alone, slots
from gingham.spark.answers import Answers
from gingham.spark.failures import SPARK_ERRORS, failed_job
from gingham.spark.run import MOST_SHARDS_ON_DRIVER, run
from gingham.spark.session import session
from gingham.stream.clock import timing_of
from gingham.stream.loop import Listener, StreamLoop
from gingham.stream.planner import Job
from gingham.stream.running import Running
from gingham.stream.start import start_stream


@dataclass(frozen=True, slots=True)
class _Options:
    """How a run is wanted."""

    most_on_driver: int
    trees: Mapping[str, int] | None
    fragments: Fragments


class Loom:
    """Weaves many windowed aggregate queries over a stream into one Spark pipeline."""

    def __init__(self, spark: SparkSession | None = None, *, cost: Cost | None = None) -> None:
        self.spark = spark or session()
        self._cost = cost or Cost()
        self._loads: dict[str, tuple[list[str], Load]] = {}
        self._sources = Sources(self.spark)
        self._queries: dict[str, BoundQuery] = {}
        self._reduced: dict[str, Reduced | None] = {}  # what the last run sent in place of shards
        self._running: Running | None = None
        self._folds = False  # are cells that no query tells apart one shard of what is running?
        self._registry: Registry | None = None  # of the checkpoint of what is running

    @property
    def queries(self) -> tuple[str, ...]:
        """The names of all queries, in the order in which they were added."""
        return tuple(self._queries)

    def stream(
        self, name: str, rows: DataFrame, *, time: str, watermark: str | None = None
    ) -> Loom:
        """Register the DataFrame that queries read FROM, and the column that holds its time."""
        self._sources.add_stream(name, rows, time, watermark)
        return self

    def table(self, name: str, rows: DataFrame, *, key: str | Sequence[str]) -> Loom:
        """Register a static table that rows are looked up in by a unique key."""
        self._sources.add_table(name, rows, (key,) if isinstance(key, str) else tuple(key))
        return self

    def add(self, sql: str, *, name: str | None = None, backfill: bool = False) -> str:
        """Add a query; it is refused here, or it will run. Gives its name.

        To a stream that runs it is added from the next batch on, and its first window is the first
        one of which it sees all rows. With `backfill` earlier windows are answered too, as far
        back as the log has shards that tell their rows apart.
        """
        name = name or unused_name(self._queries)
        if name in self._queries:
            raise QueryError.named_twice(name, "loom.remove")
        try:
            bound = replace(self._sources.bind(sql, name), backfill=backfill)
        except GinghamError as error:
            raise error.about(f"query {name!r}") from None
        if self._registry is not None:
            self._registry.put(Registered(name, bound.query.text, backfill))
        self._queries[name] = bound
        return name

    def replace(self, queries: Mapping[str, str]) -> None:
        """Make these the queries, by name: all of them, or none if one is refused."""
        changed: dict[str, BoundQuery] = {}
        errors: list[GinghamError] = []
        for name, sql in queries.items():
            here = self._queries.get(name)
            if here is None or here.query.text != sql.strip():
                try:
                    changed[name] = self._sources.bind(sql, name)
                except GinghamError as error:
                    errors.append(error.about(f"query {name!r}"))
        if errors:
            raise ExceptionGroup("queries that are refused", errors)
        for name in [n for n in self._queries if n not in queries]:
            self.remove(name)
        for name, bound in changed.items():
            if self._registry is not None:
                self._registry.put(Registered(name, bound.query.text))
            self._queries[name] = bound

    def remove(self, name: str) -> None:
        """Take a query out; nobody else's answers change."""
        if name not in self._queries:
            raise QueryError.unknown(name, self._queries)
        del self._queries[name]
        if self._registry is not None:
            self._registry.remove(name)

    def plan(self, stream: str | None = None, *, trees: Mapping[str, int] | None = None) -> Plan:
        """How the queries of a stream will be answered, or would be with these trees.

        Where windows differ, the rows of a static DataFrame are counted first.
        """
        source = self._sources.stream(stream)
        own = self._queries_of(source.info.name)
        if not own:
            raise QueryError(
                f"no query reads {source.info.name}", "there is nothing to plan", "loom.add(...)"
            )
        return optimize(source.info.name, own, self._cost, self._load(source, own), trees=trees)

    def explain(self, stream: str | None = None) -> str:
        """The plan as text: what is shared, by whom, and why something is not.

        While a stream runs, that is the plan of its last batch.
        """
        streams = [stream] if stream else sorted({q.query.stream for q in self._queries.values()})
        return "\n".join(self._explained(s) for s in streams)

    def _explained(self, stream: str) -> str:
        epoch = self._running.epochs.get(stream) if self._running is not None else None
        if epoch is None or epoch.plan is None:
            plan, reduced = self.plan(stream), self._reduced.get(stream)
            sent = () if reduced is None else reduced.notices
            lines = [explain(plan, fold(plan.forest, Cells()))]
            lines += [f"  the last run sent {line}" for line in sent]
        else:
            folds = fold(epoch.plan.forest, Cells()) if self._folds else None
            lines = [f"epoch {epoch.number} of", explain(epoch.plan, folds)]
        return "\n".join(lines)

    def run(
        self,
        *,
        most_on_driver: int = MOST_SHARDS_ON_DRIVER,
        trees: Mapping[str, int] | None = None,
        fragments: Fragments = False,
    ) -> Answers:
        """Answer every query over static DataFrames, each stream in one pass.

        Which queries share slices is decided by cost, unless `trees` tells the tree of each. With
        `fragments` what is shuffled are fewer records than there are queries, at the price of a job
        before it that sees which fragments there are; "auto" decides by cost.
        """
        streams = sorted({q.query.stream for q in self._queries.values()})
        for stream in streams:
            if self._sources.stream(stream).rows.isStreaming:
                raise CatalogError(
                    f"{stream} is a streaming DataFrame",
                    "its rows do not end, so there is no answer to wait for",
                    "loom.start(checkpoint=..., sink=...)",
                )
        options = _Options(most_on_driver, trees, fragments)
        parts = [self._run_stream(s, self._queries_of(s), options) for s in streams]
        return Answers.combined(self.spark, parts, self.queries)

    def start(
        self,
        *,
        checkpoint: str,
        sink: str | SinkFunction | Sink,
        trigger: Mapping[str, object] | None = None,
        output_mode: str = "append",
        allowed_lateness: str = "0 seconds",
        idle: str | None = None,
        most_on_driver: int = MOST_SHARDS_ON_DRIVER,
        fragments: bool = False,
    ) -> Running:
        """Answer every query over streaming DataFrames, each stream read once.

        `checkpoint` is a folder from which a later start goes on, with the queries registered
        there. `sink` is a folder, "memory", "console" or f(name, dataframe, batch_id). `trigger`
        is what Spark takes: {"availableNow": True}, {"processingTime": "10 seconds"}.

        A window is answered once, when the watermark passes its end; with output_mode="update"
        whenever it changes; and again when rows come late, but not later than `allowed_lateness`.
        A stream without rows for as long as `idle` follows the clock on the wall. Groups that need
        more than `most_on_driver` shards are kept and answered by the executors. With `fragments`
        cells that no query tells apart are one shard; then nothing can be backfilled.
        """
        if self._running is not None and self._running.is_active:
            raise CatalogError("the loom is running", "it was started before", "running.stop()")
        timing = {
            name: timing_of(source, output_mode, allowed_lateness)
            for name, source in self._sources.streams.items()
        }
        opened = Checkpoint(checkpoint)
        self._take_up(opened.registry)
        target = sink_for(sink, self.spark)
        listeners: list[Listener] = []
        streams: dict[str, tuple[StreamingQuery, StreamLoop]] = {}
        for key, source in self._sources.streams.items():
            name, time = source.info.name, source.info.time
            job = Job(
                self.spark,
                name,
                time,
                timing[key],
                self._sources.lookups,
                functools.partial(self._queries_of, name),
                self._sources.bind,
                most_on_driver,
                self._cost,
                fragments,
            )
            files = opened.of(name, source.rows, time)
            streams[name] = start_stream(
                job,
                source.rows,
                files,
                target,
                trigger or {"processingTime": "0 seconds"},
                listeners,
            )
        self._registry, self._folds = opened.registry, fragments
        quiet = parse_duration(idle) if idle else None
        self._running = Running(self.spark, streams, target, listeners, quiet)
        return self._running

    def sketch(
        self,
        *,
        budget: int,
        metric: Metric = "average",
        confidence: float = 0.95,
        seed: int = 0,
    ) -> Estimator:
        """Estimate COUNT and SUM over joins of streams and tables in so many words of memory.

        Queries are added to what this gives, not to the loom, whose answers are exact.
        """
        return Estimator(
            self.spark,
            self._sources.relations,
            budget=budget,
            metric=metric,
            confidence=confidence,
            seed=seed,
        )

    def _take_up(self, registry: Registry) -> None:
        """Add the queries of a checkpoint, and register the new ones there."""
        known = {stored.name: stored for stored in registry.all()}
        for stored in known.values():
            here = self._queries.get(stored.name)
            if here is None:
                self.add(stored.sql, name=stored.name, backfill=stored.backfill)
            elif here.query.text != stored.sql:
                raise QueryError(
                    f"query {stored.name!r} is another one in the checkpoint",
                    f"there it is {' '.join(stored.sql.split())}",
                    "the same SQL, another name, or loom.remove() once it runs",
                )
        for name, bound in self._queries.items():
            if name not in known:
                registry.put(Registered(name, bound.query.text, bound.backfill))

    def _run_stream(
        self,
        stream: str,
        queries: Sequence[BoundQuery],
        options: _Options,
    ) -> Answers:
        source = self._sources.stream(stream)
        load = self._load(source, queries)
        plan = optimize(stream, queries, self._cost, load, trees=options.trees)
        enriched = self._sources.lookups.enrich(source.rows, plan.joins, plan.columns)
        cells = Cells()
        try:
            reduced = choose(plan, enriched, self._cost, cells, options.fragments)
            answers = run(
                self.spark,
                plan,
                enriched,
                source.info.time,
                lambda: source.instant,
                most_on_driver=options.most_on_driver,
                cells=cells,
                folds=fold(plan.forest, cells) if reduced is None else {},
                reduced=reduced,
            )
        except SPARK_ERRORS as error:
            fragile = [q for q in queries if q.fragile]
            if not fragile:
                raise failed_job(error) from error
            # One of these raised, and all others would have gone down with it.
            sturdy = [q for q in queries if not q.fragile]
            apart = {q.name: (q.query, self._slots_alone(q.query)) for q in fragile}
            rest = [self._run_stream(stream, sturdy, options)] if sturdy else []
            return Answers.combined(self.spark, [*rest, Answers.apart(self.spark, apart)])
        self._reduced[stream] = reduced
        return answers

    def _load(self, source: StreamSource, queries: Sequence[BoundQuery]) -> Load:
        """What is known of the rows; they are looked at once, if it may matter."""
        if source.rows.isStreaming or not have_different_edges(queries):
            return Load()
        name, texts = source.info.name, [query.query.text for query in queries]
        known = self._loads.get(name)
        if known is None or known[0] != texts:
            rows, time = source.rows, source.info.time
            lookups = self._sources.lookups
            found = weighed(
                name, queries, rows, time, lookups, self._cost, lambda: source.counted[0]
            )
            known = self._loads[name] = texts, found
        return known[1]

    def _slots_alone(self, query: Query) -> DataFrame:
        time = self._sources.stream(query.stream).info.time
        return slots(self._sources.enriched(query), query, time)

    def alone(self, name: str) -> DataFrame:
        """The same query as a Spark job of its own: what sharing is compared with."""
        query = self._queries[name].query
        time = self._sources.stream(query.stream).info.time
        return alone(self._sources.enriched(query), query, time)

    def _queries_of(self, stream: str) -> list[BoundQuery]:
        # A copy, since queries may come and go while a stream runs.
        return [q for q in tuple(self._queries.values()) if q.query.stream == stream]
