"""A checkpoint is opened or made, its stream goes on where it stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from gingham.core.errors import CheckpointError
from gingham.runtime.delivery import Delivery
from gingham.runtime.far import FarShards
from gingham.runtime.files import Files
from gingham.runtime.log import Log
from gingham.runtime.loop import Listener, StreamLoop
from gingham.runtime.planner import Job
from gingham.runtime.registry import Registry
from gingham.runtime.seal import read_json, write_json
from gingham.runtime.sinks import Sink
from gingham.spark.session import configured
from gingham.spark.types import column_types

_ABOUT = "gingham.json"
_SOURCE = "source"  # what Spark itself keeps
_OPENED = 2.0  # seconds until sources are expected to be open
# For files on this machine Spark's default starts processes to set permissions and to look at
# links, three times a batch; this one writes and renames in the JVM. A local rename is atomic.
_LOCAL_FILES = {
    "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming."
    "checkpointing.FileSystemBasedCheckpointFileManager"
}


class Checkpoint:
    """A folder.

    gingham.json    the columns of each stream
    queries/        the queries
    streams/NAME/   the log of a stream, and what Spark itself keeps of it
    sketches/       the log of joined streams
    """

    def __init__(self, root: str) -> None:
        self.files = Files(root)
        if not self.files.exists(_ABOUT):
            if not self.files.is_empty():
                raise CheckpointError(
                    f"{root} is no checkpoint of Gingham's",
                    "there are other files in it",
                    "an empty folder, or one that does not exist yet",
                )
            write_json(self.files, _ABOUT, {"streams": {}})
        self.registry = Registry(self.files.within("queries"))

    def of(self, stream: str, rows: DataFrame, time: str) -> Files:
        """The folder of a stream; refused if the stream has other columns now."""
        about = read_json(self.files, _ABOUT)
        schema = column_types(rows)
        known = about["streams"].get(stream)
        if known is None:
            about["streams"][stream] = {"time": time, "columns": schema}
            write_json(self.files, _ABOUT, about)
        elif known != {"time": time, "columns": schema}:
            raise CheckpointError(
                f"stream {stream!r} is not the one of this checkpoint",
                _difference(
                    known["columns"] | {"(time)": known["time"]}, schema | {"(time)": time}
                ),
                "the same columns as before, or a new checkpoint",
            )
        return self.files.within("streams").within(stream)


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


def _difference(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    names = sorted(before.keys() | now.keys())
    changed = [n for n in names if before.get(n) != now.get(n)]
    return ", ".join(
        f"{n} was {before.get(n, 'not there')}, is {now.get(n, 'gone')}" for n in changed
    )
