"""Event time in microseconds, as SQL and as seen in the data."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gingham.core import names


def micros(df: DataFrame, time: str) -> str:
    """Event time in microseconds since 1970, whatever the session's time zone."""
    name = names.quoted(time)
    if df.schema[time].dataType.typeName() == "timestamp_ntz":
        return f"timestampdiff(MICROSECOND, TIMESTAMP_NTZ '1970-01-01 00:00:00', {name})"
    return f"unix_micros({name})"


def first_instant(rows: DataFrame, event_time: str) -> int:
    """The time of some row, in microseconds; 0 if there is none."""
    instant = F.expr(micros(rows, event_time)).alias("instant")
    seen = rows.select(instant).where("instant IS NOT NULL").first()
    return seen["instant"] if seen else 0
