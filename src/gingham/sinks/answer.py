"""An answer too large for the driver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from gingham.checkpoint.files import Files
from gingham.core import names
from gingham.spark.session import configured


@dataclass(frozen=True, slots=True)
class FarAnswer:
    """A folder of Parquet files in the checkpoint, until the sink has taken it."""

    files: Files
    folder: str
    num_rows: int = 0
    last_window: datetime | None = None

    @classmethod
    def written(cls, files: Files, folder: str, answer: DataFrame) -> FarAnswer:
        """Compute an answer, where its shards are, into a folder."""
        spark, path = answer.sparkSession, f"{files.root}/{folder}"
        with configured(spark, {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}):
            answer.write.mode("overwrite").parquet(path)
        found = spark.read.parquet(path).agg(F.count("*"), F.max(names.WINDOW_END)).collect()[0]
        return cls(files, folder, *found)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Its rows, some at a time."""
        return self.files.parquet(self.folder)

    def frame(self, spark: SparkSession) -> DataFrame:
        return spark.read.parquet(f"{self.files.root}/{self.folder}")

    def delete(self) -> None:
        self.files.delete_folder(self.folder)


Answer = pa.Table | FarAnswer


def last_window(answer: Answer) -> datetime | None:
    """When the last of its windows ends."""
    if isinstance(answer, FarAnswer):
        return answer.last_window
    return max(answer[names.WINDOW_END].to_pylist())


def collected(answer: Answer) -> pa.Table:
    """The whole answer in this process."""
    return pa.Table.from_batches(answer.batches()) if isinstance(answer, FarAnswer) else answer
