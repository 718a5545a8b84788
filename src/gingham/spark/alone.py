"""A query as the Spark job that it would be alone: the oracle, and the price of not sharing."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from gingham.core import names
from gingham.logical.query import Query
from gingham.spark.event_time import micros


def alone(enriched: DataFrame, query: Query, time: str) -> DataFrame:
    """The query's answer, computed by Spark without any sharing."""
    return finish(slots(enriched, query, time), query)


def slots(enriched: DataFrame, query: Query, time: str) -> DataFrame:
    """Window bounds, keys and aggregates, before HAVING and the arithmetic of SELECT."""
    rows = enriched.where(query.where_sql)
    window = query.window
    length = max(window.range, window.slide)
    if window.range < window.slide:
        # Spark has no windows with gaps: windows as long as the slide, without the rows in gaps.
        since = F.expr(f"pmod({micros(enriched, time)} - {window.start}, {window.slide})")
        rows = rows.where(since < window.range)
    spans = F.window(
        names.quoted(time),
        f"{length} microseconds",
        f"{window.slide} microseconds",
        f"{window.start} microseconds",
    )
    keys = [F.expr(k).alias(names.key(i)) for i, k in enumerate(query.keys)]
    values = [F.expr(a.sql).alias(names.aggregate(i)) for i, a in enumerate(query.aggregates)]
    grouped = rows.groupBy(spans.alias("__window"), *keys)
    answered = grouped.agg(*values) if values else grouped.agg(F.count("*").alias("__rows"))
    start = F.col("__window.start")
    end = _plus(start, window.range) if window.range < window.slide else F.col("__window.end")
    return answered.select(
        start.alias(names.WINDOW_START),
        end.alias(names.WINDOW_END),
        *(names.key(i) for i in range(len(keys))),
        *(names.aggregate(i) for i in range(len(values))),
    )


def finish(answered: DataFrame, query: Query, *also: str) -> DataFrame:
    """HAVING and SELECT over window bounds, keys and aggregates; Spark's own arithmetic."""
    if query.having is not None:
        answered = answered.where(query.having)
    return answered.select(
        *also,
        names.WINDOW_START,
        names.WINDOW_END,
        *(F.expr(o.sql).alias(o.name) for o in query.outputs),
    )


def _plus(start: Column, length: int) -> Column:
    return start + F.expr(f"make_dt_interval(0, 0, 0, {length} / 1000000.0)")
