"""What batch runs and streams of estimates have in common: relations, a budget, and Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from gingham.core.time import FOREVER, NEVER, parse_duration, wall_clock
from gingham.estimates.algebra.allocation import Metric
from gingham.estimates.planning.bound_join import BoundJoin
from gingham.estimates.planning.estimate_query import QueryEstimates, WindowStarts, estimate_query
from gingham.estimates.planning.join_aggregate import Relation
from gingham.estimates.planning.parse_joins import parse_join_aggregate
from gingham.estimates.planning.query_weights import PriorWeights
from gingham.estimates.planning.share_sketches import share_sketches
from gingham.estimates.planning.sketch_plan import SketchPlan
from gingham.estimates.planning.sketch_table import SketchTable
from gingham.estimates.planning.weave_sketches import SharedSketches
from gingham.estimates.spark.bind_join import bind_join
from gingham.estimates.spark.change_sql import CHANGE_TYPE, change_sql
from gingham.estimates.spark.sketch_pass import SketchPasses
from gingham.logical.risk import RiskOf
from gingham.plan.slices import Slices, sliced
from gingham.session.sources import RelationSource
from gingham.session.stand_ins import StandIns
from gingham.spark.event_time import (
    any_instant,
    bounded_micros_sql,
    earliest_instant,
    micros_sql,
)
from gingham.spark.expression_types import ExpressionTypes, column_types
from gingham.spark.spark_session import is_ansi
from gingham.sql.functions import IsAllowed
from gingham.sql.may_raise import may_raise
from gingham.stream.clock import Marks, last_instant


@dataclass(frozen=True, slots=True)
class RowCounts:
    """What was counted of the rows of a micro-batch before they are sketched."""

    rows: int  # with an event time
    late: int  # before the watermark
    timeless: int
    ahead: int  # too far in the future
    latest: int  # the latest event time; NEVER if there is none


# So many plans of parts of the queries are remembered.
_MOST_KNOWN = 2_000


def relation_of(source: RelationSource) -> Relation:
    """Give a source as the parser of joins knows it: a name, columns, an event time."""
    return Relation(source.name, column_types(source.rows), source.time, source.stand_in)


def _changes_of(source: RelationSource) -> str | None:
    """SQL of how many rows a row of a relation adds; None if every row adds itself."""
    if source.changes is None:
        return None
    return change_sql(source.name, source.changes, column_types(source.rows))


def _unread_changes(sources: Iterable[RelationSource]) -> Iterator[str]:
    """Notices of relations that look like change feeds, and whose rows are all added."""
    for source in sources:
        if source.changes is None and CHANGE_TYPE in column_types(source.rows):
            yield (
                f"{source.name} has a column {CHANGE_TYPE}, and all its rows are added: "
                f'changes={{"{source.name}": "{CHANGE_TYPE}"}} subtracts those that were deleted'
            )


@dataclass(frozen=True)
class SketchSession:
    """Relations by their names in lower case, and how much memory their sketches may take.

    `is_allowed` tells which functions queries may call beyond Spark's harmless ones.
    """

    spark: SparkSession
    sources: Callable[[], Mapping[str, RelationSource]]
    stand_ins: StandIns
    is_allowed: IsAllowed
    budget: int
    metric: Metric
    seed: int
    confidence: float
    prior: PriorWeights = field(default_factory=PriorWeights)
    _types: dict[str, ExpressionTypes] = field(default_factory=dict[str, ExpressionTypes])
    _passes: SketchPasses = field(default_factory=SketchPasses)
    # What was found for parts of the queries when they were planned before.
    _shared: dict[bytes, SharedSketches] = field(default_factory=dict[bytes, SharedSketches])

    def source(self, relation: str) -> RelationSource:
        """Find the rows of a relation that join queries read."""
        return self.sources()[relation.lower()]

    def bind(self, sql: str, name: str) -> BoundJoin:
        """Parse a join aggregate and let Spark check it, or raise an error that says why not."""
        sources = self.sources()
        catalog = {key: relation_of(source) for key, source in sources.items()}
        parsed = parse_join_aggregate(sql, name, catalog, self.is_allowed)
        self.stand_ins.compare(parsed.comparison)
        types: dict[str, ExpressionTypes] = {}
        risks: dict[str, RiskOf] = {}
        for alias, relation in parsed.query.relations.items():
            key = relation.lower()
            types[alias] = self._types.setdefault(key, ExpressionTypes(sources[key].rows))
            risks[alias] = partial(may_raise, types=catalog[key].columns, ansi=is_ansi(self.spark))
        return bind_join(parsed.query, types, risks)

    def plan(self, queries: Sequence[BoundJoin], measured: Mapping[str, float]) -> SketchPlan:
        """Plan the sketches of join queries within the budget.

        `measured` has the weights that earlier runs or windows showed: how hard each query is.
        """
        weights, notices = self.prior.of(queries, measured)
        plan = self.plan_by_weights(queries, weights)
        read = [self.source(step.relation) for step in plan.passes]
        notices = (*notices, *_unread_changes(read))
        return replace(plan, notices=(*plan.notices, *notices)) if notices else plan

    def plan_by_weights(
        self, queries: Sequence[BoundJoin], weights: Mapping[str, float], *, per_slice: bool = False
    ) -> SketchPlan:
        """Plan the sketches of join queries by these weights, whatever the user says now."""
        sources = self.sources().values()
        if len(self._shared) > _MOST_KNOWN:
            self._shared.clear()
        return share_sketches(
            queries,
            {source.name: source.time for source in sources},
            budget=self.budget,
            metric=self.metric,
            weights=weights,
            seed=self.seed,
            delays={s.name: parse_duration(s.watermark) for s in sources if s.watermark},
            changes={s.name: sql for s in sources if (sql := _changes_of(s)) is not None},
            per_slice=per_slice,
            known=self._shared,
        )

    def look(self, stream: str, rows: DataFrame, marks: Marks) -> tuple[RowCounts, DataFrame]:
        """Count the rows of a stream's micro-batch before it is sketched, in one job.

        Gives the rows without those that are too far in the future, too.
        """
        source = self.source(stream)
        assert source.time is not None  # it is a stream
        earliest = NEVER
        if marks.latest == NEVER and source.ahead < FOREVER:
            earliest = earliest_instant(rows, source.time)
        last = last_instant(wall_clock(), marks.latest, earliest, source.ahead)
        instant = bounded_micros_sql(rows, source.time, last)
        timed, every, late, latest, ahead = rows.selectExpr(
            f"count({instant})",
            "count(1)",
            f"count_if({instant} < {marks.watermark}L)",
            f"max({instant})",
            f"count_if({micros_sql(rows, source.time)} > {last}L)",
        ).collect()[0]
        counts = RowCounts(
            rows=timed,
            late=late,
            timeless=every - timed - ahead,
            ahead=ahead,
            latest=NEVER if latest is None else latest,
        )
        return counts, rows if timed == every else rows.where(f"{instant} IS NOT NULL")

    def sketch(self, plan: SketchPlan, rows: Mapping[str, DataFrame]) -> pa.Table:
        """Compute the sketches of relations from these rows of them: one pass over each."""
        passes = [one for one in plan.passes if one.relation in rows]
        times = {one.relation: self.source(one.relation).time for one in passes}
        slices = self._slices(plan, rows, times)
        return self._passes.sketch(plan, passes, rows, times, slices)

    def _slices(
        self, plan: SketchPlan, rows: Mapping[str, DataFrame], times: Mapping[str, str | None]
    ) -> Slices | None:
        """The slices that sketches of streams are cut into; None without windows."""
        timed = {name: time for name, time in times.items() if time is not None}
        if not plan.edges or not timed:
            return None
        name, time = next(iter(timed.items()))
        return sliced({0: plan.edges}, lambda: (any_instant(rows[name], time), None))[0]

    def estimate(
        self, query: BoundJoin, plan: SketchPlan, sketches: SketchTable, starts: WindowStarts
    ) -> QueryEstimates:
        """Estimate a join query from sketches, for windows that start here."""
        bounds = pa.timestamp("us", "UTC")
        for relation in query.query.relations.values():
            source = self.source(relation)
            if source.time and column_types(source.rows)[source.time] == "timestamp_ntz":
                bounds = pa.timestamp("us")
        return estimate_query(query, sketches, plan.sliced, starts, self.confidence, bounds)
