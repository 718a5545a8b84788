"""How long a trigger takes: the queries of a workload over a stream of small files."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import gingham
from benchmarks.capped import CappedRuns
from benchmarks.workload_report import Triggers
from gingham.core.errors import GinghamError

DELAY = "10 seconds"


class _Dropped:
    """A sink that reads every answer and keeps none."""

    def deliver(self, name: str, answer: gingham.Answer, number: int) -> None:
        """Read the rows of an answer."""
        del name, number
        for batch in answer.batches():
            assert batch.num_rows >= 0


def write_trigger_files(rows: pa.Table, folder: Path, rows_each: int) -> None:
    """Write rows, which are in the order of their time, as files that a stream reads in turn."""
    folder.mkdir()
    for number, start in enumerate(range(0, rows.num_rows, rows_each)):
        file = folder / f"{number:05d}.parquet"
        pq.write_table(rows.slice(start, rows_each), file)
        os.utime(file, (1_600_000_000 + number, 1_600_000_000 + number))


def time_triggers(
    runs: CappedRuns,
    stream: str,
    folder: Path,
    queries: Mapping[str, str],
    rows_each: int,
) -> Triggers:
    """Run queries over the files of a folder, one file a trigger, until all are read or the cap."""
    spark = runs.spark
    schema = spark.read.parquet(str(folder)).schema
    rows = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))
    loom = gingham.Loom(spark).stream(stream, rows, time="ts", watermark=DELAY)

    def add() -> None:
        for name, text in queries.items():
            loom.add(text, name=name)

    added = runs.run(add)
    if added.capped or added.error:
        return Triggers(rows_each, (), added.capped, added.error or "adding was stopped")
    seconds: list[float] = []
    failed: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="gingham-triggers-") as checkpoint:
        trigger = {"processingTime": "0 seconds"}
        running = loom.start(checkpoint=checkpoint, sink=_Dropped(), trigger=trigger)
        running.listen(lambda batch: failed.update(batch.failed))
        error, files = "", len(list(folder.glob("*.parquet")))
        until = time.monotonic() + runs.cap
        try:
            while len(seconds) < files and time.monotonic() < until:
                if running.await_termination(0.2):
                    break
                # Spark keeps the progress of a hundred triggers, which is more than there are.
                progress = running.streaming[stream].recentProgress
                seconds = [
                    batch.durationMs["triggerExecution"] / 1e3
                    for batch in progress
                    if batch.numInputRows
                ]
        except GinghamError as stopped:
            error = str(stopped).splitlines()[0]
        # A batch that hangs must not keep the benchmark from ending.
        runs.run(running.stop)
    return Triggers(rows_each, tuple(seconds), len(seconds) < files and not error, error, failed)
