"""The session: streams, tables and queries go in; a plan, and answers, come out."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from gingham.checkpoint.folder import Checkpoint
from gingham.checkpoint.registry import Registered, Registry
from gingham.core.errors import CatalogError, GinghamError, QueryError, refuse_renamed
from gingham.core.names import unused_name
from gingham.core.time import parse_duration
from gingham.estimates.algebra.allocation import Metric
from gingham.estimates.estimator import Estimator
from gingham.inspect.text import explain
from gingham.optimizer.cost import Cost
from gingham.plan.bound import BoundQuery
from gingham.plan.condition_cache import ConditionCache
from gingham.plan.fold import fold_cells
from gingham.plan.forest import Plan
from gingham.session.batch import BatchSession, RunOptions
from gingham.session.choose_records import SendRecords
from gingham.session.sources import Sources
from gingham.sinks.named import sink_for
from gingham.sinks.sink import Sink, SinkFunction
from gingham.spark.answers import Answers
from gingham.spark.shared_run import MOST_SHARDS_ON_DRIVER
from gingham.spark.spark_session import active_or_new_session
from gingham.stream.clock import timing_of
from gingham.stream.exact import ExactWork
from gingham.stream.planner import Job
from gingham.stream.running import Running, RunningStream
from gingham.stream.settings import StreamSettings
from gingham.stream.start import Start, start_exact


class Loom:
    """Weaves many windowed aggregate queries over a stream into one Spark pipeline."""

    def __init__(self, spark: SparkSession | None = None, *, cost: Cost | None = None) -> None:
        self.spark = spark or active_or_new_session()
        self._cost = cost or Cost()
        self._sources = Sources(self.spark)
        self._batch = BatchSession(self.spark, self._sources, self._cost)
        self._queries: dict[str, BoundQuery] = {}
        self._running: Running | None = None
        self._works: dict[str, ExactWork] = {}  # of the streams that are running
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
        """Add a query in SQL; it is refused here, or it will run. Gives its name.

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
        self._register(bound)
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
        for bound in changed.values():
            self._register(bound)

    def remove(self, name: str) -> None:
        """Take a query out; the answers of the others do not change."""
        if name not in self._queries:
            raise QueryError.unknown(name, self._queries)
        del self._queries[name]
        if self._registry is not None:
            self._registry.remove(name)

    def plan(self, stream: str | None = None, *, trees: Mapping[str, int] | None = None) -> Plan:
        """How the queries of a stream will be answered, or would be with these trees.

        Where windows differ, the rows of a static DataFrame are counted first.
        """
        name = self._sources.stream(stream).info.name
        own = self._queries_of(name)
        if not own:
            raise QueryError(f"no query reads {name}", "there is nothing to plan", "loom.add(...)")
        return self._batch.plan(name, own, trees)

    def explain(self, stream: str | None = None) -> str:
        """The plan as text: what is shared, by which queries, and why something is not.

        While a stream runs, that is the plan of its last batch.
        """
        return "\n".join(self._explained(s) for s in ([stream] if stream else self._streams()))

    def run(
        self,
        *,
        most_on_driver: int = MOST_SHARDS_ON_DRIVER,
        trees: Mapping[str, int] | None = None,
        send_records: SendRecords = False,
        **renamed: object,
    ) -> Answers:
        """Answer every query over static DataFrames, each stream in one pass.

        Which queries share slices is decided by cost, unless `trees` tells the tree of each. With
        `send_records` partitions send fewer records than there are queries, at the price of a job
        before it that sees which fragments there are; "auto" decides by cost.
        """
        refuse_renamed("loom.run", renamed, fragments="send_records")
        queries = {stream: self._queries_of(stream) for stream in self._streams()}
        options = RunOptions(most_on_driver, trees, send_records)
        return self._batch.run(queries, options, self.queries)

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
        fold_cells: bool = False,
        settings: StreamSettings | None = None,
        **renamed: object,
    ) -> Running:
        """Answer every query over streaming DataFrames, each stream read once.

        `checkpoint` is a folder from which a later start goes on, with the queries registered
        there. `sink` is a folder, "memory", "console" or f(name, dataframe, batch_id). `trigger`
        is what Spark takes: {"availableNow": True}, {"processingTime": "10 seconds"}.

        A window is answered once, when the watermark passes its end; with output_mode="update"
        whenever it changes; and again when rows come late, but not later than `allowed_lateness`.
        A stream without rows for as long as `idle` follows the clock on the wall. Groups that need
        more than `most_on_driver` shards are kept and answered by the executors. With `fold_cells`
        cells that no query tells apart are one shard; then nothing can be backfilled.
        """
        refuse_renamed("loom.start", renamed, fragments="fold_cells")
        if self._running is not None and self._running.is_active:
            raise CatalogError("the loom is running", "it was started before", "running.stop()")
        sources = self._sources.streams
        timings = [timing_of(s, output_mode, allowed_lateness) for s in sources.values()]
        opened = Checkpoint(checkpoint)
        self._take_up(opened.registry)
        target = sink_for(sink, self.spark)
        start = Start(target, trigger, listeners=[], settings=settings or StreamSettings())
        streams: dict[str, RunningStream] = {}
        for source, timing in zip(sources.values(), timings, strict=True):
            name, time = source.info.name, source.info.time
            job = Job(
                spark=self.spark,
                stream=name,
                time=time,
                timing=timing,
                lookups=self._sources.lookups,
                queries=functools.partial(self._queries_of, name),
                bind=self._sources.bind,
                most_on_driver=most_on_driver,
                cost=self._cost,
                fold_cells=fold_cells,
            )
            started = start_exact(job, source.rows, opened.of(name, source.rows, time), start)
            streams[name], self._works[name] = started.running, started.work
        self._registry = opened.registry
        quiet = parse_duration(idle) if idle else None
        self._running = Running(self.spark, streams, target, start.listeners, quiet)
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

    def alone(self, name: str) -> DataFrame:
        """The same query as a Spark job of its own: what sharing is compared with."""
        return self._batch.alone(self._queries[name].query)

    def _register(self, bound: BoundQuery) -> None:
        """Add a bound query to the loom, and to the checkpoint if streams run."""
        if self._registry is not None:
            self._registry.put(Registered(bound.name, bound.query.text, bound.backfill))
        self._queries[bound.name] = bound

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

    def _explained(self, stream: str) -> str:
        """The plan of a stream as text: the one that runs, or else the one that would run."""
        work = self._works.get(stream)
        running = work.current.plan if work is not None else None
        if work is None or running is None:
            plan = self.plan(stream)
            lines = [explain(plan, fold_cells(plan.forest, ConditionCache()))]
            lines += [f"  the last run sent {line}" for line in self._batch.sent(stream)]
        else:
            lines = [f"epoch {work.epoch} of", explain(running, work.folded_cells)]
        return "\n".join(lines)

    def _streams(self) -> list[str]:
        """The streams that queries read."""
        return sorted({query.query.stream for query in self._queries.values()})

    def _queries_of(self, stream: str) -> list[BoundQuery]:
        """The queries of the loom that read a stream."""
        # A copy, since queries may come and go while a stream runs.
        return [q for q in tuple(self._queries.values()) if q.query.stream == stream]
