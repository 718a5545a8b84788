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
from gingham.core.errors import CheckpointError
from gingham.spark.spark_session import with_settings
from gingham.spark.to_dataframe import to_dataframe

_FOLDER = "folder"  # where the rows of a stored answer are
_FILES = "files"  # the checksums of its files


class Answer(Protocol):
    """What a sink takes: the windows of one query that a batch has completed.

    The columns are `window_start`, `window_end`, the keys and the aggregates of the query. A sink
    asks for the form that suits it; `batches` never holds more than a part of the rows in memory.
    """

    @property
    def num_rows(self) -> int:
        """The number of rows of the answer."""
        ...

    @property
    def last_window(self) -> datetime | int | None:
        """Where the last window of the answer ends: in time or rows; None if it has no rows."""
        ...

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of the answer, a record batch at a time, for sinks that stream them."""
        ...

    def table(self) -> pa.Table:
        """The rows of the answer as one Arrow table in this process."""
        ...

    def frame(self, spark: SparkSession) -> DataFrame:
        """The rows of the answer as a Spark DataFrame."""
        ...

    def save(self, files: Files, name: str) -> None:
        """Write a file from which `load_answer` gives this answer again after a restart."""
        ...

    def discard(self) -> None:
        """Free what the answer occupies, once its sink has taken it."""
        ...


@dataclass(frozen=True, slots=True)
class LocalAnswer:
    """An answer for a sink whose rows are on the driver."""

    rows: pa.Table

    @property
    def num_rows(self) -> int:
        """The number of rows of the answer."""
        return self.rows.num_rows

    @property
    def last_window(self) -> datetime | int | None:
        """Where the last window of the answer ends: in time or rows; None if it has no rows."""
        try:
            return max(self.rows[names.WINDOW_END].to_pylist(), default=None)
        except (OverflowError, ValueError):
            return None  # beyond what datetime holds

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of the answer on the driver, a record batch at a time."""
        return iter(self.rows.to_batches())

    def table(self) -> pa.Table:
        """The rows of the answer as one Arrow table."""
        return self.rows

    def frame(self, spark: SparkSession) -> DataFrame:
        """The rows of the answer as a Spark DataFrame."""
        return to_dataframe(spark, self.rows)

    def save(self, files: Files, name: str) -> None:
        """Write the rows into the checkpoint, to deliver them to the sink later."""
        write_table(files, name, self.rows, {})

    def discard(self) -> None:
        """Nothing to free after delivery: the rows are in this object."""


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """An answer for a sink that executors wrote: a folder of Parquet files in the checkpoint."""

    files: Files
    folder: str
    num_rows: int = 0
    last_window: datetime | int | None = None

    @classmethod
    def written(cls, files: Files, folder: str, answer: DataFrame) -> StoredAnswer:
        """Let executors compute an answer and write it into a folder of the checkpoint."""
        spark, path = answer.sparkSession, f"{files.root}/{folder}"
        with with_settings(spark, {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}):
            answer.write.mode("overwrite").parquet(path)
        count, last = (
            spark.read.parquet(path).agg(F.count("*"), F.max(names.WINDOW_END)).collect()[0]
        )
        return cls(files=files, folder=folder, num_rows=count, last_window=last)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of the stored answer, a record batch at a time."""
        return self.files.parquet(self.folder)

    def table(self) -> pa.Table:
        """The rows of the stored answer as one Arrow table on the driver."""
        return pa.Table.from_batches(self.batches())

    def frame(self, spark: SparkSession) -> DataFrame:
        """The rows of the stored answer as a Spark DataFrame over its Parquet files."""
        return spark.read.parquet(f"{self.files.root}/{self.folder}")

    def save(self, files: Files, name: str) -> None:
        """Write a file that names the folder of the answer, to deliver it to the sink later."""
        # The rows are in the checkpoint already: the file only names theirs.
        about = {_FOLDER: self.folder, _FILES: _checksums(self.files.within(self.folder))}
        write_table(files, name, pa.table({}), about)

    def discard(self) -> None:
        """Delete the answer's folder of Parquet files, once its sink has taken it."""
        self.files.delete_folder(self.folder)


def load_answer(files: Files, name: str, folders: Files) -> Answer:
    """Read an answer that was saved for its sink; `folders` has those that executors wrote."""
    table, about = read_table(files, name)
    if _FOLDER not in about:
        return LocalAnswer(table)
    if _checksums(folders.within(about[_FOLDER])) != about[_FILES]:
        raise CheckpointError(
            f"{folders.root}/{about[_FOLDER]} cannot be read",
            "some of its files are missing, or are not what they were: an answer waits there",
            "the checkpoint from a copy, or a new folder to start afresh",
        )
    return StoredAnswer(folders, about[_FOLDER])


def _checksums(folder: Files) -> dict[str, int]:
    """The checksum of each file of a stored answer."""
    return {name: folder.checksum(name) for name in folder.names()}
