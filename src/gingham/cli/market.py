"""The Parquet files of the demo and the example: trades, closing prices and listings."""

from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from gingham.datasets.trades import close, listing, trades
from gingham.spark.spark_session import with_settings

TABLES = ("trades", "close", "listing")
HOUR_S = 3600


def write_market(
    spark: SparkSession, folder: Path, rows: int, step: Callable[[], object] = lambda: None
) -> None:
    """Write an hour of trades, closing prices and listings; `step` is called after each."""
    frames = (trades(spark, rows, rate=rows / HOUR_S), close(spark), listing(spark))
    # INT96, the default, is slow to decode for every reader.
    setting = "spark.sql.parquet.outputTimestampType"
    with with_settings(spark, {setting: "TIMESTAMP_MICROS"}):
        for name, frame in zip(TABLES, frames, strict=True):
            frame.write.parquet(str(folder / name))
            step()
