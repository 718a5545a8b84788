"""A workload to a loom: open its files, add its queries, and collect all errors."""

import re
from collections.abc import Callable
from typing import TypeVar

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql.streaming import DataStreamReader

from gingham.cli.outline import Problems
from gingham.cli.workload import Source, StreamSource, TableSource, Workload
from gingham.core.errors import GinghamError, WorkloadError
from gingham.loom import Loom
from gingham.spark.spark_errors import SPARK_ERRORS, spark_message

Reader = TypeVar("Reader", DataFrameReader, DataStreamReader)


def load_workload(
    workload: Workload,
    problems: Problems,
    spark: SparkSession,
    step: Callable[[], object] = lambda: None,
) -> Loom:
    """A loom with the stream, tables and queries of a workload; errors are added to `problems`.

    `step` is called after each query.
    """
    loom = Loom(spark)
    unreadable = list(workload.unreadable)
    for relation in (*([workload.stream] if workload.stream else []), *workload.tables):
        source = relation.source
        try:
            _register(loom, relation)
        except GinghamError as error:
            problems.note(source.line, error)
            unreadable.append(source.name)
        except SPARK_ERRORS as error:
            problems.note(source.line, _unreadable(source, error))
            unreadable.append(source.name)

    for query in workload.queries:
        # A query over files that could not be opened would only repeat that error.
        if workload.stream and not _mentions(query.sql, unreadable):
            try:
                # Pushed down to its own line: places in errors are places in the file.
                loom.add("\n" * (query.line - 1) + query.sql, name=query.name)
            except GinghamError as error:
                problems.note(query.line, error)
        step()
    return loom


def _register(loom: Loom, relation: StreamSource | TableSource) -> None:
    """Open the files of a stream or table, and register it with the loom."""
    rows = _open_files(loom.spark, relation.source)
    match relation:
        case StreamSource(source, time, watermark, checkpoint):
            if checkpoint is not None:
                rows = _open_stream(loom.spark, source, rows)
            loom.stream(source.name, rows, time=time, watermark=watermark)
        case TableSource(source, key):
            loom.table(source.name, rows, key=key)


def _open_stream(spark: SparkSession, source: Source, rows: DataFrame) -> DataFrame:
    """The files of a workload's stream as a streaming DataFrame, also those to come."""
    return _with_options(spark.readStream.schema(rows.schema), source).load(source.path)


def _open_files(spark: SparkSession, source: Source) -> DataFrame:
    """The files of a workload's stream or table as a static DataFrame."""
    reader = spark.read.schema(source.schema) if source.schema else spark.read
    return _with_options(reader, source).load(source.path)


def _with_options(reader: Reader, source: Source) -> Reader:
    """Set the file format of a workload's source, and to fail on values that do not fit."""
    reader = reader.format(source.format)
    if source.format in ("csv", "json"):
        # A value that does not fit the schema is an error, not a NULL.
        reader = reader.option("mode", "FAILFAST")
    if source.format == "csv":
        # The first line holds the names, and other names than the schema's are an error.
        reader = reader.option("header", True).option("enforceSchema", False)
    return reader


def _unreadable(source: Source, error: Exception) -> GinghamError:
    """The error of a workload's source that Spark cannot read."""
    return WorkloadError(
        f"{source.name!r} cannot be read as {source.format} from {source.path}",
        spark_message(error),
        "a path with such files, a schema that fits them, or what Spark advises there",
    )


def _mentions(sql: str, names: list[str]) -> bool:
    """True if SQL in a workload file mentions one of these names as a whole word."""
    return any(re.search(rf"\b{re.escape(name)}\b", sql, re.IGNORECASE) for name in names)
