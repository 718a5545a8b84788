"""A stream that can be replayed: files of a folder, one per micro-batch, in their order."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

SCHEMA = "ts TIMESTAMP, symbol STRING, price DOUBLE, vol INT"
_SECOND = 1_000_000
_SYMBOLS = np.array(["A", "B", "C", None], dtype=object)
_START = 1_700_000_000 * _SECOND
_OLDEST = 1_600_000_000  # of files: Spark reads older files first


def write_batches(folder: Path, batches: Iterable[pa.Table], first: int = 0) -> None:
    """Write a file per batch, so that Spark reads them in this order."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, batch in enumerate(batches, start=first):
        file = folder / f"{number:06d}.parquet"
        staged = folder / f"_{file.name}"
        pq.write_table(batch, staged)
        os.utime(staged, (_OLDEST + number, _OLDEST + number))
        staged.rename(file)


def replayed(spark: SparkSession, folder: Path, files: int = 1, schema: str = SCHEMA) -> DataFrame:
    """Read the folder as a stream, so many files at a time."""
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", files)
    return reader.parquet(str(folder))


def random_trades(
    rng: np.random.Generator, batches: int, rows: int, *, jitter: float = 3.0, step: float = 5.0
) -> list[pa.Table]:
    """Batches of trades, `step` seconds of event time each, out of order by up to `jitter`."""
    made: list[pa.Table] = []
    for number in range(batches):
        # Whole and half seconds often: rows that lie exactly on edges.
        seconds = np.round(rng.uniform(0, step, rows) * 2) / 2
        seconds += number * step - rng.uniform(0, jitter, rows) * (rng.random(rows) < 0.3)
        micros = _START + (seconds * _SECOND).astype(np.int64)
        volumes = rng.integers(0, 20, rows)
        made.append(
            pa.table(
                {
                    "ts": pa.array(micros, pa.timestamp("us", "UTC")),
                    "symbol": pa.array(_SYMBOLS[rng.integers(0, 4, rows)], pa.string()),
                    "price": pa.array(np.round(rng.uniform(1, 9, rows), 2)),
                    "vol": pa.array(volumes.astype(np.int32), mask=rng.random(rows) < 0.05),
                }
            )
        )
    return made
