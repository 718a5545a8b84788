"""Printing answers and statistics on a terminal."""

from datetime import UTC, datetime, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa
from pyspark.sql import SparkSession
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from gingham.cli.terminal import out
from gingham.estimates.estimates import Estimates
from gingham.spark.answers import Statistics


def show_answer(title: str, rows: pa.Table, zone: tzinfo) -> None:
    """Print rows of an answer as a table on the terminal."""
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    for field in rows.schema:
        number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        right = number or pa.types.is_decimal(field.type)
        table.add_column(Text(field.name), justify="right" if right else "left", overflow="fold")
    for row in rows.to_pylist():
        table.add_row(*(Text(_cell_text(value, zone)) for value in row.values()))
    out.print(table)


def show_statistics(statistics: Statistics) -> None:
    """Print on the terminal what a run did and where its time went."""
    seconds = ", ".join(f"{part} {time:.2f} s" for part, time in statistics.seconds.items())
    out.print(
        f"{statistics.queries:,} queries from {statistics.shards:,} shards "
        f"({statistics.grids:,} grids, {statistics.cells:,} cells, "
        f"{statistics.partials:,} partials): {seconds}",
        highlight=False,
        soft_wrap=True,
    )


def show_estimates(estimates: Estimates) -> None:
    """Print on the terminal how many joins were estimated and where the time went."""
    seconds = ", ".join(f"{part} {time:.2f} s" for part, time in estimates.seconds.items())
    out.print(f"{len(estimates):,} estimates of joins: {seconds}", highlight=False, soft_wrap=True)


def time_zone(spark: SparkSession) -> tzinfo:
    """The session's time zone, which Spark shows times in; UTC if Python does not know it."""
    try:
        return ZoneInfo(str(spark.conf.get("spark.sql.session.timeZone")))
    except (ZoneInfoNotFoundError, ValueError):
        return UTC


def _cell_text(value: Any, zone: tzinfo) -> str:
    """A value of an answer as text for the terminal; times are shown in the time zone."""
    match value:
        case None:
            return "NULL"
        case float():
            return f"{value:.10g}"
        case datetime(tzinfo=None):
            return str(value)
        case datetime():
            return str(value.astimezone(zone).replace(tzinfo=None))
        case bytes():
            return f"{len(value):,} bytes"
        case _:
            return str(value)
