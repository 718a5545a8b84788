"""One query with a million groups beside many small ones: what the small ones pay for it.

    python -m benchmarks crowd [--quick] [--rows N]

The small ones are those of a random mix. They are run and fetched without the large one and with
it, in turns, in one session. The large one is asked for afterwards.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from pyspark.sql import DataFrame, SparkSession
from rich.console import Console

import gingham
from benchmarks.mix import written_mix
from benchmarks.outputs import File, table_console, write_results
from benchmarks.plain_session import plain_session
from benchmarks.timing import Timing
from gingham.datasets.mixes import mix_queries

ROWS = 3_000_000
SMALL = 200
TURNS = 3
LARGE = "large"
# Sections x pages x regions: 1.6 million groups.
LARGE_SQL = (
    "SELECT url, region, count(*) AS n, sum(bytes) AS b FROM events "
    "GROUP BY url, region, window(ts, '6 hours')"
)


@dataclass(frozen=True, slots=True)
class Crowd:
    """Seconds until the last small answer is there, without the large query and with it."""

    rows: int
    small: int
    without: Timing
    beside: Timing
    fetch: Timing  # of the large answer after that
    alone: Timing  # the large query in Spark
    groups: int

    @property
    def ratio(self) -> float:
        """How many times longer the small ones take beside the large one."""
        return self.beside.best / self.without.best

    def as_json(self) -> dict[str, object]:
        """Every number, raw and derived."""
        parts = {"without": self.without, "beside": self.beside}
        parts |= {"fetch": self.fetch, "alone": self.alone}
        timings = {name: timing.as_json() for name, timing in parts.items()}
        sizes = {"rows": self.rows, "small": self.small, "groups": self.groups}
        return {**sizes, **timings, "ratio": self.ratio}


def run(
    rows: int | None = None,
    *,
    quick: bool = False,
    json_path: File | None = None,
    spark: SparkSession | None = None,
    console: Console | None = None,
) -> Crowd:
    """Measure and print; `quick` takes few rows and queries, and one turn."""
    console = console or table_console()
    session = spark or plain_session()
    count, small, turns = (min(rows or 5_000, 5_000), 8, 1) if quick else (rows, SMALL, TURNS)
    with written_mix(session, count or ROWS, console) as data:
        queries = {query.name: query.sql for query in mix_queries(small)}
        crowd = _measure(session, data.rows, count or ROWS, queries, turns)
    console.print(
        f"{crowd.small} small queries over {crowd.rows:,} rows: {crowd.without.best:.2f} s until "
        f"the last answer is fetched; beside one with {crowd.groups:,} groups "
        f"{crowd.beside.best:.2f} s: {crowd.ratio:.2f} x. The large one is fetched "
        f"{crowd.fetch.best:.2f} s later; alone in Spark it takes {crowd.alone.best:.2f} s."
    )
    write_results(crowd.as_json(), json_path, console)
    return crowd


def _measure(
    spark: SparkSession, rows: DataFrame, count: int, small: dict[str, str], turns: int
) -> Crowd:
    """Run the small queries with and without the large one, in turns."""
    without = _loom(spark, rows, small)
    beside = _loom(spark, rows, {LARGE: LARGE_SQL, **small})
    warm = _loom(spark, rows, dict(islice(small.items(), 4)))
    _until_fetched(warm, warm.queries)[1].release()
    names = list(small)
    apart: list[float] = []
    together: list[float] = []
    fetches: list[float] = []
    groups = 0
    for _ in range(turns):
        seconds, answers = _until_fetched(without, names)
        apart.append(seconds)
        answers.release()
        seconds, answers = _until_fetched(beside, names)
        together.append(seconds)
        start = time.perf_counter()
        groups = answers.arrow(LARGE).num_rows
        fetches.append(time.perf_counter() - start)
        answers.release()
    rows.createOrReplaceTempView("events")
    start = time.perf_counter()
    spark.sql(LARGE_SQL).toArrow()
    alone = time.perf_counter() - start
    times = [Timing(tuple(found)) for found in (apart, together, fetches, [alone])]
    return Crowd(count, len(small), *times, groups=groups)


def _loom(spark: SparkSession, rows: DataFrame, queries: dict[str, str]) -> gingham.Loom:
    loom = gingham.Loom(spark).stream("events", rows, time="ts")
    for name, sql in queries.items():
        loom.add(sql, name=name)
    return loom


def _until_fetched(loom: gingham.Loom, names: Sequence[str]) -> tuple[float, gingham.Answers]:
    """Run a loom and fetch the answers of some queries; the seconds, and all answers."""
    start = time.perf_counter()
    answers = loom.run()
    for name in names:
        answers.arrow(name)
    return time.perf_counter() - start, answers
