"""What goes wrong in a stream: a clear error or a counted drop, never a wrong answer."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import gingham
from gingham.checkpoint.folder import Checkpoint
from gingham.checkpoint.seal import VERSION
from gingham.spark.spark_session import with_settings
from tests.replay import SCHEMA, replayed, write_batches

START = datetime(2024, 1, 1, tzinfo=UTC)
COUNT = "SELECT count(*) AS n FROM trades GROUP BY window(ts, '10 seconds')"
IMPATIENT = gingham.StreamSettings(
    sink_patience=0.1, retry_after=0.2, end_patience=0.5, stop_patience=1.0
)
AVAILABLE = {"availableNow": True}


def batch(*seconds: float | None, symbol: str = "A", vol: int = 1) -> pa.Table:
    """Trades at these seconds."""
    times = [None if s is None else START + timedelta(seconds=s) for s in seconds]
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "symbol": pa.array([symbol] * len(times)),
            "price": pa.array([1.0] * len(times)),
            "vol": pa.array([vol] * len(times), pa.int32()),
        }
    )


class Stream:
    """Batches in a folder, and looms that read them."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder, self._written = spark, folder, 0
        (folder / "trades").mkdir()

    def write(self, *batches: pa.Table) -> None:
        write_batches(self.folder / "trades", batches, first=self._written)
        self._written += len(batches)

    def loom(self, schema: str = SCHEMA, **queries: str) -> gingham.Loom:
        rows = replayed(self.spark, self.folder / "trades", schema=schema)
        loom = gingham.Loom(self.spark).stream("trades", rows, time="ts", watermark="5 seconds")
        for name, sql in queries.items():
            loom.add(sql, name=name)
        return loom

    def start(
        self, loom: gingham.Loom, sink: object = "memory", **options: object
    ) -> gingham.Running:
        """Begin to answer everything that is there."""
        checkpoint = str(self.folder / "checkpoint")
        given: dict[str, object] = {"trigger": AVAILABLE, **options}
        return loom.start(checkpoint=checkpoint, sink=sink, **given)  # pyright: ignore[reportArgumentType]

    def run(
        self, loom: gingham.Loom, sink: object = "memory", **options: object
    ) -> gingham.Running:
        """Answer everything that is there."""
        running = self.start(loom, sink, **options)
        running.await_termination()
        return running


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> Stream:
    return Stream(spark, tmp_path)


def answers(running: gingham.Running, name: str = "count") -> list[tuple[int, int]]:
    """Seconds from the start to the end of each window, and its count, as they were answered."""
    table = running.arrow(name)
    ends = [int((e - START).total_seconds()) for e in table["window_end"].to_pylist()]
    return list(zip(ends, table["n"].to_pylist(), strict=True))


def test_late_rows_are_counted_and_change_nothing(stream: Stream):
    stream.write(batch(1, 2), batch(16), batch(3, 17), batch(40))
    running = stream.run(stream.loom(count=COUNT))
    assert answers(running) == [(10, 2), (20, 2)]
    assert running.progress()["trades"].late == 1


def test_late_rows_still_count_in_windows_that_are_open(stream: Stream):
    stream.write(batch(1, 16), batch(12, 8), batch(60))
    sliding = "SELECT count(*) AS n FROM trades GROUP BY window(ts, '20 seconds', '10 seconds')"
    running = stream.run(stream.loom(count=sliding))
    # The row at 8 came after [-10, 10) was answered; [0, 20) was still open.
    assert answers(running) == [(10, 1), (20, 4), (30, 2)]


def test_windows_are_corrected_within_the_allowed_lateness(stream: Stream):
    stream.write(batch(1, 2), batch(16), batch(3, 17), batch(40), batch(4))
    running = stream.run(stream.loom(count=COUNT), allowed_lateness="20 seconds")
    assert answers(running) == [(10, 2), (10, 3), (20, 2)]


def test_update_answers_windows_whenever_they_change(stream: Stream):
    stream.write(batch(1, 2), batch(3), batch(16), batch(40))
    running = stream.run(stream.loom(count=COUNT), output_mode="update")
    assert answers(running)[:2] == [(10, 2), (10, 3)]
    assert dict(answers(running)) == {10: 3, 20: 1, 50: 1}


def test_rows_without_a_time_are_counted(stream: Stream):
    stream.write(batch(1, None, 2), batch(None), batch(30))
    running = stream.run(stream.loom(count=COUNT))
    assert answers(running) == [(10, 2)]
    progress = running.progress()["trades"]
    assert (progress.rows, progress.timeless) == (3, 2)


def test_a_clock_that_jumps_makes_rows_late(stream: Stream):
    stream.write(batch(1, 2), batch(86_400 * 365), batch(3, 4), batch(86_400 * 365 + 60))
    running = stream.run(stream.loom(count=COUNT))
    assert answers(running)[0] == (10, 2)
    assert running.progress()["trades"].late == 2


def test_a_stream_without_queries_goes_on(stream: Stream):
    stream.write(batch(1, 2), batch(16))
    running = stream.run(stream.loom())
    assert running.progress()["trades"].rows == 3
    stream.write(batch(30), batch(60))
    assert answers(stream.run(stream.loom(count=COUNT))) == [(40, 1)]


def test_a_quiet_stream_follows_the_clock_if_told_to(stream: Stream):
    stream.write(batch(1, 2, 9))
    running = stream.loom(count=COUNT).start(
        checkpoint=str(stream.folder / "c"), sink="memory", idle="1 second"
    )
    for _ in range(200):
        time.sleep(0.1)
        progress = running.progress()["trades"]
        if progress.queries and progress.queries["count"].windows:
            break
    running.stop()
    assert answers(running) == [(10, 3)]


def test_a_sink_that_fails_for_one_query_does_not_stall_the_others(stream: Stream):
    answered: dict[tuple[str, int], list[tuple[str, int]]] = {}
    broken = True

    def sink(name: str, rows: DataFrame, number: int) -> None:
        if name == "bad" and broken:
            raise OSError("disk full")
        # Where collecting takes longer than the patience, the same number comes again.
        answered[name, number] = [(name, r["n"]) for r in rows.collect()]
        got[:] = [answer for own in answered.values() for answer in own]

    got: list[tuple[str, int]] = []
    stream.write(batch(1, 2), batch(16), batch(30))
    running = stream.start(stream.loom(bad=COUNT, good=COUNT), sink, settings=IMPATIENT)
    with pytest.raises(gingham.SinkError, match="not delivered: 2 of 'bad'"):
        running.await_termination()
    assert got == [("good", 2), ("good", 1)]
    bad = running.progress()["trades"].queries["bad"]
    assert bad.waiting == 2
    assert "disk full" in (bad.error or "")
    broken = False
    stream.write(batch(50))
    stream.run(stream.loom(), sink)
    assert got[2:].count(("good", 1)) == 1
    assert [answer for answer in got if answer[0] == "bad"] == [("bad", 2), ("bad", 1), ("bad", 1)]


def test_a_query_that_raises_fails_alone(stream: Stream):
    stream.write(batch(1, 2), batch(16, vol=0), batch(30), batch(60))
    raises = "SELECT sum(6 / vol) AS n FROM trades GROUP BY window(ts, '10 seconds')"
    running = stream.run(stream.loom(count=COUNT, ratio=raises))
    assert answers(running) == [(10, 2), (20, 1), (40, 1)]
    # The window with the zero has no answer; the others have theirs.
    assert answers(running, "ratio") == [(10, 12), (40, 6)]


def test_a_function_that_raises_is_left_out(stream: Stream, spark: SparkSession):
    def reciprocal(vol: int) -> float:
        return 1 / vol

    spark.udf.register("reciprocal", reciprocal, "double")
    stream.write(batch(1, 2), batch(16, vol=0), batch(30))
    window = "GROUP BY window(ts, '10 seconds')"
    bad = f"SELECT count(*) AS n FROM trades WHERE reciprocal(vol) > 0 {window}"
    running = stream.run(stream.loom(count=COUNT, bad=bad))
    assert answers(running) == [(10, 2), (20, 1)]
    assert "ZeroDivisionError" in (running.progress()["trades"].queries["bad"].error or "")


def test_answers_that_wait_outlive_the_failure_of_their_query(stream: Stream, spark: SparkSession):
    def reciprocal(vol: int) -> float:
        return 1 / vol

    spark.udf.register("reciprocal", reciprocal, "double")
    got: list[tuple[str, int]] = []
    broken = True

    def sink(name: str, rows: DataFrame, _number: int) -> None:
        if broken:
            raise OSError("disk full")
        got.extend((name, row["n"]) for row in rows.collect())

    def heal(batch: gingham.BatchProgress) -> None:
        nonlocal broken
        broken = batch.number < 2

    # bad  [0 ---- 10) waits for its sink; then vol = 0 makes the query raise, and the sink heals.
    stream.write(batch(1, 2), batch(16), batch(30, vol=0), batch(50))
    loom = stream.loom(
        bad="""SELECT count(*) AS n FROM trades WHERE reciprocal(vol) < 9
            GROUP BY window(ts, '10 seconds')"""
    )
    running = loom.start(checkpoint=str(stream.folder / "c"), sink=sink, settings=IMPATIENT)
    running.listen(heal)
    running.process_all_available()
    running.stop()
    assert "bad" in running.failed()
    assert got[:1] == [("bad", 2)]


def test_a_listener_may_ask_for_the_progress(stream: Stream):
    stream.write(batch(1, 2), batch(16))
    loom = stream.loom(count=COUNT)
    seen: list[int] = []
    running = loom.start(checkpoint=str(stream.folder / "c"), sink="memory")
    running.listen(lambda _: seen.append(running.progress()["trades"].rows))
    stream.write(batch(30))
    deadline = time.monotonic() + 60
    while 4 not in seen and time.monotonic() < deadline:
        time.sleep(0.1)
    running.stop()
    assert 4 in seen


def test_a_removed_query_leaves(stream: Stream):
    stream.write(batch(1, 2), batch(16))
    loom = stream.loom(count=COUNT, other=COUNT)
    stream.run(loom)
    loom.remove("other")
    stream.write(batch(60))
    again = stream.loom()
    running = stream.run(again)
    assert again.queries == ("count",)
    assert answers(running) == [(20, 1)]


def _damage_log(folder: Path) -> None:
    file = max((folder / "checkpoint/streams/trades/log").iterdir())
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def _lose_source(folder: Path) -> None:
    for file in (folder / "checkpoint/streams/trades/source/offsets").iterdir():
        file.unlink()


def _foreign(folder: Path) -> None:
    (folder / "checkpoint/gingham.json").unlink()


def _older(folder: Path) -> None:
    about = folder / "checkpoint/gingham.json"
    about.write_bytes(about.read_bytes().replace(b"gingham %d\n" % VERSION, b"gingham 2\n"))


@pytest.mark.parametrize(
    ("harm", "complaint"),
    [
        (_damage_log, "cannot be read"),
        (_lose_source, "does not know batch 1"),
        (_foreign, "is no checkpoint of Gingham's"),
        (_older, "by another version"),
    ],
)
def test_a_damaged_checkpoint_is_refused(
    stream: Stream, harm: Callable[[Path], None], complaint: str
):
    stream.write(batch(1, 2), batch(16))
    stream.run(stream.loom(count=COUNT))
    harm(stream.folder)
    with pytest.raises(gingham.CheckpointError, match=complaint):
        stream.run(stream.loom())


@pytest.mark.parametrize("name", ["queries", "sketches", "streams"])
def test_a_stream_may_be_named_like_a_folder_of_the_checkpoint(
    spark: SparkSession, tmp_path: Path, name: str
):
    checkpoint = Checkpoint(str(tmp_path))
    checkpoint.of(name, spark.range(1).withColumnRenamed("id", "ts"), "ts", {}).write("log", b"")
    assert not (tmp_path / name / "log").exists()


@pytest.mark.parametrize("name", ["..", "../../x", "_x", ""])
def test_the_folder_of_a_stream_is_inside_its_checkpoint(
    spark: SparkSession, tmp_path: Path, name: str
):
    checkpoint = Checkpoint(str(tmp_path / "c"))
    files = checkpoint.of(name, spark.range(1).withColumnRenamed("id", "ts"), "ts", {})
    assert Path(files.root).resolve().parent == tmp_path / "c" / "streams"


def test_another_schema_is_refused(stream: Stream):
    stream.write(batch(1, 2))
    stream.run(stream.loom(count=COUNT))
    with pytest.raises(gingham.CheckpointError, match="vol was int, is bigint"):
        stream.run(stream.loom(schema=SCHEMA.replace("vol INT", "vol BIGINT")))


def test_other_settings_than_before_are_refused(stream: Stream, spark: SparkSession):
    stream.write(batch(1, 2))
    stream.run(stream.loom(count=COUNT))
    for options, complaint in (
        ({"allowed_lateness": "1 minute"}, "allowed_lateness was 0 seconds, is 60 seconds"),
        ({"output_mode": "update"}, "output_mode was append, is update"),
        ({"fold_cells": True}, "fold_cells was false, is true"),
        ({"send_records": True}, "send_records was not set, is true"),
    ):
        with pytest.raises(gingham.CheckpointError, match=complaint):
            stream.run(stream.loom(), **options)
    for name, value in (
        ("spark.sql.session.timeZone", "Asia/Tokyo"),
        ("spark.sql.ansi.enabled", "false"),
        ("spark.sql.caseSensitive", "true"),
        ("spark.sql.legacy.timeParserPolicy", "LEGACY"),
    ):
        loom = stream.loom()
        with with_settings(spark, {name: value}):  # noqa: SIM117
            with pytest.raises(gingham.CheckpointError, match=f"{name} was .*, is {value}"):
                stream.run(loom)
    # The same in other words, and what answers do not depend on.
    stream.run(stream.loom(), allowed_lateness="0 minutes", most_on_driver=7)


def test_a_sink_is_of_one_checkpoint(stream: Stream):
    stream.write(batch(1, 2), batch(16))
    sink = str(stream.folder / "answers")
    stream.run(stream.loom(count=COUNT), sink)
    older = stream.folder / "older"
    shutil.copytree(stream.folder / "checkpoint", older)
    stream.write(batch(30))
    stream.run(stream.loom(), sink)
    # An older copy goes on with other batches than those that were delivered.
    shutil.rmtree(stream.folder / "checkpoint")
    older.rename(stream.folder / "checkpoint")
    stream.write(batch(31))
    rows = replayed(stream.spark, stream.folder / "trades", files=2)
    loom = gingham.Loom(stream.spark).stream("trades", rows, time="ts", watermark="5 seconds")
    running = stream.run(loom, sink, settings=IMPATIENT)
    assert not running.failed()  # the same windows and counts under the same number
    stream.folder = stream.folder / "new"
    stream.folder.mkdir()
    (stream.folder.parent / "trades").rename(stream.folder / "trades")
    with pytest.raises(gingham.SinkError, match="of another checkpoint"):
        stream.run(stream.loom(count=COUNT), sink)
    stream.run(stream.loom(count=COUNT), sink, adopt_sink=True)


def test_a_stream_is_started_once_in_a_session(stream: Stream):
    stream.write(batch(1, 2))
    checkpoint = str(stream.folder / "checkpoint")
    running = stream.loom(count=COUNT).start(checkpoint=checkpoint, sink="memory")
    try:
        with pytest.raises(gingham.CatalogError, match="is running in this Spark session"):
            stream.run(stream.loom())
        running.process_all_available()
    finally:
        running.stop()


def test_another_query_under_the_same_name_is_refused(stream: Stream):
    stream.write(batch(1, 2))
    stream.run(stream.loom(count=COUNT))
    with pytest.raises(gingham.QueryError, match="another one in the checkpoint"):
        stream.run(stream.loom(count=COUNT.replace("10", "20")))


def test_what_cannot_be_started_says_why(stream: Stream, spark: SparkSession, tmp_path: Path):
    checkpoint = str(tmp_path / "c")
    static = gingham.Loom(spark).stream("t", spark.range(1).selectExpr("now() AS ts"), time="ts")
    with pytest.raises(gingham.CatalogError, match="static DataFrame"):
        static.start(checkpoint=checkpoint, sink="memory")
    rows = replayed(spark, stream.folder / "trades")
    unmarked = gingham.Loom(spark).stream("trades", rows, time="ts")
    with pytest.raises(gingham.CatalogError, match="no watermark"):
        unmarked.start(checkpoint=checkpoint, sink="memory")
    loom = stream.loom(count=COUNT)
    with pytest.raises(gingham.CatalogError, match="streaming DataFrame"):
        loom.run()
    with pytest.raises(gingham.SinkError, match="is no sink"):
        loom.start(checkpoint=checkpoint, sink=7)  # pyright: ignore[reportArgumentType]
    (tmp_path / "file").write_text("")
    with pytest.raises(gingham.CheckpointError, match="cannot be written"):
        loom.start(checkpoint=checkpoint, sink=str(tmp_path / "file"))


RATIO = "SELECT sum(60 DIV vol) AS n FROM trades GROUP BY window(ts, '10 seconds')"


@pytest.mark.parametrize("most", [1_000_000, 0], ids=["near", "far"])
def test_a_bad_row_costs_the_windows_around_it_and_no_others(
    spark: SparkSession, tmp_path: Path, most: int
):
    # ratio  [0--)[10--) ... [300 X--)[310--) ... [590--)    X: vol is 0
    stream = Stream(spark, tmp_path)
    seconds = [float(s) for s in range(600) if s != 305]
    bad = batch(305.0, vol=0)
    stream.write(pa.concat_tables([batch(*seconds), bad]), batch(620.0))
    loom = stream.loom(ratio=RATIO, count=COUNT)
    running = loom.start(
        checkpoint=str(tmp_path / "checkpoint"),
        sink="memory",
        trigger=AVAILABLE,
        most_on_driver=most,
    )
    running.await_termination()
    assert "DIVIDE_BY_ZERO" in str(running.failed()["ratio"])
    starts = {t.timestamp() - START.timestamp() for t in starts_of(running, "ratio")}
    assert starts == {10.0 * i for i in range(60)} - {300.0}
    assert set(running.arrow("ratio")["n"].to_pylist()) == {600}
    assert len(starts_of(running, "count")) == 60
    assert running.arrow("count")["n"].to_pylist() == [10] * 60


def test_a_bad_row_without_a_time_costs_no_window(spark: SparkSession, tmp_path: Path):
    stream = Stream(spark, tmp_path)
    bad = batch(None, vol=0)
    stream.write(pa.concat_tables([batch(1.0, 12.0), bad]), batch(40.0))
    loom = stream.loom(ratio=RATIO, count=COUNT)
    running = loom.start(checkpoint=str(tmp_path / "checkpoint"), sink="memory", trigger=AVAILABLE)
    running.await_termination()
    assert running.arrow("ratio")["n"].to_pylist() == [60, 60]
    assert running.arrow("count")["n"].to_pylist() == [1, 1]
    assert running.progress()["trades"].timeless == 1


def test_two_queries_that_fail_for_different_rows_miss_different_windows(
    spark: SparkSession, tmp_path: Path
):
    stream = Stream(spark, tmp_path)
    seconds = [float(s) for s in range(400) if s not in (105, 255)]
    stream.write(
        pa.concat_tables([batch(*seconds), batch(105.0, vol=0), batch(255.0, symbol="x")]),
        batch(420.0),
    )
    cast = (
        "SELECT count(CAST(replace(symbol, 'A', '1') AS INT)) AS n FROM trades "
        "GROUP BY window(ts, '10 seconds')"
    )
    loom = stream.loom(ratio=RATIO, cast=cast, count=COUNT)
    running = loom.start(checkpoint=str(tmp_path / "checkpoint"), sink="memory", trigger=AVAILABLE)
    running.await_termination()
    missing = {
        name: {10.0 * i for i in range(40)}
        - {t.timestamp() - START.timestamp() for t in starts_of(running, name)}
        for name in ("ratio", "cast", "count")
    }
    assert missing == {"ratio": {100.0}, "cast": {250.0}, "count": set()}


def starts_of(running: gingham.Running, name: str) -> list[datetime]:
    """When the answered windows of a query start."""
    return running.arrow(name)["window_start"].to_pylist()
