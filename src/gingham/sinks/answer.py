"""The rows that answer a query in one batch, wherever they are: on the driver or in files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from gingham.checkpoint.files import Files
from gingham.checkpoint.seal import read_table, write_table
from gingham.core import names
from gingham.spark.spark_session import with_settings

_FOLDER = "folder"  # where the rows of a stored answer are


class Answer(Protocol):
    """What a sink takes: the windows of one query that a batch has completed.

    The columns are `window_start`, `window_end`, the keys and the aggregates of the query. A sink
    asks for the form that suits it; `batches` never holds more than a part of the rows in memory.
    """

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        ...

    @property
    def last_window(self) -> datetime | None:
        """When the last of the windows ends."""
        ...

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All rows, some at a time."""
        ...

    def table(self) -> pa.Table:
        """All rows as one table in this process."""
        ...

    def frame(self, spark: SparkSession) -> DataFrame:
        """All rows as a DataFrame."""
        ...

    def save(self, files: Files, name: str) -> None:
        """Write a file from which `load_answer` gives this answer again after a restart."""
        ...

    def discard(self) -> None:
        """Free what the answer occupies, once its sink has taken it."""
        ...


@dataclass(frozen=True, slots=True)
class LocalAnswer:
    """Rows on the driver."""

    rows: pa.Table

    @property
    def num_rows(self) -> int:
        return self.rows.num_rows

    @property
    def last_window(self) -> datetime | None:
        return max(self.rows[names.WINDOW_END].to_pylist(), default=None)

    def batches(self) -> Iterator[pa.RecordBatch]:
        return iter(self.rows.to_batches())

    def table(self) -> pa.Table:
        return self.rows

    def frame(self, spark: SparkSession) -> DataFrame:
        return spark.createDataFrame(self.rows)

    def save(self, files: Files, name: str) -> None:
        write_table(files, name, self.rows, {})

    def discard(self) -> None:
        """Nothing to free: the rows go with the object."""


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """Rows that executors wrote: a folder of Parquet files in the checkpoint."""

    files: Files
    folder: str
    num_rows: int = 0
    last_window: datetime | None = None

    @classmethod
    def written(cls, files: Files, folder: str, answer: DataFrame) -> StoredAnswer:
        """Compute an answer, where its shards are, into a folder."""
        spark, path = answer.sparkSession, f"{files.root}/{folder}"
        with with_settings(spark, {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}):
            answer.write.mode("overwrite").parquet(path)
        count, last = (
            spark.read.parquet(path).agg(F.count("*"), F.max(names.WINDOW_END)).collect()[0]
        )
        return cls(files=files, folder=folder, num_rows=count, last_window=last)

    def batches(self) -> Iterator[pa.RecordBatch]:
        return self.files.parquet(self.folder)

    def table(self) -> pa.Table:
        return pa.Table.from_batches(self.batches())

    def frame(self, spark: SparkSession) -> DataFrame:
        return spark.read.parquet(f"{self.files.root}/{self.folder}")

    def save(self, files: Files, name: str) -> None:
        # The rows are in the checkpoint already: the file only names their folder.
        write_table(files, name, pa.table({}), {_FOLDER: self.folder})

    def discard(self) -> None:
        self.files.delete_folder(self.folder)


def load_answer(files: Files, name: str, folders: Files) -> Answer:
    """Read an answer that was saved; `folders` is where stored answers have their folders."""
    table, about = read_table(files, name)
    return StoredAnswer(folders, about[_FOLDER]) if _FOLDER in about else LocalAnswer(table)
