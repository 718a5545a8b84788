"""A stream's answers are those of the batch run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import gingham
from gingham.core.arrays import Ints
from gingham.optimizer.choose_ways import Way
from tests.replay import random_trades, replayed, write_batches

QUERIES = {
    "count": "SELECT count(*) AS n FROM trades GROUP BY window(ts, '10 seconds')",
    "sliding": """SELECT symbol, sum(price * vol) AS value, max(price) AS high FROM trades
        WHERE vol > 5 GROUP BY symbol, window(ts, '25 seconds', '10 seconds')""",
    "hopping": "SELECT min(price) AS low FROM trades [RANGE '3 s' SLIDE '7 s'] WHERE price > 4",
    "ratio": """SELECT symbol, sum(price) / count(*) AS mean FROM trades
        GROUP BY symbol, window(ts, '15 seconds', '5 seconds') HAVING count(*) > 3""",
    "spread": """SELECT stddev(price) AS s, approx_count_distinct(symbol) AS d,
        count(*) FILTER (WHERE vol < 3) AS small FROM trades GROUP BY window(ts, '20 seconds')""",
}
DELAY = "4 seconds"
AVAILABLE = {"availableNow": True}


def rows_of(table: pa.Table) -> list[dict[str, object]]:
    """Rows in an order that does not depend on how they were computed."""
    table = table.set_column(0, "window_start", table["window_start"].cast(pa.int64()))
    table = table.set_column(1, "window_end", table["window_end"].cast(pa.int64()))
    keys = [
        (name, "ascending") for name in table.column_names if name in ("window_start", "symbol")
    ]
    return table.sort_by(keys).to_pylist()


def assert_same(found: pa.Table, expected: pa.Table) -> None:
    ours, theirs = rows_of(found), rows_of(expected)
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        for name, value in other.items():
            if isinstance(value, float):
                assert mine[name] == pytest.approx(value, rel=1e-9), (mine, other)
            else:
                assert mine[name] == value, (mine, other)


class Market:
    """Trades as files, the loom that reads them as a stream, and the batch answers."""

    def __init__(self, spark: SparkSession, folder: Path, batches: list[pa.Table]) -> None:
        self.spark, self.folder, self.batches = spark, folder, batches
        write_batches(folder / "trades", batches)

    def extend(self, batches: list[pa.Table]) -> None:
        """More trades."""
        write_batches(self.folder / "trades", batches, first=len(self.batches))
        self.batches = [*self.batches, *batches]

    def loom(self, delay: str = DELAY) -> gingham.Loom:
        rows = replayed(self.spark, self.folder / "trades")
        return gingham.Loom(self.spark).stream("trades", rows, time="ts", watermark=delay)

    def expected(self, name: str, sql: str, upto: int | None = None) -> pa.Table:
        """The batch answer: windows that end at or before the watermark after `upto` batches."""
        batches = self.batches[:upto]
        rows = self.spark.createDataFrame(pa.concat_tables(batches))
        loom = gingham.Loom(self.spark).stream("trades", rows, time="ts")
        loom.add(sql, name=name)
        answer = loom.run().arrow(name)
        return answer.filter(pa.array(ends(answer) <= self.watermark(upto)))

    def watermark(self, upto: int | None = None, delay: int = 4_000_000) -> int:
        return max(max(b["ts"].cast(pa.int64()).to_pylist()) for b in self.batches[:upto]) - delay


def ends(answer: pa.Table) -> Ints:
    return answer["window_end"].cast(pa.int64()).to_numpy()


@pytest.fixture
def market(spark: SparkSession, tmp_path: Path) -> Market:
    return Market(spark, tmp_path, random_trades(np.random.default_rng(0), 12, 60))


@pytest.mark.parametrize(
    ("way", "most"), [("cells", 1_000_000), ("columns", 1_000_000), ("columns", 20)]
)
def test_answers_are_those_of_the_batch_run(market: Market, tmp_path: Path, way: Way, most: int):
    loom = market.loom()
    for name, sql in QUERIES.items():
        loom.add(sql, name=name)
    running = loom.start(
        checkpoint=str(tmp_path / "checkpoint"),
        sink=str(tmp_path / "answers"),
        trigger=AVAILABLE,
        way=way,
        most_on_driver=most,
    )
    running.await_termination()
    for name, sql in QUERIES.items():
        found = market.spark.read.parquet(str(tmp_path / "answers" / name)).toArrow()
        assert_same(found, market.expected(name, sql))
    progress = running.progress()["trades"]
    assert progress.rows == 12 * 60
    assert progress.batches == 12


def test_a_window_is_answered_in_the_batch_that_closes_it(market: Market, tmp_path: Path):
    loom = market.loom()
    loom.add(QUERIES["count"], name="count")
    answered: dict[int, int] = {}

    def take(_name: str, rows: DataFrame, number: int) -> None:
        for row in rows.collect():
            answered[int(row["window_end"].timestamp() * 1e6)] = number

    running = loom.start(checkpoint=str(tmp_path / "c"), sink=take, trigger=AVAILABLE)
    running.await_termination()
    assert answered
    for end, number in answered.items():
        assert market.watermark(number + 1) >= end
        assert number == 0 or market.watermark(number) < end


@pytest.mark.parametrize("way", ["cells", "columns"])
def test_a_restart_goes_on(market: Market, tmp_path: Path, way: Way):
    for _ in range(3):
        loom = market.loom()
        if not (tmp_path / "c").exists():
            for name, sql in QUERIES.items():
                loom.add(sql, name=name)
        running = loom.start(
            checkpoint=str(tmp_path / "c"), sink=str(tmp_path / "a"), trigger=AVAILABLE, way=way
        )
        running.await_termination()
        assert set(loom.queries) == set(QUERIES)
        more = random_trades(
            np.random.default_rng(len(market.batches)), len(market.batches) + 3, 50
        )
        market.extend(more[len(market.batches) :])
    loom = market.loom()
    loom.start(
        checkpoint=str(tmp_path / "c"), sink=str(tmp_path / "a"), trigger=AVAILABLE
    ).await_termination()
    for name, sql in QUERIES.items():
        found = market.spark.read.parquet(str(tmp_path / "a" / name)).toArrow()
        assert_same(found, market.expected(name, sql))


def test_by_columns_a_newcomer_shares_what_is_there(market: Market, tmp_path: Path):
    old = "SELECT count(*) AS n FROM trades WHERE vol > 5 GROUP BY window(ts, '10 seconds')"
    same = (
        "SELECT sum(price) AS s, count(*) AS n FROM trades WHERE vol > 5 " + old[old.index("GR") :]
    )
    other = old.replace("> 5", "> 6")
    loom = market.loom()
    loom.add(old, name="old")
    joined: dict[str, int] = {}

    def join(batch: gingham.BatchProgress) -> None:
        if batch.number >= 4 and "same" not in loom.queries:
            joined["latest"] = market.watermark(batch.number + 1, delay=0)
            loom.add(same, name="same", backfill=True)
            loom.add(other, name="other")
            loom.add(old, name="twin", backfill=True)
        if batch.number >= 8 and "old" in loom.queries:
            loom.remove("old")

    running = loom.start(checkpoint=str(tmp_path / "c"), sink="memory", way="columns")
    running.listen(join)
    running.process_all_available()
    assert "by columns: 3 queries in 2 grids" in loom.explain()
    running.stop()
    starts = {n: running.arrow(n)["window_start"].cast(pa.int64()).to_numpy() for n in loom.queries}
    assert starts["twin"].min() <= joined["latest"]
    assert starts["same"].min() > joined["latest"]  # its sums were not there before
    for name, sql in (("same", same), ("other", other), ("twin", old)):
        expected = market.expected(name, sql)
        whole = expected["window_start"].cast(pa.int64()).to_numpy() >= starts[name].min()
        assert_same(running.arrow(name), expected.filter(pa.array(whole)))


def test_a_newcomer_is_answered_from_the_log_if_it_asks(market: Market, tmp_path: Path):
    # Its edges, its cut and its column exist: q1 keeps a minute of them.
    new = "SELECT count(*) AS n FROM trades WHERE vol > 5 GROUP BY window(ts, '10 seconds')"
    old = new.replace("'10 seconds'", "'40 seconds', '10 seconds'")
    other = new.replace("> 5", "> 6")
    loom = market.loom()
    loom.add(old, name="q1")
    joined: dict[str, int] = {}

    def join(batch: gingham.BatchProgress) -> None:
        if batch.number >= 6 and "filled" not in loom.queries:
            joined["latest"] = market.watermark(batch.number + 1, delay=0)
            loom.add(new, name="filled", backfill=True)
            loom.add(new, name="plain")
            loom.add(other, name="unknown", backfill=True)

    running = loom.start(checkpoint=str(tmp_path / "c"), sink="memory")
    running.listen(join)
    running.process_all_available()
    running.stop()
    starts = {n: running.arrow(n)["window_start"].cast(pa.int64()).to_numpy() for n in loom.queries}
    # q1 needs what lies after the start of its first open window, 40 s before the watermark.
    assert starts["filled"].min() <= joined["latest"] - 30_000_000
    assert starts["plain"].min() > joined["latest"]
    assert starts["unknown"].min() > joined["latest"]
    for name, sql in (("filled", new), ("plain", new), ("unknown", other)):
        expected = market.expected(name, sql)
        whole = expected["window_start"].cast(pa.int64()).to_numpy() >= starts[name].min()
        assert_same(running.arrow(name), expected.filter(pa.array(whole)))
