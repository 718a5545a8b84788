"""Rows of a stream are numbered once the watermark has passed them; the loop is fed by hand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from gingham.checkpoint.files import Files
from gingham.checkpoint.lease import Lease
from gingham.checkpoint.log import Log
from gingham.session.sources import Sources
from gingham.sinks.answer import Answer
from gingham.sinks.delivery import Delivery
from gingham.stream.clock import Timing
from gingham.stream.exact import ExactWork
from gingham.stream.executor_shards import ExecutorShards
from gingham.stream.held_rows import HeldRows
from gingham.stream.loop import StreamLoop
from gingham.stream.numbering import Numbering
from gingham.stream.planner import Job
from gingham.stream.settings import StreamSettings

SECOND = 1_000_000
ROWS = pa.schema([("ts", pa.timestamp("us", "UTC")), ("k", pa.string()), ("v", pa.int64())])


class Feed:
    """A loop over the stream t(ts, k, v), whose rows come three seconds late at most."""

    def __init__(
        self, spark: SparkSession, folder: Path, queries: Mapping[str, str], *, early: bool = False
    ) -> None:
        self._spark = spark
        self.answers: dict[str, list[tuple[Any, ...]]] = {name: [] for name in queries}
        sources = Sources(spark)
        sources.add_stream("t", spark.createDataFrame(pa.Table.from_pylist([], ROWS)), "ts", None)
        bound = [sources.bind(sql, name) for name, sql in queries.items()]
        timing = Timing(3 * SECOND, early=early)
        job = Job(spark, "t", "ts", timing, sources.lookups, lambda: bound, sources.bind, 1_000_000)
        files, settings = Files(str(folder)), StreamSettings()
        lease = Lease.take(files.within("lease"))
        log, delivery = Log(files, lease), Delivery(self, files, lease)
        numbering = Numbering("ts", HeldRows(spark, files.within("held"), lease))
        shards = ExecutorShards(spark, files.within("executors"), lease)
        work = ExactWork(job, log, delivery, shards, numbering, settings)
        self.loop = StreamLoop(["t"], work, log, delivery, [], settings)
        self.loop.recover()

    def deliver(self, name: str, answer: Answer, number: int) -> None:  # noqa: ARG002
        rows = [tuple(row.values())[1:] for row in answer.table().to_pylist()]
        self.answers[name] += sorted(rows, key=repr)

    def batch(self, *rows: tuple[int, str, int]) -> None:
        """One more micro-batch of rows: second, key, value."""
        found = [{"ts": second * SECOND, "k": k, "v": v} for second, k, v in rows]
        df = self._spark.createDataFrame(pa.Table.from_pylist(found, ROWS))
        self.loop.batch("t", df, self.loop.last_batch("t") + 1)


def test_a_row_waits_until_no_other_can_come_before_it(spark: SparkSession, tmp_path: Path):
    feed = Feed(spark, tmp_path, {"q": "SELECT max(v) AS last FROM t [ROWS 2 SLIDE 2]"})
    feed.batch((10, "a", 1), (12, "a", 3))
    assert feed.answers["q"] == []
    # second  10    11    12    13    14    15
    # value    1     2     3                 9     the watermark is at 12
    feed.batch((11, "a", 2), (15, "a", 9))
    assert feed.answers["q"] == [(2, 2)]
    # What comes before the watermark is late, and has no position.
    feed.batch((9, "a", 7), (16, "a", 8))
    assert feed.answers["q"] == [(2, 2)]
    feed.batch((18, "a", 1))
    assert feed.answers["q"] == [(2, 2)]
    feed.batch((19, "a", 1))
    assert feed.answers["q"] == [(2, 2), (4, 9)]


def test_time_that_passes_without_rows_numbers_those_that_wait(spark: SparkSession, tmp_path: Path):
    feed = Feed(
        spark, tmp_path, {"q": "SELECT k, sum(v) AS s FROM t [ROWS 2 SLIDE 1 PER k] GROUP BY k"}
    )
    feed.batch((10, "a", 1), (11, "b", 5), (12, "a", 2))
    assert feed.answers["q"] == []
    feed.loop.advance("t", 12 * SECOND, 0)
    assert feed.answers["q"] == [(1, "a", 1), (1, "b", 5)]
    feed.loop.advance("t", 20 * SECOND, 0)
    assert feed.answers["q"][2:] == [(2, "a", 3)]


def test_a_query_that_raises_misses_the_windows_of_that_batch_only(
    spark: SparkSession, tmp_path: Path
):
    feed = Feed(
        spark,
        tmp_path,
        {
            "raises": "SELECT k, sum(6 DIV v) AS s FROM t [ROWS 2 SLIDE 1 PER k] GROUP BY k",
            "sound": "SELECT k, sum(v) AS s FROM t [ROWS 2 SLIDE 1 PER k] GROUP BY k",
        },
    )
    feed.batch((10, "a", 1), (10, "b", 2), (14, "c", 1))  # both of second 10 are numbered
    feed.batch((14, "a", 0), (18, "c", 1))  # the second row of a, and c
    feed.batch((18, "a", 3), (19, "a", 6), (18, "b", 3), (25, "c", 1))
    # a: 1 [0] 3 6, b: 2 3, c: [1] 1, where the rows in brackets are of the batch that fails.
    assert feed.answers["sound"] == [
        (1, "a", 1),
        (1, "b", 2),
        (1, "c", 1),
        (2, "a", 1),
        (2, "b", 5),
        (2, "c", 2),
        (3, "a", 3),
        (4, "a", 9),
    ]
    assert feed.answers["raises"] == [(1, "a", 6), (1, "b", 3), (2, "b", 5), (4, "a", 3)]
    assert "raises" in feed.loop.failed


def test_open_windows_of_rows_are_answered_whenever_they_change(
    spark: SparkSession, tmp_path: Path
):
    sql = "SELECT count(*) AS n FROM t [ROWS 3 SLIDE 3]"
    feed = Feed(spark, tmp_path, {"q": sql}, early=True)
    feed.batch((10, "a", 1), (11, "a", 1), (14, "a", 1))
    assert feed.answers["q"] == [(3, 1)]
    feed.batch((18, "a", 1))
    assert feed.answers["q"] == [(3, 1), (3, 3)]
