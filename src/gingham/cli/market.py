"""The trades that the demo and the example work on, as Parquet files."""

from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from gingham.datasets.trades import close, listing, trades

TABLES = ("trades", "close", "listing")
HOUR_S = 3600


def write_market(
    spark: SparkSession, folder: Path, rows: int, step: Callable[[], object] = lambda: None
) -> None:
    """Write an hour of trades, closing prices and listings; `step` is called after each."""
    frames = (trades(spark, rows, rate=rows / HOUR_S), close(spark), listing(spark))
    # INT96, the default, is slow to decode for everybody.
    kind = "spark.sql.parquet.outputTimestampType"
    before = str(spark.conf.get(kind))
    spark.conf.set(kind, "TIMESTAMP_MICROS")
    try:
        for name, frame in zip(TABLES, frames, strict=True):
            frame.write.parquet(str(folder / name))
            step()
    finally:
        spark.conf.set(kind, before)
