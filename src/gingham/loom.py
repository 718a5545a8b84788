"""The session: streams, tables and queries go in; a plan, and answers, come out."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from gingham.checkpoint.folder import Checkpoint
from gingham.checkpoint.log import Log
from gingham.checkpoint.registry import Registered, Registry
from gingham.core.errors import CatalogError, GinghamError, QueryError, refuse_renamed
from gingham.core.file_names import check_name
from gingham.core.names import unused_name
from gingham.estimates.algebra.allocation import Metric
from gingham.estimates.estimator import Estimator
from gingham.estimates.planning.query_weights import Histograms
from gingham.inspect.text import explain
from gingham.optimizer.choose_ways import Way
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
from gingham.spark.answer_settings import answer_settings
from gingham.spark.answers import Answers
from gingham.spark.shared_run import MOST_SHARDS_ON_DRIVER
from gingham.spark.spark_session import active_or_new_session
from gingham.stream.clock import idle_of, timing_of
from gingham.stream.exact import ExactWork
from gingham.stream.growing_records import StreamRecords, check_records, refuse_windows_of_rows
from gingham.stream.planner import Job
from gingham.stream.running import Running, RunningStream, stop_streams
from gingham.stream.settings import StreamSettings
from gingham.stream.start import Start, refuse_running, start_exact


class Loom:
    """Weaves many windowed aggregate queries over a stream into one Spark pipeline.

    Queries may be added and removed by several threads at once.
    """

    def __init__(
        self,
        spark: SparkSession | None = None,
        *,
        cost: Cost | None = None,
        allow: Iterable[str] = (),
    ) -> None:
        """Open a loom over a Spark session, which is made if there is none.

        Queries may call functions of Spark that read nothing but their arguments, functions that
        were registered in the session, and those that `allow` names.
        """
        self.spark = spark or active_or_new_session()
        self._cost = cost or Cost()
        self._sources = Sources(self.spark, allow)
        self._batch = BatchSession(self.spark, self._sources, self._cost)
        self._lock = threading.RLock()  # of the queries; not held while Spark analyses one
        self._queries: dict[str, BoundQuery] = {}
        self._adding: set[str] = set()  # names of queries that Spark analyses at this moment
        self._unbound: dict[str, GinghamError] = {}  # queries of the checkpoint that Spark refuses
        self._starting = threading.Lock()
        self._running: Running | None = None
        self._works: dict[str, ExactWork] = {}  # of the streams that are running
        self._sends_records = False  # do running streams send records in place of fragments?
        self._registry: Registry | None = None  # of the checkpoint of what is running

    @property
    def queries(self) -> tuple[str, ...]:
        """The names of all queries, in the order in which they were added."""
        return tuple(self._queries)

    def stream(
        self,
        name: str,
        rows: DataFrame,
        *,
        time: str,
        watermark: str | None = None,
        ahead: str | None = "1 day",
    ) -> Loom:
        """Register the DataFrame that queries read FROM, and the column that holds its time.

        While a stream runs, a row that is more than `ahead` later than the clock on the wall, and
        than every row before it, is counted and in no window; with ahead=None every row counts.
        """
        self._sources.add_stream(name, rows, time, watermark, ahead)
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
        name = self._reserve(name)
        try:
            bound = _with_backfill(self._bind(sql, name), backfill=backfill)
            self._register(bound)
        except GinghamError as error:
            raise error.about(f"query {name!r}") from None
        finally:
            self._adding.discard(name)
        return name

    def replace(self, queries: Mapping[str, str], *, backfill: Collection[str] = ()) -> None:
        """Make these the queries, by name: all of them, or none if one is refused.

        New ones that `backfill` names answer earlier windows, too, as in `add`.
        """
        self.replacement(queries, backfill=backfill)()

    def replacement(
        self, queries: Mapping[str, str], *, backfill: Collection[str] = ()
    ) -> Callable[[], None]:
        """Check what `replace` would do, or raise why it is refused; gives the call that does it.

        So several things can be replaced together, or none of them.
        """
        changed: dict[str, BoundQuery] = {}
        errors: list[GinghamError] = []
        before = dict(self._queries)
        for name, sql in queries.items():
            check_name(name, "query", QueryError)
            here = before.get(name)
            if here is None or here.query.text != sql.strip():
                try:
                    bound = self._bind(sql, name)
                    changed[name] = _with_backfill(bound, backfill=name in backfill)
                except GinghamError as error:
                    errors.append(error.about(f"query {name!r}"))
        if errors:
            raise ExceptionGroup("queries that are refused", errors)

        def take() -> None:
            with self._lock:
                for name in [n for n in (*self._queries, *self._unbound) if n not in queries]:
                    self.remove(name)
                for bound in changed.values():
                    self._register(bound)

        return take

    def remove(self, name: str) -> None:
        """Take a query out; the answers of the others do not change."""
        with self._lock:
            if name not in self._queries and name not in self._unbound:
                raise QueryError.unknown(name, (*self._queries, *self._unbound))
            if self._registry is not None:
                self._registry.remove(name)
            self._queries.pop(name, None)
            self._unbound.pop(name, None)

    def plan(
        self,
        stream: str | None = None,
        *,
        trees: Mapping[str, int] | None = None,
        way: Way = "auto",
    ) -> Plan:
        """How the queries of a stream will be answered, or would be with these trees, this way.

        Where windows differ, the rows of a static DataFrame are counted first.
        """
        name = self._sources.stream(stream).info.name
        own = self._queries_of(name)
        if not own:
            raise QueryError(f"no query reads {name}", "there is nothing to plan", "loom.add(...)")
        return self._batch.plan(name, own, trees, way)

    def explain(
        self,
        stream: str | None = None,
        *,
        trees: Mapping[str, int] | None = None,
        way: Way = "auto",
    ) -> str:
        """The plan as text: what is shared, by which queries, and why something is not.

        While a stream runs, that is the plan of its last batch.
        """
        streams = [stream] if stream else self._streams()
        return "\n".join(self._explained(name, trees, way) for name in streams)

    def run(
        self,
        *,
        most_on_driver: int = MOST_SHARDS_ON_DRIVER,
        trees: Mapping[str, int] | None = None,
        send_records: SendRecords = False,
        way: Way = "auto",
        **renamed: object,
    ) -> Answers:
        """Answer every query over static DataFrames, each stream in one pass.

        Which queries share slices is decided by cost, unless `trees` tells the tree of each. With
        `send_records` partitions send fewer records than there are queries, at the price of a job
        before it that sees which fragments there are; "static" does without that job and sends the
        records of all fragments that may be, "auto" decides by cost. `way` says whether queries go
        by "cells" or by "columns", as far as they can; "auto" decides by cost.
        """
        refuse_renamed("loom.run", renamed, fragments="send_records")
        queries = {stream: self._queries_of(stream) for stream in self._streams()}
        options = RunOptions(most_on_driver, trees, send_records, way)
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
        send_records: StreamRecords = False,
        way: Way = "auto",
        settings: StreamSettings | None = None,
        adopt_sink: bool = False,
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
        cells that no query tells apart are one shard; then nothing can be backfilled. With
        `send_records` these are reduced to fewer records than there are queries: those of the
        fragments that were seen so far, or, if it is "static", of all that may be. `way` says
        whether new queries go by "cells" or by "columns", as far as they can; by columns, windows
        before a query was added are answered only if the same rows were selected before.

        What answers depend on stays as it was when the checkpoint was made: watermark,
        `output_mode`, `allowed_lateness`, `fold_cells`, whether records are sent, and some settings
        of the Spark session. A folder with answers of another checkpoint is refused as a sink,
        unless `adopt_sink` says that answers are to be added to those.
        """
        refuse_renamed("loom.start", renamed, fragments="fold_cells")
        check_records(send_records)
        sharing = {"fold_cells": str(fold_cells or bool(send_records)).lower()}
        if send_records:
            sharing["send_records"] = "true"
        if not self._starting.acquire(blocking=False):
            raise CatalogError("the loom is being started", "another thread does so", "one of them")
        try:
            if self._running is not None:
                if not self._running.has_ended:
                    raise CatalogError(
                        "the loom is running", "it was started before", "running.stop()"
                    )
                self._running.stop()  # answers that wait are delivered by what is started now
            sources = self._sources.streams
            timings = [timing_of(s, output_mode, allowed_lateness) for s in sources.values()]
            quiet = idle_of(idle)
            target = sink_for(sink, self.spark)
            refuse_running(self.spark, [source.info.name for source in sources.values()])
            start = Start(target, trigger, [], settings or StreamSettings(), adopt_sink)
            opened, spark_settings = Checkpoint(checkpoint), answer_settings(self.spark)
            folders = [
                opened.of(
                    s.info.name,
                    s.rows,
                    s.info.time,
                    {**spark_settings, **timing.to_json(), **sharing},
                )
                for s, timing in zip(sources.values(), timings, strict=True)
            ]
            start.claim_sink(opened.id)
            lease = opened.lease()
            registry = opened.registry(lease)
            added = self._take_up(registry)
            streams: dict[str, RunningStream] = {}
            works: dict[str, ExactWork] = {}
            try:
                refuse_windows_of_rows(self._queries.values(), sends_records=bool(send_records))
                for source, timing, files in zip(sources.values(), timings, folders, strict=True):
                    name = source.info.name
                    job = Job(
                        spark=self.spark,
                        stream=name,
                        time=source.info.time,
                        timing=timing,
                        lookups=self._sources.lookups,
                        queries=functools.partial(self._queries_of, name),
                        bind=self._sources.bind,
                        most_on_driver=most_on_driver,
                        cost=self._cost,
                        fold_cells=fold_cells or bool(send_records),
                        send_records=send_records,
                        way=way,
                        unbound=lambda: dict(self._unbound),
                    )
                    log = Log(files, lease, opened.id)
                    started = start_exact(job, source.rows, files, log, start)
                    streams[name], works[name] = started.running, started.work
            except BaseException:
                stop_streams(streams.values(), start.settings.stop_patience)
                self._put_down(registry, added)
                raise
            self._works, self._sends_records = works, bool(send_records)
            self._running = Running(
                self.spark, streams, target, start.listeners, quiet, start.settings
            )
            return self._running
        finally:
            self._starting.release()

    def sketch(
        self,
        *,
        budget: int,
        metric: Metric = "average",
        confidence: float = 0.95,
        seed: int = 0,
        weights: Mapping[str, float] | None = None,
        histograms: Histograms | None = None,
        changes: Mapping[str, str] | None = None,
    ) -> Estimator:
        """Estimate COUNT, SUM and AVG over joins of streams and tables in so many words of memory.

        Queries are added to what this gives, not to the loom, whose answers are exact. The budget
        is for everything that a stream holds between two batches: the sketches of all queries, in
        all slices of time that open windows need.

        Memory is divided by how hard queries are. `weights` says so by name of the query: eight
        times the relative variance of one copy of its estimate; such a query keeps its weight.
        `histograms`, by relation and join attribute, guess the weights of the others until a run
        or a window has measured them. Without either, the first run weighs all alike.

        `changes` names, by relation, the column that tells rows that were deleted from those that
        were inserted: text as in the `_change_type` of a change feed (insert, delete,
        update_preimage, update_postimage), or whole numbers, 1 and -1. Estimates are those of the
        rows that are left.
        """
        return Estimator(
            self.spark,
            self._sources.relations,
            self._sources.functions.is_allowed,
            budget=budget,
            metric=metric,
            confidence=confidence,
            seed=seed,
            weights=weights,
            histograms=histograms,
            changes=changes,
        )

    def alone(self, name: str) -> DataFrame:
        """The same query as a Spark job of its own: what sharing is compared with."""
        if name not in self._queries:
            raise QueryError.unknown(name, self._queries)
        return self._batch.alone(self._queries[name].query)

    def _reserve(self, name: str | None) -> str:
        """Keep a name for a query until it is added or refused; raises if it is taken."""
        with self._lock:
            taken = {*self._queries, *self._adding, *self._unbound}
            name = unused_name(taken) if name is None else check_name(name, "query", QueryError)
            if name in taken:
                raise QueryError.named_twice(name, "loom.remove")
            self._adding.add(name)
            return name

    def _register(self, bound: BoundQuery) -> None:
        """Add a bound query to the loom, and to the checkpoint if streams run."""
        with self._lock:
            if self._registry is not None:
                self._registry.put(Registered(bound.name, bound.query.text, bound.backfill))
            self._queries[bound.name] = bound
            self._unbound.pop(bound.name, None)

    def _take_up(self, registry: Registry) -> list[str]:
        """Add the queries of a checkpoint, and register the new ones there; gives their names.

        A query that Spark refuses now, say because a function of the user's is not there, is set
        aside: it stays in the checkpoint and has no answers, and the others run.
        """
        known = {stored.name: stored for stored in registry.all()}
        bound: dict[str, BoundQuery] = {}
        unbound: dict[str, GinghamError] = {}
        for name, stored in known.items():
            here = self._queries.get(name)
            try:
                bound[name] = here or self._sources.bind(stored.sql, name)
            except GinghamError as error:
                unbound[name] = _set_aside(name, error)
                continue
            if bound[name].query.text != stored.sql:
                raise QueryError(
                    f"query {name!r} is another one in the checkpoint",
                    f"there it is {' '.join(stored.sql.split())}",
                    "the same SQL, another name, or loom.remove() once it runs",
                )
            if here is None:
                bound[name] = replace(bound[name], backfill=stored.backfill)
        with self._lock:
            self._queries |= {n: b for n, b in bound.items() if n not in self._queries}
            self._unbound = unbound
            new = [name for name in self._queries if name not in known]
            queries = (self._queries[name] for name in new)
            registry.put(*(Registered(q.name, q.query.text, q.backfill) for q in queries))
            # From here on queries that other threads add are registered, too.
            self._registry = registry
        return new

    def _put_down(self, registry: Registry, added: Sequence[str]) -> None:
        """Take out of a checkpoint what `_take_up` put there, if the start was refused."""
        with self._lock:
            self._registry = None
            for name in added:
                registry.remove(name)

    def _explained(self, stream: str, trees: Mapping[str, int] | None, way: Way) -> str:
        """The plan of a stream as text: the one that runs, or else the one that would run."""
        work = self._works.get(stream)
        running = work.current.plan if work is not None else None
        if work is None or running is None:
            plan = self.plan(stream, trees=trees, way=way)
            lines = [explain(plan, fold_cells(plan.forest, ConditionCache()))]
            lines += [f"  the last run sent {line}" for line in self._batch.sent(stream)]
            lines += [f"  in the last run, {line}" for line in self._batch.detours(stream)]
        else:
            lines = [f"epoch {work.epoch} of", explain(running, work.folded_cells)]
            records = work.current.records
            lines += [f"  sent are {line}" for line in (records.notices if records else ())]
        return "\n".join(lines)

    def _bind(self, sql: str, name: str) -> BoundQuery:
        """Read a query that joins the others; raises if it cannot."""
        bound = self._sources.bind(sql, name)
        if self._running is not None and not self._running.has_ended:
            refuse_windows_of_rows([bound], sends_records=self._sends_records)
        return bound

    def _streams(self) -> list[str]:
        """The streams that queries read."""
        return sorted({query.query.stream for query in self._queries.values()})

    def _queries_of(self, stream: str) -> list[BoundQuery]:
        """The queries of the loom that read a stream."""
        # A copy, since queries may come and go while a stream runs.
        return [q for q in tuple(self._queries.values()) if q.query.stream == stream]


def _with_backfill(bound: BoundQuery, *, backfill: bool) -> BoundQuery:
    """A query that is answered for the time before it was added, if asked; raises if it cannot."""
    if backfill and bound.window.clock.by_rows:
        raise QueryError(
            "backfill of a query with [ROWS ...]",
            "its windows start at rows that are numbered after it was added",
            "the query without backfill, or [RANGE r SLIDE s]",
        )
    return replace(bound, backfill=backfill)


def _set_aside(name: str, error: GinghamError) -> GinghamError:
    """The error of a query of the checkpoint that cannot be bound any more."""
    return QueryError(
        f"query {name!r} of the checkpoint is set aside: {error.what}",
        error.why,
        f"what it needs before loom.start(...), or loom.remove({name!r})",
    )
