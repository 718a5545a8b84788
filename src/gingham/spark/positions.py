"""Positions of rows: windows of rows are windows of time over a column that numbers the rows.

The position of a row is the number of rows before it: of the whole stream, or of those with the
same values in some columns. Rows are ordered by event time; rows of the same time by all columns in
the order of the stream's schema, as ORDER BY does. What is still equal then is equal in every
column, so that no answer depends on which of the two comes first. Rows without an event time have
no position.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from typing import NamedTuple

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DayTimeIntervalType,
    MapType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
    YearMonthIntervalType,
)
from pyspark.sql.window import Window

from gingham.core import names
from gingham.core.errors import QueryError
from gingham.core.names import quoted
from gingham.logical.window import Clock
from gingham.spark.to_dataframe import to_dataframe

_ORDERED = (
    NumericType,
    StringType,
    CharType,
    VarcharType,
    BinaryType,
    BooleanType,
    DateType,
    TimestampType,
    TimestampNTZType,
    DayTimeIntervalType,
    YearMonthIntervalType,
)
# monotonically_increasing_id() has the number of the partition above these bits.
_BITS = 33


class NumberedRows(NamedTuple):
    """Rows with their `__position`, and the call that frees what executors hold of them."""

    rows: DataFrame
    release: Callable[[], object]
    size: int | None = None  # how many rows there are, if that is known

    def counts(self, clock: Clock) -> pa.Table:
        """How many rows of each key there are: the columns of the clock, and a count."""
        if self.size is not None and not clock.per:
            return pa.table({names.ROWS: [self.size]})
        per = [F.expr(column).alias(names.key(i)) for i, column in enumerate(clock.per)]
        return self.rows.groupBy(*per).agg(F.count(F.lit(1)).alias(names.ROWS)).toArrow()

    def going_on(self, clock: Clock, counts: pa.Table) -> DataFrame:
        """The same rows, after those that were numbered before: so many of each key."""
        if not counts.num_rows:
            return self.rows
        if not clock.per:
            before = F.lit(counts.columns[-1][0].as_py())
            return self.rows.withColumn(names.POSITION, F.col(names.POSITION) + before)
        keys = [names.key(i) for i in range(len(clock.per))]
        known = to_dataframe(self.rows.sparkSession, counts.rename_columns([*keys, names.ROWS]))
        same = [f"({sql}) <=> {key}" for sql, key in zip(clock.per, keys, strict=True)]
        together = self.rows.join(F.broadcast(known), F.expr(" AND ".join(same)), "left")
        position = F.col(names.POSITION) + F.coalesce(F.col(names.ROWS), F.lit(0))
        return together.withColumn(names.POSITION, position).drop(*keys, names.ROWS)


def number_rows(
    rows: DataFrame,
    time: str,
    clock: Clock,
    columns: Collection[str],
    *,
    few_rows: bool = False,
) -> NumberedRows:
    """Give each row with an event time its position; `columns` are those to keep beside it.

    With `few_rows` one task does it.
    """
    timed = rows.where(f"{quoted(time)} IS NOT NULL")
    if few_rows:
        timed = timed.coalesce(1)
    kept = [F.col(quoted(c)) for c in rows.columns if c in columns]
    if clock.per:
        return NumberedRows(timed.select(*kept, _counted_before(rows, time, clock)), lambda: None)
    # Sorted by ranges, each in a task of its own: how many rows the ranges before it have is what
    # is missing to the number of a row in its range.
    order = order_of_rows(rows, time)
    tasks = int(rows.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)
    ranges = timed if few_rows else timed.repartitionByRange(tasks, *order)
    in_order = ranges.sortWithinPartitions(*order)
    place = F.monotonically_increasing_id().alias(names.POSITION)
    held = in_order.select(*kept, place).persist(StorageLevel.MEMORY_AND_DISK)
    counts = dict.fromkeys(range(tasks), 0)
    counted = held.groupBy(F.shiftright(names.POSITION, _BITS)).count().collect()
    counts |= {int(task): count for task, count in counted}
    before = [sum(counts[task] for task in range(end)) for end in range(tasks)]
    listed = f"from_json('{json.dumps(before)}', 'array<bigint>')"
    place_sql = (
        f"get({listed}, CAST(shiftright({names.POSITION}, {_BITS}) AS INT))"
        f" + ({names.POSITION} & {(1 << _BITS) - 1}L)"
    )
    numbered = held.withColumn(names.POSITION, F.expr(place_sql))
    return NumberedRows(numbered, held.unpersist, sum(counts.values()))


def with_positions_by_one_task(rows: DataFrame, time: str, clock: Clock) -> DataFrame:
    """Rows with an event time and their positions, as one would write it in plain Spark."""
    timed = rows.where(f"{quoted(time)} IS NOT NULL")
    return timed.select("*", _counted_before(rows, time, clock))


def _counted_before(rows: DataFrame, time: str, clock: Clock) -> Column:
    """The position of a row by a window function: all rows of a key are in one task."""
    per = [F.expr(column) for column in clock.per]
    ordered = Window.partitionBy(*per).orderBy(*order_of_rows(rows, time))
    up_to_here = ordered.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return (F.count(F.lit(1)).over(up_to_here) - 1).alias(names.POSITION)


def order_of_rows(rows: DataFrame, time: str) -> list[Column]:
    """What rows are ordered by: event time, then all other columns; raises if one has no order."""
    others = [field for field in rows.schema.fields if field.name != time]
    for field in others:
        if not _is_ordered(field.dataType):
            raise QueryError(
                f"[ROWS ...] over a stream with the column {field.name}",
                f"rows of the same time are ordered by all columns, and a "
                f"{field.dataType.simpleString()} has no order",
                f'rows.drop("{field.name}"), or its text, before the stream is registered',
            )
    return [
        F.col(quoted(time)),
        *(
            F.map_entries(column) if isinstance(kind, MapType) else column
            for column, kind in ((F.col(quoted(f.name)), f.dataType) for f in others)
        ),
    ]


def _is_ordered(kind: DataType) -> bool:
    """Whether Spark can order values of a type, or the entries of its maps."""
    match kind:
        case ArrayType():
            return _has_no_maps(kind.elementType)
        case MapType():
            return _has_no_maps(kind.keyType) and _has_no_maps(kind.valueType)
        case StructType():
            return all(_has_no_maps(field.dataType) for field in kind.fields)
        case _:
            return isinstance(kind, _ORDERED)


def _has_no_maps(kind: DataType) -> bool:
    """Whether a type within another is ordered: maps are only as columns."""
    return _is_ordered(kind) and not isinstance(kind, MapType)
