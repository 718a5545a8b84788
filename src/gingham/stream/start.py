"""A checkpoint is opened or made, its stream goes on where it stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from gingham.checkpoint.files import Files
from gingham.core.errors import CheckpointError
from gingham.sinks.delivery import Delivery
from gingham.sinks.sinks import Sink
from gingham.spark.session import configured
from gingham.stream.executor_shards import FarShards
from gingham.stream.log import Log
from gingham.stream.loop import Listener, StreamLoop
from gingham.stream.planner import Job

_SOURCE = "source"  # what Spark itself keeps
_OPENED = 2.0  # seconds until sources are expected to be open
# For files on this machine Spark's default starts processes to set permissions and to look at
# links, three times a batch; this one writes and renames in the JVM. A local rename is atomic.
_LOCAL_FILES = {
    "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming."
    "checkpointing.FileSystemBasedCheckpointFileManager"
}


def start_stream(
    job: Job,
    rows: DataFrame,
    files: Files,
    sink: Sink,
    trigger: Mapping[str, object],
    listeners: list[Listener],
) -> tuple[StreamingQuery, StreamLoop]:
    """Recover a stream from its folder and let it run."""
    loop = StreamLoop(
        job, Log(files), Delivery(sink, files), FarShards(job.spark, files.within("far")), listeners
    )
    loop.recover()
    return read_stream(
        job.spark, job.stream, rows, loop.batch, files, trigger, loop.last_batch
    ), loop


def read_stream(
    spark: SparkSession,
    name: str,
    rows: DataFrame,
    batch: Callable[[DataFrame, int], None],
    files: Files,
    trigger: Mapping[str, object],
    last_batch: int,
) -> StreamingQuery:
    """Call a function with every micro-batch after the last one that was seen."""
    _refuse_lost_source(files, last_batch)
    writer = rows.writeStream.foreachBatch(batch).queryName(f"gingham {name}")
    writer = writer.option("checkpointLocation", f"{files.root}/{_SOURCE}")
    options: dict[str, Any] = dict(trigger)
    with configured(spark, _LOCAL_FILES if files.is_local else {}):
        query = writer.trigger(**options).start()
        _await_sources(query)
    return query


def _await_sources(query: StreamingQuery) -> None:
    """A stream keeps the settings it is started with; its sources those when they are opened."""
    until = time.monotonic() + _OPENED
    while query.isActive and query.status["message"].startswith("Initializing"):
        if time.monotonic() > until:
            return
        time.sleep(0.01)


def _refuse_lost_source(files: Files, batch: int) -> None:
    # Without it Spark would start over and count batches from zero, which are in the log already.
    if batch >= 0 and not files.exists(f"{_SOURCE}/offsets/{batch}"):
        raise CheckpointError(
            f"{files.root}/{_SOURCE} does not know batch {batch}",
            "the log holds its shards, but where the source stood then is lost",
            "the checkpoint from a copy, or a new folder to start afresh",
        )
