"""The event time column in microseconds since 1970; in numbered rows their position."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gingham.core import names
from gingham.core.time import FIRST_INSTANT, LAST_INSTANT, NEVER


def micros_sql(rows: DataFrame, time: str) -> str:
    """Spark SQL of the event time in microseconds since 1970, in any time zone of the session.

    A column of whole numbers, the positions of rows, is taken as it is.
    """
    name = names.quoted(time)
    match rows.schema[time].dataType.typeName():
        case "timestamp_ntz":
            return f"timestampdiff(MICROSECOND, TIMESTAMP_NTZ '1970-01-01 00:00:00', {name})"
        case "long":
            return name
        case _:
            return f"unix_micros({name})"


def bounded_micros_sql(rows: DataFrame, time: str, last: int) -> str:
    """Spark SQL of the event time in microseconds; NULL if it is after `last`, or before year 2.

    Rows that are set aside in this way are in no window, as rows without an event time are not.
    """
    micros = micros_sql(rows, time)
    return f"IF({micros} BETWEEN {FIRST_INSTANT}L AND {last}L, {micros}, NULL)"


def any_instant(rows: DataFrame, time: str, last: int = LAST_INSTANT) -> int:
    """The event time of some row of a DataFrame, up to `last`; 0 if no row has one."""
    instant = F.expr(bounded_micros_sql(rows, time, last)).alias("instant")
    row = rows.select(instant).where("instant IS NOT NULL").first()
    return row["instant"] if row else 0


def earliest_instant(rows: DataFrame, time: str) -> int:
    """The earliest event time of a DataFrame, in microseconds; NEVER if no row has one."""
    (earliest,) = rows.selectExpr(f"min({micros_sql(rows, time)})").collect()[0]
    return NEVER if earliest is None else earliest
