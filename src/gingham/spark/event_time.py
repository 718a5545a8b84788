"""The event time column in microseconds since 1970."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gingham.core import names


def micros_sql(rows: DataFrame, time: str) -> str:
    """Spark SQL of the event time in microseconds since 1970, in any time zone of the session."""
    name = names.quoted(time)
    if rows.schema[time].dataType.typeName() == "timestamp_ntz":
        return f"timestampdiff(MICROSECOND, TIMESTAMP_NTZ '1970-01-01 00:00:00', {name})"
    return f"unix_micros({name})"


def any_instant(rows: DataFrame, time: str) -> int:
    """The event time of some row of a DataFrame, in microseconds; 0 if no row has one."""
    instant = F.expr(micros_sql(rows, time)).alias("instant")
    row = rows.select(instant).where("instant IS NOT NULL").first()
    return row["instant"] if row else 0
