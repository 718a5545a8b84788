"""One query as a Spark job of its own: what it would be without Gingham."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from gingham.core import names
from gingham.logical.query import Query
from gingham.spark.event_time import micros_sql


def answer_alone(enriched: DataFrame, query: Query, time: str) -> DataFrame:
    """The query's answer, computed by Spark without any sharing."""
    return select_outputs(aggregate_windows(enriched, query, time), query)


def aggregate_windows(enriched: DataFrame, query: Query, time: str) -> DataFrame:
    """The query's aggregates by window and keys, before HAVING and the arithmetic of SELECT.

    The columns are `window_start`, `window_end`, `__key_0`, ..., `__aggregate_0`, ... Where windows
    are of rows, `time` is the column of their positions.
    """
    rows = enriched.where(query.where_sql)
    window = query.window
    if window.clock.by_rows:
        return _aggregate_windows_of_rows(rows, query, time)
    length = max(window.range, window.slide)
    if window.range < window.slide:
        # Spark has no windows with gaps: windows as long as the slide, without the rows in gaps.
        since = F.expr(f"pmod({micros_sql(enriched, time)} - {window.start}, {window.slide})")
        rows = rows.where(since < window.range)
    window_column = F.window(
        names.quoted(time),
        f"{length} microseconds",
        f"{window.slide} microseconds",
        f"{window.start} microseconds",
    )
    start = F.col("__window.start")
    end = _later(start, window.range) if window.range < window.slide else F.col("__window.end")
    return _aggregate_groups(rows, query, window_column, start, end)


def _aggregate_windows_of_rows(rows: DataFrame, query: Query, position: str) -> DataFrame:
    """The same for windows of rows: each row is repeated for every window that it is in."""
    window = query.window
    first, last = (
        f"((({position} - {since}L) - pmod({position} - {since}L, {window.slide}L))"
        f" DIV {window.slide}L)"
        for since in (window.range + window.start, window.start)
    )
    rows = rows.selectExpr("*", f"{first} + 1 AS __first", f"{last} AS __last")
    rows = rows.where("__first <= __last")
    rows = rows.selectExpr("*", "explode(sequence(__first, __last)) AS __number")
    start_sql = f"{window.start}L + {window.slide}L * __number"
    start = F.col("__window")
    return _aggregate_groups(rows, query, F.expr(start_sql), start, start + F.lit(window.range))


def _aggregate_groups(
    rows: DataFrame, query: Query, window: Column, start: Column, end: Column
) -> DataFrame:
    """The aggregates by window and keys; `start` and `end` are made of the column `__window`."""
    keys = [F.expr(k).alias(names.key(i)) for i, k in enumerate(query.keys)]
    values = [F.expr(a.sql).alias(names.aggregate(i)) for i, a in enumerate(query.aggregates)]
    grouped = rows.groupBy(window.alias("__window"), *keys)
    aggregated = grouped.agg(*values) if values else grouped.agg(F.count("*").alias("__rows"))
    return aggregated.select(
        start.alias(names.WINDOW_START),
        end.alias(names.WINDOW_END),
        *(names.key(i) for i in range(len(keys))),
        *(names.aggregate(i) for i in range(len(values))),
    )


def select_outputs(aggregated: DataFrame, query: Query, *more_columns: str) -> DataFrame:
    """Apply the query's HAVING and SELECT to what `aggregate_windows` gives, by Spark's rules."""
    if query.having is not None:
        # As Spark does: HAVING takes what can be cast to a boolean.
        aggregated = aggregated.where(f"CAST(({query.having}) AS BOOLEAN)")
    return aggregated.select(
        *more_columns,
        names.WINDOW_START,
        names.WINDOW_END,
        *(F.expr(o.sql).alias(o.name) for o in query.outputs),
    )


def _later(start: Column, micros: int) -> Column:
    """A timestamp column some microseconds later, in Spark SQL."""
    return start + F.expr(f"make_dt_interval(0, 0, 0, {micros} / 1000000.0)")
