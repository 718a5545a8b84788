"""Queries over static DataFrames: each stream is planned, and read in one pass."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession

from gingham.core.errors import CatalogError
from gingham.core.names import POSITION
from gingham.logical.query import Query
from gingham.optimizer import optimize
from gingham.optimizer.choose_ways import Way
from gingham.optimizer.cost import Cost
from gingham.plan.bound import BoundQuery
from gingham.plan.condition_cache import ConditionCache
from gingham.plan.fold import fold_cells
from gingham.plan.forest import Plan
from gingham.plan.row_statistics import RowStatistics
from gingham.session.choose_records import OccupiedCells, SendRecords, choose_records
from gingham.session.fragile import run_in_parts
from gingham.session.measure_statistics import is_worth_a_look, measure_statistics
from gingham.session.sources import Sources, StreamSource
from gingham.spark.answers import AloneAnswer, Answers
from gingham.spark.failure_cause import is_caused_by_plan
from gingham.spark.measure_rows import count_rows
from gingham.spark.positions import number_rows
from gingham.spark.rows_to_records import occupied_cells
from gingham.spark.shared_run import run_shared
from gingham.spark.spark_errors import SPARK_ERRORS, spark_message
from gingham.spark.unshared import aggregate_windows, answer_alone


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of `Loom.run`: trees, records in place of shards, and the driver's limit."""

    most_on_driver: int
    trees: Mapping[str, int] | None
    send_records: SendRecords
    way: Way = "auto"


@dataclass(frozen=True, slots=True)
class _Measured:
    """The statistics of a stream's rows, measured for the queries with these texts."""

    texts: tuple[str, ...]
    statistics: RowStatistics


class BatchSession:
    """Plans and runs queries over the static DataFrames of some sources."""

    def __init__(
        self,
        spark: SparkSession,
        sources: Sources,
        cost: Cost,
        occupied_cells: OccupiedCells = occupied_cells,
    ) -> None:
        self._spark = spark
        self._occupied_cells = occupied_cells
        self._sources = sources
        self._cost = cost
        self._measured: dict[str, _Measured] = {}  # by stream
        self._records: dict[str, tuple[str, ...]] = {}  # what the last run of a stream sent
        self._detours: dict[str, tuple[str, ...]] = {}  # what did not run as planned, by stream

    def plan(
        self,
        stream: str,
        queries: Sequence[BoundQuery],
        trees: Mapping[str, int] | None = None,
        way: Way = "auto",
    ) -> Plan:
        """Plan queries over a stream; where windows differ, its rows are counted first."""
        statistics = self._statistics(self._sources.stream(stream), queries)
        return optimize(stream, queries, self._cost, statistics, trees=trees, way=way)

    def sent(self, stream: str) -> tuple[str, ...]:
        """The records that the last batch run sent in place of shards, a line for each grid."""
        return self._records.get(stream, ())

    def detours(self, stream: str) -> tuple[str, ...]:
        """What did not run as planned in the last batch run, and why."""
        return self._detours.get(stream, ())

    def run(
        self, queries: Mapping[str, Sequence[BoundQuery]], options: RunOptions, order: Sequence[str]
    ) -> Answers:
        """Answer queries over static DataFrames, stream by stream, in this order of names."""
        for stream in queries:
            if self._sources.stream(stream).rows.isStreaming:
                raise CatalogError(
                    f"{stream} is a streaming DataFrame",
                    "its rows do not end, so there is no answer to wait for",
                    "loom.start(checkpoint=..., sink=...)",
                )
        parts = [self._run_stream(stream, own, options) for stream, own in queries.items()]
        return Answers.combined(parts, order)

    def alone(self, query: Query) -> DataFrame:
        """The same query as a Spark job of its own, over the static DataFrame."""
        rows, time = self._sources.alone(query)
        return answer_alone(rows, query, time)

    def _run_stream(
        self, stream: str, queries: Sequence[BoundQuery], options: RunOptions
    ) -> Answers:
        """Answer the queries of a stream together; those that bring the job down run alone.

        Alone, a query may well run: it does not look at rows that its own WHERE keeps away.
        """
        source = self._sources.stream(stream)
        parts, culprits = run_in_parts(
            queries,
            lambda part: self._run_shared(stream, part, options),
            lambda: count_rows(source.rows, source.info.time),
        )
        if culprits:
            apart = {q.name: AloneAnswer(q.query, self._slots_alone(q.query)) for q, _ in culprits}
            why = [f"{q.name} runs alone: {error.why}" for q, error in culprits]
            parts.append(Answers.apart(apart, why))
        answers = Answers.combined(parts)
        self._detours[stream] = answers.statistics.detours
        return answers

    def _run_shared(
        self, stream: str, queries: Sequence[BoundQuery], options: RunOptions
    ) -> Answers:
        """Answer queries of a stream together; if the plan fails, by another plan, and say so."""
        try:
            return self._run_planned(stream, queries, options)
        except SPARK_ERRORS as error:
            if not is_caused_by_plan(error):
                raise
            by_columns = self.plan(stream, queries, options.trees, options.way).forest.by_columns
            other: Way = "cells" if by_columns.grids else "columns"
            why = f"the plan of {len(queries)} queries failed: {spark_message(error)}"
            detour = f"{why}; they go by {other}, which is a limit of Gingham's, not of the queries"
            answers = self._run_planned(stream, queries, replace(options, way=other, trees=None))
            # Only now: if it had failed the other way, too, the plan would not have been to blame.
            warnings.warn(detour, RuntimeWarning, stacklevel=2)
            return answers.with_detour(detour)

    def _run_planned(
        self, stream: str, queries: Sequence[BoundQuery], options: RunOptions
    ) -> Answers:
        """Plan the queries of a stream, and answer them in one pass over its rows for each clock.

        Windows of rows are windows over positions, of rows that are numbered before.
        """
        source = self._sources.stream(stream)
        plan = self.plan(stream, queries, options.trees, options.way)
        parts: list[Answers] = []
        self._records[stream] = ()
        for clock, forest in plan.forest.by_clock.items():
            own = replace(plan, forest=forest)
            if not clock.by_rows:
                time, find_instant = source.info.time, lambda: source.instant
                parts.append(self._run_rows(own, source.rows, time, find_instant, options))
                continue
            numbered = number_rows(source.rows, source.info.time, clock, plan.columns)
            try:
                part = self._run_rows(own, numbered.rows, POSITION, lambda: 0, options)
            except BaseException:
                numbered.release()
                raise
            parts.append(part.holding(numbered.release))
        return Answers.combined(parts, [query.name for query in queries])

    def _run_rows(
        self,
        plan: Plan,
        rows: DataFrame,
        time: str,
        find_instant: Callable[[], int],
        options: RunOptions,
    ) -> Answers:
        """Answer the queries of a plan in one pass over rows whose instants are in column `time`.

        `find_instant` is that of `run_shared`.
        """
        enriched = self._sources.lookups.enrich(rows, plan.joins, (*plan.columns, time))
        cells = ConditionCache()
        by_cells = replace(plan, forest=plan.forest.by_cells)
        records = choose_records(
            by_cells, enriched, self._cost, cells, options.send_records, self._occupied_cells
        )
        with self._sources.lookups.checked():
            answers = run_shared(
                self._spark,
                plan,
                enriched,
                time,
                find_instant,
                most_on_driver=options.most_on_driver,
                cells=cells,
                # Nobody comes later who might want the rows that nobody wants now.
                folded_cells={}
                if records is not None
                else fold_cells(plan.forest, cells, drop_unwanted=True),
                forest_records=records,
            )
        if records is not None:
            self._records[plan.stream] += records.notices
        return answers

    def _statistics(self, source: StreamSource, queries: Sequence[BoundQuery]) -> RowStatistics:
        """Statistics of a stream's rows: measured once if windows differ, else assumed."""
        if source.rows.isStreaming or not is_worth_a_look(queries):
            return RowStatistics()
        name, texts = source.info.name, tuple(query.query.text for query in queries)
        known = self._measured.get(name)
        if known is None or known.texts != texts:
            statistics = measure_statistics(
                name,
                queries,
                source.rows,
                source.info.time,
                self._sources.lookups,
                self._cost,
                lambda: source.counted[0],
            )
            known = self._measured[name] = _Measured(texts, statistics)
        return known.statistics

    def _slots_alone(self, query: Query) -> DataFrame:
        """The aggregates by window and keys of one query, computed by Spark without sharing."""
        rows, time = self._sources.alone(query)
        return aggregate_windows(rows, query, time)
