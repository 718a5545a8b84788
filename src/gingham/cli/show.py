"""Printing errors, answers and statistics on a terminal."""

from collections.abc import Iterable
from datetime import UTC, datetime, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa
from pyspark.sql import SparkSession
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from gingham.core.errors import GinghamError
from gingham.spark.answers import Statistics

out = Console()
err = Console(stderr=True)


def show_errors(errors: Iterable[GinghamError]) -> None:
    """Print errors on the terminal's stderr, in their three parts."""
    for error in errors:
        # Text, not markup: SQL has brackets of its own.
        err.print(Text(str(error), style="red"), soft_wrap=True)


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


def progress() -> Progress:
    """Progress bars that vanish when they end; disabled where stderr is no terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    hidden = not err.is_terminal
    return Progress(*columns, TimeElapsedColumn(), console=err, transient=True, disable=hidden)


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
