"""What `sink=...` means."""

from __future__ import annotations

from pyspark.sql import SparkSession

from gingham.core.errors import SinkError
from gingham.sinks.console import ConsoleSink
from gingham.sinks.function import FunctionSink
from gingham.sinks.memory import MemorySink
from gingham.sinks.parquet import ParquetSink
from gingham.sinks.sink import Sink, SinkFunction


def sink_for(sink: str | SinkFunction | Sink, spark: SparkSession) -> Sink:
    """The sink that is meant by a folder, "memory", "console", a function or a sink itself."""
    match sink:
        case "memory":
            return MemorySink()
        case "console":
            return ConsoleSink()
        case str():
            return ParquetSink(sink)
        case Sink():
            return sink
        case _ if callable(sink):
            return FunctionSink(sink, spark)
        case _:
            raise SinkError(
                f"{sink!r} is no sink",
                "answers go to a folder, to memory, to the console or to a function",
                'sink="answers", "memory", "console" or f(name, dataframe, batch_id)',
            )
