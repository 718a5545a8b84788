"""Rows that wait for the watermark: before it has passed them, others may come before them.

Executors write them into a folder for every batch, which holds all rows that wait after it.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from gingham.checkpoint.files import Files
from gingham.checkpoint.lease import Lease
from gingham.core.errors import CheckpointError
from gingham.spark.spark_errors import SPARK_ERRORS, spark_message
from gingham.spark.spark_session import with_settings
from gingham.stream.executor_shards import ExecutorFolder

FOLDER = "held"
_MICROS = {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}


class HeldRows:
    """The folders of rows of a stream that wait to be numbered."""

    def __init__(self, spark: SparkSession, files: Files, lease: Lease) -> None:
        self._spark = spark
        self._files = files
        self._lease = lease
        self.folder: ExecutorFolder | None = None  # of the last log entry

    @property
    def rows(self) -> DataFrame | None:
        """The rows that wait after the last log entry; None if none have to."""
        return (
            None if self.folder is None else self._spark.read.parquet(self._path(self.folder.name))
        )

    def write(self, number: int, rows: DataFrame) -> ExecutorFolder:
        """Write the rows that wait after a batch; they count once the log names the folder."""
        return self._written(f"{number:012d}-{self._lease.term}", rows)

    def restore(self, folder: ExecutorFolder | None) -> None:
        """Go on after a log entry that names a folder; raise if that lacks a file."""
        if folder is not None and (why := folder.damage(self._files)) is not None:
            raise self._damaged(why)
        self.folder = folder

    def check(self) -> None:
        """Raise if a file of the last folder cannot be read: its file system has checksums."""
        if self.folder is None:
            return
        try:
            files = self._spark.read.format("binaryFile").load(self._path(self.folder.name))
            files.write.format("noop").mode("overwrite").save()
        except SPARK_ERRORS as error:
            raise self._damaged(spark_message(error)) from error

    def keep_last(self) -> None:
        """Delete all folders but the one of the last log entry."""
        self._lease.check()
        for name in self._files.folders():
            if self.folder is None or name != self.folder.name:
                self._files.delete_folder(name)

    def _written(self, folder: str, rows: DataFrame) -> ExecutorFolder:
        """Write rows into a new folder; no two processes write to the same one."""
        with with_settings(self._spark, _MICROS):
            rows.write.mode("overwrite").parquet(self._path(folder))
        return ExecutorFolder(folder, self._files.within(folder).sizes())

    def _damaged(self, why: str) -> CheckpointError:
        """The error of rows in the checkpoint that are not complete."""
        return CheckpointError(
            f"rows that wait in {self._files.root} cannot be read",
            why,
            "the checkpoint from a copy, or a new folder to start afresh",
        )

    def _path(self, folder: str) -> str:
        """The path of a folder of rows in the checkpoint."""
        return f"{self._files.root}/{folder}"
