"""Join aggregates over sketches: queries go in; a plan within a budget, and estimates, come out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from gingham.algebra.sketches.space import Metric
from gingham.core.errors import CatalogError, GinghamError, QueryError
from gingham.core.stopwatch import Stopwatch
from gingham.finals.estimates import SketchTable, estimated
from gingham.inspect.sketches import explain_sketches
from gingham.logical.join_aggregate import JoinAggregate, Relation
from gingham.optimizer.share_sketches import share_sketches
from gingham.plan.sketches import BoundJoin, SketchPlan
from gingham.plan.slices import Slices, sliced
from gingham.spark.check import MakeSafe, Unsafe, failed_job
from gingham.spark.estimates import Estimates
from gingham.spark.run import first_instant
from gingham.spark.session import is_ansi, planned_once
from gingham.spark.sketch_pass import sketch_relations
from gingham.spark.join_types import check_join
from gingham.spark.types import Types
from gingham.sql.join_aggregates import parse_join_aggregate
from gingham.sql.safe import CannotBeMadeSafe, calls_user_function, safe


@dataclass(frozen=True, slots=True)
class Source:
    """The rows of a relation, and their event time if they have one."""

    name: str
    rows: DataFrame
    time: str | None = None

    @property
    def relation(self) -> Relation:
        fields = self.rows.schema.fields
        return Relation(self.name, {f.name: f.dataType.simpleString() for f in fields}, self.time)


class Estimator:
    """Estimates COUNT and SUM over joins from sketches that share a budget of words.

    With windows, every slice of a stream has sketches of that many words.
    """

    def __init__(
        self,
        spark: SparkSession,
        sources: Callable[[], Mapping[str, Source]],
        budget: int,
        metric: Metric = "average",
        seed: int = 0,
    ) -> None:
        self.spark = spark
        self.budget = budget
        self.metric: Metric = metric
        self.seed = seed
        self._registered = sources
        self._own: dict[str, Source] = {}
        self._types: dict[str, Types] = {}
        self._queries: dict[str, BoundJoin] = {}
        self._weights: dict[str, float] = {}

    @property
    def queries(self) -> tuple[str, ...]:
        """The names of all queries, in the order in which they were added."""
        return tuple(self._queries)

    def relation(self, name: str, rows: DataFrame) -> Estimator:
        """Register static rows that need neither an event time nor a unique key."""
        if name.lower() in self._sources:
            raise CatalogError(
                f"{name!r} is registered already",
                "streams, tables and relations share one set of names",
                "another name",
            )
        self._own[name.lower()] = Source(name, rows)
        return self

    def add(self, sql: str, *, name: str | None = None) -> str:
        """Add a query; it is refused here, or the next run estimates it. Gives its name."""
        name = name or f"q{len(self._queries) + 1}"
        if name in self._queries:
            raise QueryError(
                f"two queries named {name!r}",
                "answers are found by name",
                f"another name, or remove({name!r}) first",
            )
        try:
            bound = self._bind(sql, name)
            # Refuses what does not fit the budget.
            self._planned([*self._queries.values(), bound])
        except GinghamError as error:
            raise error.about(f"query {name!r}") from None
        self._queries[name] = bound
        return name

    def remove(self, name: str) -> None:
        """Take a query out; the next run divides its memory among the others."""
        if name not in self._queries:
            raise QueryError(
                f"there is no query {name!r}",
                "it was never added, or it was removed",
                "one of " + (", ".join(self._queries) or "none: no query is registered"),
            )
        del self._queries[name]
        self._weights.pop(name, None)

    def plan(self) -> SketchPlan:
        """Which sketches the next run makes."""
        if not self._queries:
            raise QueryError("no queries", "there is nothing to plan", "sketches.add(...)")
        return self._planned(list(self._queries.values()))

    def explain(self) -> str:
        """The plan as text: who shares which sketches, and how large they are."""
        return explain_sketches(self.plan())

    def run(self, *, confidence: float = 0.95) -> Estimates:
        """Estimate every query from one pass over each relation.

        What the sketches show of how hard each query is divides the memory of the next run.
        """
        plan = self.plan()
        for one in plan.passes:
            if self._sources[one.relation.lower()].rows.isStreaming:
                raise CatalogError(
                    f"{one.relation} is a streaming DataFrame",
                    "its rows do not end, so there is no answer to wait for",
                    "a static DataFrame of the rows that count",
                )
        return self._run(list(plan.queries), confidence)

    def _run(self, queries: list[BoundJoin], confidence: float) -> Estimates:
        plan, watch = self._planned(queries), Stopwatch()
        try:
            table = self._sketched(plan)
        except (PySparkException, Py4JError) as error:
            sturdy = [query for query in queries if not query.fragile]
            if len(sturdy) == len(queries):
                raise failed_job(error) from error
            # One of these raised, and all others would have gone down with it.
            failed = {q.name: failed_job(error) for q in queries if q.fragile}
            rest = self._run(sturdy, confidence) if sturdy else Estimates(self.spark, {}, {})
            found = {**failed, **rest.tables}
            return replace(rest, tables={q.name: found[q.name] for q in queries})
        watch.lap("sketches")
        sketches = SketchTable(table, plan.sharing)
        cut = frozenset(one.relation for one in plan.passes if one.sliced)
        tables: dict[str, pa.Table | GinghamError] = {}
        for query in queries:
            try:
                one = estimated(query, sketches, cut, confidence, self._instant(query.query))
            except GinghamError as error:
                tables[query.name] = error.about(f"query {query.name!r}")
                continue
            tables[query.name] = one.table
            if one.weight is not None:
                self._weights[query.name] = one.weight
        watch.lap("estimates")
        return Estimates(self.spark, tables, watch.laps)

    def _sketched(self, plan: SketchPlan) -> pa.Table:
        sources = {one.relation: self._sources[one.relation.lower()] for one in plan.passes}
        made = sketch_relations(
            plan,
            {name: source.rows for name, source in sources.items()},
            {name: source.time for name, source in sources.items()},
            self._slices(plan, list(sources.values())),
        )
        with planned_once(self.spark):
            return made.toArrow()

    def _slices(self, plan: SketchPlan, sources: Sequence[Source]) -> Slices | None:
        if not plan.edges:
            return None

        def around() -> tuple[int, int | None]:
            source = next(s for s in sources if s.time is not None)
            return first_instant(source.rows, source.time or ""), None

        return sliced({0: plan.edges}, around)[0]

    def _planned(self, queries: Sequence[BoundJoin]) -> SketchPlan:
        return share_sketches(
            queries,
            {source.name: source.time for source in self._sources.values()},
            budget=self.budget,
            metric=self.metric,
            weights=self._weights,
            seed=self.seed,
        )

    def _bind(self, sql: str, name: str) -> BoundJoin:
        catalog = {key: source.relation for key, source in self._sources.items()}
        query = parse_join_aggregate(sql, name, catalog)
        types: dict[str, Types] = {}
        make_safe: dict[str, MakeSafe] = {}
        for alias, relation in query.relations.items():
            key = relation.lower()
            types[alias] = self._types.setdefault(key, Types(self._sources[key].rows))
            make_safe[alias] = self._make_safe(catalog[key])
        bound = check_join(query, types, make_safe)
        read = [s.sql for s in query.selections.values()] + list(query.measures.values())
        read += [sql for _, a, _, b in query.joins for sql in (a, b)]
        return replace(bound, fragile=bound.fragile or any(map(calls_user_function, read)))

    def _make_safe(self, relation: Relation) -> MakeSafe:
        ansi = is_ansi(self.spark)

        def make_safe(expression: str) -> tuple[str, str | None]:
            try:
                found = safe(expression, relation.columns, ansi=ansi)
            except CannotBeMadeSafe as error:
                raise Unsafe from error
            return found.sql, found.raises

        return make_safe

    def _instant(self, query: JoinAggregate) -> pa.DataType:
        """The type of window bounds: that of the first stream's event time."""
        for relation in query.relations.values():
            source = self._sources[relation.lower()]
            if source.time is not None:
                plain = source.relation.columns[source.time] == "timestamp_ntz"
                return pa.timestamp("us", None if plain else "UTC")
        return pa.timestamp("us", "UTC")

    @property
    def _sources(self) -> dict[str, Source]:
        return {**self._registered(), **self._own}
