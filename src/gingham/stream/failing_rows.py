"""The rows of a micro-batch that queries fail for: parts of it are tried without the others.

A query that fails for one row misses the windows around that row, and no others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial

from pyspark.sql import DataFrame

from gingham.plan.bound import BoundQuery
from gingham.spark.event_time import bounded_micros_sql
from gingham.spark.failure_cause import is_caused_by_rows
from gingham.spark.spark_errors import SPARK_ERRORS, failed_job
from gingham.stream.batch import Batch
from gingham.stream.epoch import Epoch
from gingham.stream.holes import Hole, by_failing_queries, narrow

Attempt = Callable[[Sequence[BoundQuery], DataFrame], tuple[Epoch, Batch]]

# How often parts of a batch are tried: for one query, and for all together.
_MOST_ATTEMPTS = 16
_ALL_ATTEMPTS = 64


class FailingRows:
    """Finds the spans of a micro-batch in which queries fail, and runs the job around them."""

    def __init__(self, rows: DataFrame, time: str, last_instant: int, attempt: Attempt) -> None:
        self._rows = rows
        self._instant = bounded_micros_sql(rows, time, last_instant)
        self._attempt = attempt

    @cached_property
    def span(self) -> Hole:
        """The span of event time of all rows that count."""
        edges = self._rows.selectExpr(f"min({self._instant})", f"max({self._instant})")
        first, last = edges.collect()[0]
        return Hole(first or 0, last or 0)

    def around(
        self, culprits: Sequence[BoundQuery], queries: Sequence[BoundQuery]
    ) -> tuple[dict[str, list[Hole]], list[tuple[Epoch, Batch]]]:
        """Make the shards of all rows; `culprits` go without spans in which they fail.

        Gives these spans by query, and the shards of disjoint parts of the rows.
        """
        holes = self._holes_of(culprits)
        try:
            return holes, self._around(holes, queries)
        except SPARK_ERRORS as error:
            if not is_caused_by_rows(error):
                raise failed_job(error) from error
        # Rows that fail only together: the culprits go without all of them.
        others = [query for query in queries if query.name not in holes]
        return {name: [self.span] for name in holes}, [self._attempt(others, self._rows)]

    def _holes_of(self, culprits: Sequence[BoundQuery]) -> dict[str, list[Hole]]:
        """The spans in which each of these queries fails, as short as some attempts make them."""
        attempts = min(_MOST_ATTEMPTS, _ALL_ATTEMPTS // max(1, len(culprits)))
        return {q.name: narrow(self.span, partial(self._fails, q), attempts) for q in culprits}

    def _fails(self, query: BoundQuery, span: Hole) -> bool:
        """Whether a query fails for the rows of a span."""
        try:
            _, batch = self._attempt([query], self._rows.where(self._is_within([span])))
        except SPARK_ERRORS as error:
            if not is_caused_by_rows(error):
                raise failed_job(error) from error
            return True
        batch.release()
        return False

    def _around(
        self, holes: Mapping[str, Sequence[Hole]], queries: Sequence[BoundQuery]
    ) -> list[tuple[Epoch, Batch]]:
        """Make the shards of disjoint parts of the rows, each without queries that fail there."""
        parts = by_failing_queries(holes)
        inside = self._is_within(span for spans in parts.values() for span in spans)
        where = {frozenset[str](): f"{self._instant} IS NOT NULL AND NOT {inside}"}
        where |= {failing: self._is_within(spans) for failing, spans in parts.items()}
        # Rows that are in no window are only counted.
        everyone = frozenset(holes)
        where[everyone] = f"{self._instant} IS NULL OR {where.get(everyone, 'FALSE')}"
        return [
            self._attempt([q for q in queries if q.name not in failing], self._rows.where(sql))
            for failing, sql in where.items()
        ]

    def _is_within(self, spans: Iterable[Hole]) -> str:
        """Spark SQL of whether a row with an event time is in one of these spans."""
        bounds = (f"{self._instant} BETWEEN {s.first}L AND {s.last}L" for s in spans)
        return f"({' OR '.join(bounds) or 'FALSE'})"
