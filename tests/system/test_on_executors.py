"""Shards that are too many for the driver stay with the executors; the answers are the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession

import gingham
from gingham import StreamSettings
from gingham.core.errors import SinkError
from tests.replay import random_trades
from tests.system.test_stream_trouble import COUNT, IMPATIENT, Stream, answers, batch
from tests.system.test_streams import AVAILABLE, QUERIES, Market, assert_same

NONE, SOME = 0, 25  # shards on the driver: none at all, and as many as the first batches have


@pytest.fixture
def market(spark: SparkSession, tmp_path: Path) -> Market:
    return Market(spark, tmp_path, random_trades(np.random.default_rng(3), 7, 60))


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> Stream:
    return Stream(spark, tmp_path)


@pytest.mark.parametrize("most", [NONE, SOME])
def test_answers_are_those_of_the_batch_run(market: Market, tmp_path: Path, most: int):
    often = StreamSettings(snapshot_every=3)  # merged twice
    chosen = {name: QUERIES[name] for name in ("count", "sliding", "ratio")}
    folder = str(tmp_path / "answers")
    for lives in range(2):
        loom = market.loom()
        for name, sql in chosen.items() if not lives else ():
            loom.add(sql, name=name)
        running = loom.start(
            checkpoint=str(tmp_path / "c"),
            sink=folder,
            trigger=AVAILABLE,
            most_on_driver=most,
            settings=often,
        )
        running.await_termination()
        assert loom._works["trades"].current.on_executors
        for name, sql in chosen.items():
            found = market.spark.read.parquet(f"{folder}/{name}").toArrow()
            assert_same(found, market.expected(name, sql))
        more = random_trades(np.random.default_rng(3), 10, 60)[7:]
        market.extend(more)
    left = [folder.name for folder in (tmp_path / "c" / "streams" / "trades" / "answers").iterdir()]
    assert not left


def test_windows_are_corrected(stream: Stream):
    stream.write(batch(1, 2), batch(16), batch(3, 17), batch(40), batch(4))
    loom = stream.loom(count=COUNT)
    running = stream.run(loom, allowed_lateness="20 seconds", most_on_driver=NONE)
    assert answers(running) == [(10, 2), (10, 3), (20, 2)]


def test_windows_are_updated(stream: Stream):
    stream.write(batch(1, 2), batch(3), batch(16), batch(40))
    running = stream.run(stream.loom(count=COUNT), output_mode="update", most_on_driver=NONE)
    assert answers(running)[:2] == [(10, 2), (10, 3)]
    assert dict(answers(running)) == {10: 3, 20: 1, 50: 1}


def test_rows_without_a_time_are_counted(stream: Stream):
    stream.write(batch(1, None, 2), batch(None), batch(30))
    running = stream.run(stream.loom(count=COUNT), most_on_driver=NONE)
    assert answers(running) == [(10, 2)]
    progress = running.progress()["trades"]
    assert (progress.rows, progress.timeless) == (3, 2)


def test_what_a_sink_did_not_take_waits(stream: Stream):
    # By number: a delivery that takes too long is repeated, and a sink takes each number once.
    got: dict[int, list[int]] = {}
    broken = True

    def sink(_name: str, rows: DataFrame, number: int) -> None:
        if broken:
            raise OSError("disk full")
        got[number] = [r["n"] for r in rows.collect()]

    stream.write(batch(1, 2), batch(16), batch(30))
    with pytest.raises(SinkError, match="2 of 'bad'"):
        stream.run(stream.loom(bad=COUNT), sink, most_on_driver=NONE, settings=IMPATIENT)
    broken = False
    stream.write(batch(50))
    stream.run(stream.loom(), sink, most_on_driver=NONE)
    assert [n for _, ns in sorted(got.items()) for n in ns] == [2, 1, 1]
    assert not list((stream.folder / "checkpoint" / "streams" / "trades" / "answers").iterdir())


def test_queries_that_come_and_go_change_no_other_answer(market: Market, tmp_path: Path):
    third = (
        "SELECT symbol, max(vol) AS v FROM trades WHERE vol > 8 "
        "GROUP BY symbol, window(ts, '5 seconds')"
    )
    loom = market.loom()
    loom.add(QUERIES["sliding"], name="sliding")

    def change(progress: gingham.BatchProgress) -> None:
        if progress.number == 2:
            loom.add(QUERIES["ratio"].replace("HAVING", "HAVING sum(vol) > 9 AND"), name="second")
            loom.add(third, name="third")
        if progress.number == 4:
            loom.remove("second")

    running = loom.start(checkpoint=str(tmp_path / "c"), sink="memory", most_on_driver=NONE)
    running.listen(change)
    running.process_all_available()
    running.stop()
    assert_same(running.arrow("sliding"), market.expected("sliding", QUERIES["sliding"]))
    expected = market.expected("third", third)
    first = min(running.arrow("third")["window_start"].to_pylist())
    starts = expected["window_start"].to_pylist()
    assert_same(running.arrow("third"), expected.filter([start >= first for start in starts]))
