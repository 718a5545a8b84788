"""A workload to a loom: open its files, add its queries, and collect all errors."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql.streaming import DataStreamReader

from gingham.cli.outline import Problems
from gingham.cli.workload import NamedQuery, Source, Workload
from gingham.core.errors import GinghamError, WorkloadError
from gingham.estimates.estimator import Estimator
from gingham.loom import Loom
from gingham.spark.spark_errors import SPARK_ERRORS, spark_message

Reader = TypeVar("Reader", DataFrameReader, DataStreamReader)


@dataclass(frozen=True, slots=True)
class LoadedWorkload:
    """A workload in Spark: a loom with its queries, and its sketches, if it has a budget."""

    loom: Loom
    sketches: Estimator | None

    @property
    def query_count(self) -> int:
        """How many queries there are, estimated ones included."""
        return len(self.loom.queries) + (len(self.sketches.queries) if self.sketches else 0)


def load_workload(
    workload: Workload,
    problems: Problems,
    spark: SparkSession,
    step: Callable[[], object] = lambda: None,
) -> LoadedWorkload:
    """A loom with the streams, tables and queries of a workload; errors are added to `problems`.

    `step` is called after each query.
    """
    loom = Loom(spark, **workload.arguments("loom"))
    budget = workload.arguments("sketch")
    sketches = loom.sketch(**budget) if budget else None
    unreadable = list(workload.unreadable)
    for source in workload.sources:
        try:
            _register(loom, sketches, source, is_stream=workload.checkpoint is not None)
        except GinghamError as error:
            problems.note(source.line, error)
            unreadable.append(source.name)
        except SPARK_ERRORS as error:
            problems.note(source.line, _unreadable(source, error))
            unreadable.append(source.name)

    def add(query: NamedQuery, call: Callable[..., str]) -> None:
        # A query over files that could not be opened would only repeat that error.
        if not _mentions(query.sql, unreadable):
            try:
                # Pushed down to its own line: places in errors are places in the file.
                call("\n" * (query.line - 1) + query.sql, name=query.name, **query.arguments)
            except GinghamError as error:
                problems.note(query.line, error)
        step()

    for query in workload.queries if workload.streams else ():
        add(query, loom.add)
    if sketches is not None:
        for query in workload.sketches:
            add(query, sketches.add)
    return LoadedWorkload(loom, sketches)


def _register(loom: Loom, sketches: Estimator | None, source: Source, *, is_stream: bool) -> None:
    """Open the files of a source, and register them with the loom, or for its sketches."""
    rows = _open_files(loom.spark, source)
    match source.kind:
        case "stream":
            if is_stream:
                rows = _open_stream(loom.spark, source, rows)
            loom.stream(source.name, rows, **source.arguments)
        case "table":
            loom.table(source.name, rows, **source.arguments)
        case _:
            if sketches is not None:
                sketches.relation(source.name, rows)


def _open_stream(spark: SparkSession, source: Source, rows: DataFrame) -> DataFrame:
    """The files of a workload's stream as a streaming DataFrame, also those to come."""
    return _with_options(spark.readStream.schema(rows.schema), source).load(source.path)


def _open_files(spark: SparkSession, source: Source) -> DataFrame:
    """The files of a workload's stream or table as a static DataFrame."""
    reader = spark.read.schema(source.schema) if source.schema else spark.read
    return _with_options(reader, source).load(source.path)


def _with_options(reader: Reader, source: Source) -> Reader:
    """Set the format of a workload's source, to fail on values that do not fit, and its options."""
    reader = reader.format(source.format)
    if source.format in ("csv", "json"):
        # A value that does not fit the schema is an error, not a NULL.
        reader = reader.option("mode", "FAILFAST")
    if source.format == "csv":
        # The first line holds the names, and other names than the schema's are an error.
        reader = reader.option("header", True).option("enforceSchema", False)
    for name, value in source.options.items():
        reader = reader.option(name, value)
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
