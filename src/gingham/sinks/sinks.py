"""Where answers go. Each delivery has a number, and a delivery that is repeated changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Protocol
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console
from rich.table import Table

from gingham.checkpoint.files import Files
from gingham.core.errors import SinkError
from gingham.sinks.answer import Answer, FarAnswer, collected

SinkFunction = Callable[[str, DataFrame, int], object]
SHOWN = 20  # rows of an answer on the console


class Sink(Protocol):
    """Takes the answers of one query and batch; may raise."""

    def deliver(self, name: str, answer: Answer, number: int) -> None: ...


class ParquetSink:
    """A folder per query, a file per batch: readers see whole batches only."""

    def __init__(self, root: str) -> None:
        self._files = Files(root)
        self._folders: dict[str, Files] = {}

    def deliver(self, name: str, answer: Answer, number: int) -> None:
        if name not in self._folders:
            self._folders[name] = self._files.within(quote(name, safe=""))
        far = isinstance(answer, FarAnswer)
        batches = answer.batches() if far else iter(answer.to_batches())
        first = next(batches, None)
        if first is None:
            return
        with (
            self._folders[name].opened(f"part-{number:012d}.parquet") as stream,
            pq.ParquetWriter(stream, first.schema) as writer,
        ):
            for batch in chain((first,), batches):
                writer.write_batch(batch)


class MemorySink:
    """Answers in this process, for tests and notebooks; gone when it ends."""

    def __init__(self) -> None:
        self._answers: dict[str, dict[int, pa.Table]] = {}

    def deliver(self, name: str, answer: Answer, number: int) -> None:
        self._answers.setdefault(name, {})[number] = collected(answer)

    def arrow(self, name: str) -> pa.Table | None:
        """All answers of a query so far."""
        found = self._answers.get(name)
        return pa.concat_tables([found[n] for n in sorted(found)]) if found else None


class ConsoleSink:
    """The first rows of every answer, printed."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console()

    def deliver(self, name: str, answer: Answer, number: int) -> None:
        table = Table(title=f"{name}, batch {number}: {answer.num_rows:,} rows")
        far = isinstance(answer, FarAnswer)
        shown = pa.Table.from_batches([next(answer.batches())]) if far else answer
        for column in shown.column_names:
            table.add_column(column)
        for row in shown.slice(0, SHOWN).to_pylist():
            table.add_row(*(str(value) for value in row.values()))
        self._console.print(table)


class FunctionSink:
    """A function of the user's; it gets the number, to tell a repeated delivery."""

    def __init__(self, function: SinkFunction, spark: SparkSession) -> None:
        self._function = function
        self._spark = spark

    def deliver(self, name: str, answer: Answer, number: int) -> None:
        far = isinstance(answer, FarAnswer)
        rows = answer.frame(self._spark) if far else self._spark.createDataFrame(answer)
        self._function(name, rows, number)


def sink_for(sink: str | SinkFunction | Sink, spark: SparkSession) -> Sink:
    """What `loom.start(sink=...)` means."""
    match sink:
        case "memory":
            return MemorySink()
        case "console":
            return ConsoleSink()
        case str():
            return ParquetSink(sink)
        case _ if hasattr(sink, "deliver"):
            return sink  # pyright: ignore[reportReturnType]
        case _ if callable(sink):
            return FunctionSink(sink, spark)
        case _:
            raise SinkError(
                f"{sink!r} is no sink",
                "answers go to a folder, to memory, to the console or to a function",
                'sink="answers", "memory", "console" or f(name, dataframe, batch_id)',
            )
