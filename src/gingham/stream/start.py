"""Streams are recovered from their checkpoint and read from there on."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from gingham.checkpoint.files import Files
from gingham.checkpoint.log import Log
from gingham.core.errors import CheckpointError
from gingham.sinks.delivery import Delivery
from gingham.sinks.sink import Sink
from gingham.spark.spark_session import with_settings
from gingham.stream.exact import ExactWork
from gingham.stream.executor_shards import ExecutorShards
from gingham.stream.loop import Listener, StreamLoop
from gingham.stream.planner import Job
from gingham.stream.running import RunningStream
from gingham.stream.settings import StreamSettings

_SOURCE = "source"  # what Spark itself keeps
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

    def delivery(self, files: Files) -> Delivery:
        """The delivery of answers to the sink, with this folder for those that must wait."""
        return Delivery(self.sink, files, self.settings.sink_patience)


@dataclass(frozen=True, slots=True)
class StartedStream:
    """A stream of exact queries that was started, and its work."""

    running: RunningStream
    work: ExactWork


def start_exact(job: Job, rows: DataFrame, files: Files, start: Start) -> StartedStream:
    """Recover a stream from its checkpoint folder, and answer exact queries over it."""
    log, delivery = Log(files), start.delivery(files)
    shards = ExecutorShards(job.spark, files.within("executors"))
    work = ExactWork(job, log, delivery, shards, start.settings)
    loop = StreamLoop([job.stream], work, log, delivery, start.listeners, start.settings)
    loop.recover()
    query = read_stream(job.spark, loop, job.stream, rows, files, start, label=job.stream)
    return StartedStream(RunningStream(query, loop), work)


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
    _refuse_lost_source(files, loop.last_batch(stream))
    writer = rows.writeStream.foreachBatch(partial(loop.batch, stream))
    writer = writer.queryName(f"gingham {label}")
    writer = writer.option("checkpointLocation", f"{files.root}/{_SOURCE}")
    trigger: dict[str, Any] = dict(start.trigger or {"processingTime": "0 seconds"})
    with with_settings(spark, _LOCAL_FILES if files.is_local else {}):
        query = writer.trigger(**trigger).start()
        _await_sources(query)
    return query


def _await_sources(query: StreamingQuery) -> None:
    """Wait until Spark has opened a stream's sources, which take the settings of that moment."""
    until = time.monotonic() + _OPENED
    while query.isActive and query.status["message"].startswith("Initializing"):
        if time.monotonic() > until:
            return
        time.sleep(0.01)


def _refuse_lost_source(files: Files, batch: int) -> None:
    """Raise if Spark's checkpoint of the source lacks a micro-batch that is in the log."""
    # Without it Spark would start over and count batches from zero, which are in the log already.
    if batch >= 0 and not files.exists(f"{_SOURCE}/offsets/{batch}"):
        raise CheckpointError(
            f"{files.root}/{_SOURCE} does not know batch {batch}",
            "the log holds its shards, but where the source stood then is lost",
            "the checkpoint from a copy, or a new folder to start afresh",
        )
