"""Tables packed into single values, so that Spark can hold and shuffle tables of any columns."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
from pyspark.sql import DataFrame

from gingham.spark.spark_session import with_settings

# Half the memory, for a millisecond per megabyte.
_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")
# Spark holds what it sends three times over: rows in a batch, which are whole tables here.
_ROWS_PER_BATCH = 16


def packed(table: pa.Table) -> bytes:
    """A table in Arrow's format for streams, compressed."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_OPTIONS) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def unpacked(parts: Iterable[pa.Scalar]) -> pa.Table:
    """One table from packed tables of the same columns."""
    tables = [pa.ipc.open_stream(part.as_buffer()).read_all() for part in parts]
    return pa.concat_tables(tables, promote_options="permissive")


def collect_packed(rows: DataFrame) -> pa.Table:
    """Collect rows with packed tables, a few at a time: in the JVM's default memory there is room.

    The rows must have been computed and persisted: batches of their own inputs would be as small.
    """
    spark = rows.sparkSession
    few = {"spark.sql.execution.arrow.maxRecordsPerBatch": str(_ROWS_PER_BATCH)}
    with with_settings(spark, few):
        return rows.toArrow()
