"""Streams are recovered from their checkpoint and read from there on."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from gingham.checkpoint.files import Files
from gingham.checkpoint.lease import Lease
from gingham.checkpoint.log import Log
from gingham.checkpoint.spark_source import SparkSource
from gingham.core.errors import CatalogError, CheckpointError
from gingham.sinks.delivery import Delivery
from gingham.sinks.sink import OwnedSink, Sink
from gingham.spark.spark_errors import SPARK_ERRORS, spark_message
from gingham.spark.spark_session import with_settings
from gingham.stream.exact import ExactWork
from gingham.stream.executor_shards import ExecutorShards
from gingham.stream.held_rows import FOLDER as HELD
from gingham.stream.held_rows import HeldRows
from gingham.stream.loop import Listener, StreamLoop
from gingham.stream.numbering import Numbering
from gingham.stream.planner import Job
from gingham.stream.running import RunningStream
from gingham.stream.settings import StreamSettings

_OPENED = 2.0  # seconds until sources are expected to be open
# For files on this machine Spark's default starts processes to set permissions and to look at
# links, three times a batch; this one writes and renames in the JVM. A local rename is atomic.
_LOCAL_FILES = {
    "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming."
    "checkpointing.FileSystemBasedCheckpointFileManager"
}


@dataclass(frozen=True)
class Start:
    """How streams are started: sink, trigger, listeners and settings."""

    sink: Sink
    trigger: Mapping[str, object] | None
    listeners: list[Listener]
    settings: StreamSettings
    adopt_sink: bool = False  # may it hold answers of another checkpoint?

    def claim_sink(self, checkpoint: str) -> None:
        """Let a durable sink refuse answers of this checkpoint if it holds those of another."""
        if isinstance(self.sink, OwnedSink):
            self.sink.claim(checkpoint, adopt=self.adopt_sink)

    def delivery(self, files: Files, lease: Lease) -> Delivery:
        """The delivery of answers to the sink, with this folder for those that must wait."""
        return Delivery(self.sink, files, lease, self.settings.sink_patience)


@dataclass(frozen=True, slots=True)
class StartedStream:
    """A stream of exact queries that was started, and its work."""

    running: RunningStream
    work: ExactWork


def start_exact(job: Job, rows: DataFrame, files: Files, log: Log, start: Start) -> StartedStream:
    """Recover a stream from its checkpoint folder, and answer exact queries over it."""
    delivery = start.delivery(files, log.lease)
    shards = ExecutorShards(job.spark, files.within("executors"), log.lease)
    held = HeldRows(job.spark, files.within(HELD), log.lease)
    work = ExactWork(job, log, delivery, shards, Numbering(job.time, held), start.settings)
    source = SparkSource(files)
    loop = StreamLoop(
        [job.stream],
        work,
        log,
        delivery,
        start.listeners,
        start.settings,
        {job.stream: source},
    )
    loop.recover()
    query = read_stream(job.spark, loop, job.stream, rows, files, start, label=job.stream)
    return StartedStream(RunningStream(job.stream, query, loop), work)


def refuse_running(spark: SparkSession, labels: Iterable[str]) -> None:
    """Refuse to start streams that run in this Spark session already."""
    active = {query.name for query in spark.streams.active}
    for label in labels:
        if _query_name(label) in active:
            raise CatalogError(
                f"stream {label!r} is running in this Spark session",
                "it was started before, by this loom or by another one",
                "running.stop() first, or another name for the stream",
            )


def read_stream(
    spark: SparkSession,
    loop: StreamLoop,
    stream: str,
    rows: DataFrame,
    files: Files,
    start: Start,
    *,
    label: str,
) -> StreamingQuery:
    """Start Spark's streaming query, which hands every micro-batch to a loop."""
    writer = rows.writeStream.foreachBatch(partial(loop.batch, stream))
    writer = writer.queryName(_query_name(label))
    writer = writer.option("checkpointLocation", SparkSource(files).root)
    trigger: dict[str, Any] = dict(start.trigger or {"processingTime": "0 seconds"})
    with with_settings(spark, _LOCAL_FILES if files.is_local else {}):
        try:
            query = writer.trigger(**trigger).start()
        except SPARK_ERRORS as error:
            raise CheckpointError(
                f"stream {stream!r} cannot be started",
                spark_message(error),
                "a trigger and a source that Spark takes; if it is a file of the checkpoint that "
                "is damaged: the checkpoint from a copy, or a new folder",
            ) from error
        _await_sources(query)
    return query


def _await_sources(query: StreamingQuery) -> None:
    """Wait until Spark has opened a stream's sources, which take the settings of that moment."""
    until = time.monotonic() + _OPENED
    while query.isActive and query.status["message"].startswith("Initializing"):
        if time.monotonic() > until:
            return
        time.sleep(0.01)


def _query_name(label: str) -> str:
    """The name under which Spark knows the streaming query of a stream."""
    return f"gingham {label}"
