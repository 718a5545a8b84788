"""Rows at absurd times: counted and set aside, and all others are answered as without them."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest

import gingham
from tests.replay import replayed
from tests.system.test_stream_trouble import COUNT, SCHEMA, Stream, answers, batch, stream

__all__ = ["stream"]  # the fixture
YEAR = 365.2425 * 86_400
# Every 7 and every 11 seconds: edges that are listed around where the data is.
ODD = "SELECT count(*) AS n FROM trades GROUP BY window(ts, '7 seconds', '7 seconds')"
ODDER = """SELECT symbol, count(*) AS n FROM trades
    GROUP BY symbol, window(ts, '11003 milliseconds', '3001 milliseconds')"""


def at_year(year: float) -> pa.Table:
    """One trade in a year, which datetime may not know."""
    rows = batch(0)
    micros = int((year - 1970) * YEAR * 1e6)
    return rows.set_column(0, "ts", pa.array([micros], pa.timestamp("us", "UTC")))


def both(*batches: pa.Table) -> pa.Table:
    return pa.concat_tables(batches)


@pytest.mark.parametrize("mode", ["append", "update"])
def test_a_row_in_the_year_9999_is_set_aside(stream: Stream, mode: str):
    stream.write(both(batch(1, 2), at_year(9999)), at_year(9999), batch(3), batch(16), batch(40))
    loom = stream.loom(count=COUNT, odd=ODD, odder=ODDER)
    running = stream.run(loom, output_mode=mode)
    progress = running.progress()["trades"]
    assert (progress.rows, progress.ahead, progress.late, progress.timeless) == (5, 2, 0, 0)
    assert dict(answers(running)).items() >= {10: 3, 20: 1}.items()
    assert not running.failed()


def test_a_row_in_the_year_9999_is_set_aside_by_executors(stream: Stream):
    stream.write(both(batch(1, 2, None), at_year(9999)), batch(16))
    keyed = COUNT.replace("GROUP BY ", "GROUP BY symbol, ")
    running = stream.run(stream.loom(count=keyed), most_on_driver=0)
    progress = running.progress()["trades"]
    assert (progress.rows, progress.ahead, progress.timeless) == (3, 1, 1)
    assert answers(running) == [(10, 2)]


def test_a_stream_without_queries_sets_far_rows_aside(stream: Stream):
    stream.write(at_year(9999), both(batch(1), at_year(9999)), batch(None))
    progress = stream.run(stream.loom()).progress()["trades"]
    assert (progress.rows, progress.ahead, progress.timeless) == (1, 2, 1)


@pytest.mark.parametrize(
    ("mode", "year"), [("append", -4000), ("update", -200_000), ("append", 3), ("update", 3)]
)
def test_rows_long_ago_cost_nothing_and_change_nothing(stream: Stream, mode: str, year: int):
    stream.write(both(batch(1, 2), at_year(year)), both(batch(3), at_year(year)), batch(16, 40))
    loom = stream.loom(count=COUNT, odd=ODD, odder=ODDER)
    running = stream.run(loom, output_mode=mode)
    # Before the year 2 a row has no time at all; later it is an old row like any other.
    counted = 2 if year > 2 else 0
    progress = running.progress()["trades"]
    assert (progress.rows, progress.timeless) == (5 + counted, 2 - counted)
    assert dict(answers(running)).items() >= {10: 3, 20: 1}.items()
    assert not running.failed()


def test_the_time_of_a_stream_may_be_in_the_future_from_its_beginning(stream: Stream):
    year = datetime.now(UTC).year + 30
    stream.write(at_year(year), at_year(year + 10 / YEAR), at_year(year + 60 / YEAR))
    running = stream.run(stream.loom(count=COUNT))
    assert running.progress()["trades"].rows == 3
    assert sum(running.arrow("count")["n"].to_pylist()) == 2


def test_how_far_ahead_rows_may_be_is_an_option(stream: Stream):
    stream.write(batch(1, 2), at_year(datetime.now(UTC).year + 2), batch(16))
    found: dict[str | None, tuple[int, int]] = {}
    for ahead in ("1 day", "2000 days", None):
        rows = replayed(stream.spark, stream.folder / "trades", schema=SCHEMA)
        loom = gingham.Loom(stream.spark)
        loom.stream("trades", rows, time="ts", watermark="5 seconds", ahead=ahead)
        loom.add(COUNT, name="count")
        running = loom.start(
            checkpoint=str(stream.folder / f"c{ahead}"),
            sink="memory",
            trigger={"availableNow": True},
        )
        running.await_termination()
        progress = running.progress()["trades"]
        found[ahead] = progress.ahead, progress.late
    assert found == {"1 day": (1, 0), "2000 days": (0, 1), None: (0, 1)}


def test_a_batch_run_answers_rows_of_all_times(stream: Stream):
    stream.write(batch(1, 2), at_year(9998), at_year(3))
    rows = stream.spark.read.schema(SCHEMA).parquet(str(stream.folder / "trades"))
    loom = gingham.Loom(stream.spark).stream("trades", rows, time="ts")
    for name, sql in {"count": COUNT, "odd": ODD, "odder": ODDER}.items():
        loom.add(sql, name=name)
    answered = loom.run()
    for name in loom.queries:
        assert sorted(map(tuple, answered[name].collect()), key=str) == sorted(
            map(tuple, loom.alone(name).collect()), key=str
        )
