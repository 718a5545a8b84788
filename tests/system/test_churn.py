"""Queries come and go by the hundred while a stream runs; each gets its own answers."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

import gingham
from tests.replay import random_trades, replayed, write_batches

CHANGES = 1_000  # adds and removes
BATCHES = 40
ALIVE = 150  # queries at most
STAY = {
    "stays_count": "SELECT symbol, count(*) AS n FROM trades WHERE vol > 7 "
    "GROUP BY symbol, window(ts, '20 seconds', '5 seconds')",
    "stays_high": "SELECT max(price) AS high, sum(vol) AS v FROM trades WHERE price < 6.5 "
    "GROUP BY window(ts, '30 seconds', '10 seconds')",
}
DELAY = 4_000_000


def _random_query(rng: random.Random) -> str:
    lengths = rng.choice([(10,), (15, 5), (20, 10), (12, 4), (7,)])
    window = ", ".join(f"'{seconds} seconds'" for seconds in lengths)
    value = rng.choice(["count(*)", "sum(vol)", "max(price)", "min(vol)", "count(symbol)"])
    low = rng.choice([f"vol > {rng.randint(0, 15)}", f"price >= {rng.randint(10, 80) / 10}"])
    other = rng.choice(
        ["", " AND symbol = 'A'", " OR symbol IS NULL", f" AND price < {rng.randint(3, 9)}"]
    )
    keys, group = rng.choice([("", ""), ("symbol, ", "symbol, ")])
    where, grouped = f"{low}{other}", f"{group}window(ts, {window})"
    return f"SELECT {keys}{value} AS x FROM trades WHERE {where} GROUP BY {grouped}"


class _Life:
    """When a query lived: after what event time, up to which watermark."""

    def __init__(self, sql: str, born: int) -> None:
        self.sql = sql
        self.born = born
        self.died: int | None = None


def test_a_thousand_come_and_go(spark: SparkSession, tmp_path: Path):
    batches = random_trades(np.random.default_rng(7), BATCHES, 60)
    write_batches(tmp_path / "trades", batches)
    latest = np.maximum.accumulate([max(b["ts"].cast(pa.int64()).to_pylist()) for b in batches])
    rng = random.Random(7)
    lives: dict[str, _Life] = {}
    alive: list[str] = []
    changes = 0

    loom = _stream(spark, tmp_path)

    def churn(batch: gingham.BatchProgress) -> None:
        nonlocal changes
        for _ in range(CHANGES // (BATCHES - 2) + 1):
            changes += 1
            # Some go at once, most after a dozen batches.
            if len(alive) > ALIVE or (alive and rng.random() < 0.1):
                name = alive.pop(rng.choice((0, 0, 0, len(alive) - 1)))
                loom.remove(name)
                lives[name].died = int(latest[batch.number]) - DELAY
            else:
                name = f"q{changes}"
                lives[name] = _Life(_random_query(rng), int(latest[batch.number]))
                loom.add(lives[name].sql, name=name)
                alive.append(name)

    running = loom.start(
        checkpoint=str(tmp_path / "c"), sink="memory", trigger={"processingTime": "0 seconds"}
    )
    running.listen(churn)
    running.process_all_available()
    running.stop()
    assert changes >= CHANGES
    assert not any(q.error for q in running.progress()["trades"].queries.values())

    rows = spark.createDataFrame(pa.concat_tables(batches))
    whole = gingham.Loom(spark).stream("trades", rows, time="ts")
    for name, life in lives.items():
        whole.add(life.sql, name=name)
    expected = whole.run()
    end = int(latest[-1]) - DELAY
    answered = 0
    for name, life in lives.items():
        table = expected.arrow(name)
        starts, ends = (
            table[c].cast(pa.int64()).to_numpy() for c in ("window_start", "window_end")
        )
        lived = (starts > life.born) & (ends <= (end if life.died is None else life.died))
        answered += _assert_equal(running, name, table.filter(pa.array(lived)))
    assert answered > 200

    quiet = _stream(spark, tmp_path).start(
        checkpoint=str(tmp_path / "quiet"), sink="memory", trigger={"availableNow": True}
    )
    quiet.await_termination()
    for name in STAY:
        assert _assert_equal(running, name, quiet.arrow(name))


def _stream(spark: SparkSession, folder: Path) -> gingham.Loom:
    rows = replayed(spark, folder / "trades")
    loom = gingham.Loom(spark).stream("trades", rows, time="ts", watermark="4 seconds")
    for name, sql in STAY.items():
        loom.add(sql, name=name)
    return loom


def _assert_equal(running: gingham.Running, name: str, expected: pa.Table) -> bool:
    """The same rows, bit for bit; True if there are any."""
    if not expected.num_rows:
        try:
            found = running.arrow(name)
        except gingham.AnswerError:
            return False
        assert not found.num_rows, name
        return False
    keys = [(c, "ascending") for c in expected.column_names if c in ("window_start", "symbol")]
    found = running.arrow(name).sort_by(keys)
    assert found.to_pylist() == expected.sort_by(keys).to_pylist(), name
    return True
