"""Sinks that fail, hang and heal, and streams that die: told, retried, never taken for success."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import gingham
from gingham.checkpoint.log import Log
from tests.replay import replayed, write_batches
from tests.system.test_stream_trouble import COUNT, IMPATIENT, Stream, answers, batch, stream

__all__ = ["stream"]  # the fixture
QUICK = gingham.StreamSettings(sink_patience=0.05, retry_after=0.1, stop_patience=1.0)
ENDLESS = {"processingTime": "0 seconds"}


def wait_until(happened: Callable[[], object], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


class Sink:
    """A sink that raises what it is told to, or hangs, and keeps what it takes."""

    def __init__(self) -> None:
        self.error: BaseException | None = OSError("disk full")
        self.got: list[tuple[str, int, int]] = []
        self.hangs, self.called, self.go_on = False, threading.Event(), threading.Event()

    def __call__(self, name: str, rows: DataFrame, number: int) -> None:
        self.called.set()
        if self.hangs:
            self.go_on.wait(60)
        elif self.error is not None:
            raise self.error
        self.got.extend((name, row["n"], number) for row in rows.collect())


def test_answers_that_wait_are_delivered_without_new_rows(stream: Stream):
    sink = Sink()
    stream.write(batch(1, 2), batch(16))
    running = stream.start(stream.loom(count=COUNT), sink, settings=QUICK, trigger=ENDLESS)
    wait_until(lambda: running.undelivered() == {"count": 1})
    assert "disk full" in str(running.failed()["count"])
    sink.error = None
    wait_until(lambda: not running.undelivered())
    assert not running.failed()
    assert running.progress()["trades"].queries["count"].error is None
    running.stop()
    assert running.await_termination()
    assert sink.got == [("count", 2, 1)]


def test_answers_that_wait_are_delivered_after_a_restart_without_new_rows(stream: Stream):
    sink = Sink()
    stream.write(batch(1, 2), batch(16))
    running = stream.start(stream.loom(count=COUNT), sink, settings=IMPATIENT)
    with pytest.raises(gingham.SinkError, match="not delivered: 1 of 'count'"):
        running.await_termination()
    assert not sink.got
    sink.error = None
    stream.run(stream.loom(), sink)
    assert sink.got == [("count", 2, 1)]


def test_a_sink_that_heals_in_time_makes_the_end_a_success(stream: Stream):
    sink = Sink()
    stream.write(batch(1, 2), batch(16))
    settings = gingham.StreamSettings(sink_patience=0.05, end_patience=30)
    running = stream.start(stream.loom(count=COUNT), sink, settings=settings)
    assert not running.await_termination(0.01)
    wait_until(running.undelivered)
    sink.error = None
    assert running.await_termination()
    assert sink.got == [("count", 2, 1)]


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_a_sink_that_wants_to_end_the_process_is_one_that_fails(
    stream: Stream, error: BaseException
):
    sink = Sink()
    sink.error = error
    stream.write(batch(1, 2), batch(16))
    running = stream.start(stream.loom(count=COUNT), sink, settings=IMPATIENT)
    with pytest.raises(gingham.SinkError, match=type(error).__name__):
        running.await_termination()


def test_a_sink_that_hangs_blocks_neither_progress_nor_stop(stream: Stream):
    sink = Sink()
    sink.hangs = True
    stream.write(batch(1, 2), batch(16))
    running = stream.start(stream.loom(count=COUNT), sink, settings=QUICK, trigger=ENDLESS)
    assert sink.called.wait(60)
    assert running.progress()["trades"].queries["count"].windows == 1
    stopped = threading.Thread(target=running.stop, daemon=True)
    stopped.start()
    stopped.join(20)
    assert not stopped.is_alive()
    wait_until(lambda: running.has_ended)
    assert "did not return" in str(running.failed()["count"])
    with pytest.raises(gingham.SinkError, match="abandoned"):
        running.await_termination()
    sink.hangs = False
    sink.error = None
    sink.go_on.set()
    # What the sink had is delivered again, under the same number.
    again = Sink()
    again.error = None
    stream.run(stream.loom(), again)
    assert again.got == [("count", 2, 1)]


def test_a_listener_that_wants_to_end_the_process_ends_the_stream(stream: Stream):
    stream.write(batch(1, 2))
    loom = stream.loom(count=COUNT)
    running = stream.start(loom, trigger=ENDLESS)
    running.process_all_available()

    def leave(_: gingham.BatchProgress) -> None:
        raise SystemExit(1)

    running.listen(leave)
    stream.write(batch(16))
    with pytest.raises(gingham.AnswerError, match="SystemExit"):
        running.await_termination(60)


@contextmanager
def failing_writes(patch: pytest.MonkeyPatch, method: str, fails: Callable[[], bool]) -> Any:
    """Let a write of the log raise as long as it is told to."""
    write = getattr(Log, method)

    def written(self: Log, *arguments: Any) -> None:
        if fails():
            raise OSError("no space left")
        write(self, *arguments)

    with patch.context() as patched:
        patched.setattr(Log, method, written)
        yield


def test_a_write_error_does_not_end_the_time_of_an_idle_stream(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
):
    stream.write(batch(1, 2, 9))
    running = stream.start(stream.loom(count=COUNT), idle="1 second", trigger=ENDLESS)
    running.process_all_available()
    with failing_writes(monkeypatch, "append", lambda: True):
        wait_until(lambda: running.progress()["trades"].error)
        assert "no space left" in (running.progress()["trades"].error or "")
    wait_until(lambda: running.progress()["trades"].queries["count"].windows)
    assert running.progress()["trades"].error is None
    running.stop()
    assert answers(running) == [(10, 3)]


def test_an_idle_stream_ends_with_an_error_if_an_entry_cannot_be_finished(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
):
    stream.write(batch(1, 2, 9))
    running = stream.start(stream.loom(count=COUNT), idle="1 second", trigger=ENDLESS)
    running.process_all_available()

    def answered() -> bool:
        return bool(running.progress()["trades"].queries["count"].windows)

    with (
        failing_writes(monkeypatch, "finish", answered),
        pytest.raises(gingham.CheckpointError, match="could not be finished"),
    ):
        running.await_termination(60)
    assert not running.is_active
    # The entry is there: its answer comes again after a restart.
    assert answers(stream.run(stream.loom())) == [(10, 3)]


def test_rows_that_are_not_newer_keep_a_stream_from_being_idle(stream: Stream):
    stream.write(batch(1, 2, 9))
    running = stream.start(stream.loom(count=COUNT), idle="2 seconds", trigger=ENDLESS)
    running.process_all_available()
    until = time.monotonic() + 6
    while time.monotonic() < until:
        stream.write(batch(5))
        running.process_all_available()
        time.sleep(0.3)
    assert not running.progress()["trades"].queries["count"].windows
    running.stop()


def two_streams(spark: SparkSession, folder: Path, second: str = "vol INT") -> gingham.Loom:
    schema = "ts TIMESTAMP, symbol STRING, price DOUBLE, vol INT"
    loom = gingham.Loom(spark)
    for name in ("first", "second"):
        (folder / name).mkdir(exist_ok=True)
        columns = schema.replace("vol INT", second) if name == "second" else schema
        rows = replayed(spark, folder / name, schema=columns)
        loom.stream(name, rows, time="ts", watermark="5 seconds")
        loom.add(COUNT.replace("trades", name), name=name)
    return loom


def test_the_end_of_any_stream_is_noticed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    running = two_streams(spark, tmp_path).start(checkpoint=str(tmp_path / "c"), sink="memory")
    with failing_writes(monkeypatch, "append", lambda: True):
        write_batches(tmp_path / "second", [batch(1)])
        with pytest.raises(gingham.CheckpointError, match="no space left"):
            running.await_termination(60)
    assert running.streaming["first"].isActive
    assert not running.is_active
    running.stop()
    assert running.has_ended


def test_a_refused_start_leaves_nothing_running(spark: SparkSession, tmp_path: Path):
    checkpoint = str(tmp_path / "c")
    for name in ("first", "second"):
        write_batches(tmp_path / name, [batch(1), batch(16)])
    loom = two_streams(spark, tmp_path)
    loom.start(
        checkpoint=checkpoint, sink="memory", trigger={"availableNow": True}
    ).await_termination()
    (log,) = (tmp_path / "c/streams/second/log").glob("*01.arrow")
    log.write_bytes(log.read_bytes()[:-9])
    active = {query.id for query in spark.streams.active}
    again = two_streams(spark, tmp_path)
    again.add(COUNT.replace("trades", "first"), name="new")
    with pytest.raises(gingham.CheckpointError, match="cannot be read"):
        again.start(checkpoint=checkpoint, sink="memory")
    assert {query.id for query in spark.streams.active} == active
    with pytest.raises(gingham.CheckpointError, match="vol was int, is bigint"):
        two_streams(spark, tmp_path, "vol BIGINT").start(checkpoint=checkpoint, sink="memory")
    assert not list((tmp_path / "c/queries").glob("q-new*"))


def test_a_query_whose_function_is_gone_is_set_aside_and_can_be_removed(
    stream: Stream, spark: SparkSession
):
    spark.udf.register("twice", lambda vol: 2 * vol, "int")
    doubled = "SELECT sum(twice(vol)) AS n FROM trades GROUP BY window(ts, '10 seconds')"
    stream.write(batch(1, 2), batch(16))
    running = stream.run(stream.loom(count=COUNT, doubled=doubled))
    assert answers(running, "doubled") == [(10, 4)]
    spark.sql("DROP TEMPORARY FUNCTION twice")
    stream.write(batch(30))
    loom = stream.loom()
    running = stream.run(loom)
    assert answers(running) == [(20, 1)]
    assert "is set aside" in str(running.failed()["doubled"])
    assert "twice" in (running.progress()["trades"].queries["doubled"].error or "")
    assert loom.queries == ("count",)
    with pytest.raises(gingham.QueryError, match="two queries named 'doubled'"):
        loom.add(COUNT, name="doubled")
    loom.remove("doubled")
    loom.add(COUNT, name="doubled")
    stream.write(batch(50), batch(70))
    again = stream.loom()
    running = stream.run(again)
    assert set(again.queries) == {"count", "doubled"}
    assert answers(running) == [(40, 1), (60, 1)]
    assert answers(running, "doubled") == [(60, 1)]


def test_answers_of_a_query_whose_function_is_gone_are_still_delivered(
    stream: Stream, spark: SparkSession
):
    sink = Sink()
    spark.udf.register("twice", lambda vol: 2 * vol, "int")
    doubled = "SELECT sum(twice(vol)) AS n FROM trades GROUP BY window(ts, '10 seconds')"
    stream.write(batch(1, 2), batch(16))
    running = stream.start(stream.loom(doubled=doubled), sink, settings=IMPATIENT)
    with pytest.raises(gingham.SinkError):
        running.await_termination()
    spark.sql("DROP TEMPORARY FUNCTION twice")
    sink.error = None
    stream.write(batch(30))
    stream.run(stream.loom(), sink)
    assert sink.got == [("doubled", 4, 1)]


def test_queries_come_and_go_from_many_threads(stream: Stream):
    stream.write(batch(1, 2))
    loom = stream.loom()
    running = stream.start(loom, trigger=ENDLESS)
    added, errors = list[str](), list[BaseException]()
    together = threading.Barrier(8)

    def work(thread: int) -> None:
        try:
            together.wait(30)
            for turn in range(10):
                # Eight threads want each name; one gets it.
                try:
                    added.append(loom.add(COUNT, name=f"shared{turn}"))
                except gingham.QueryError as error:
                    assert "two queries named" in str(error)  # noqa: PT017
                name = loom.add(COUNT)
                if thread % 2:
                    loom.remove(name)
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    running.stop()
    assert not errors
    assert sorted(added) == [f"shared{turn}" for turn in range(10)]
    assert len(loom.queries) == 10 + 4 * 10
    again = stream.loom()
    stream.run(again)
    assert set(again.queries) == set(loom.queries)
