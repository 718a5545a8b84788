"""Random mixes of queries over one stream: shared, against the ways to go without.

    python -m benchmarks mix [--quick] [--rows N] [--queries N] [--mixes N] [--cap SECONDS]

Nine attributes, four key sets, twelve aggregates, windows of 1 to 15 minutes: two queries rarely
have much in common. Whatever is compared was measured in one run, over the same files. With
`--mixes` many small mixes are measured instead, and the spread of their ratios is printed.
"""

from __future__ import annotations

import random
import statistics
import tempfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from duckdb import DuckDBPyConnection, connect
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console

from benchmarks.capped import CappedRuns
from benchmarks.outputs import File, table_console, write_results
from benchmarks.plain_session import plain_session
from benchmarks.workload import Workload, measure, warm_up
from benchmarks.workload_report import Result, Way, draw, in_brief, show
from gingham.datasets.mixes import STEP, MixQuery, mix_queries, mix_rows

ROWS = (300_000, 3_000_000)
SIZES = (16, 64, 256, 1024)
CAP = 120.0  # seconds for each timed part
MICROS = 1_000_000
# With `--mixes`: a mix has between so many queries, over so many rows.
FEWEST, MOST = 8, 128
MIX_ROWS = 300_000


def run(
    rows: int | None = None,
    sizes: Sequence[int] = SIZES,
    *,
    quick: bool = False,
    mixes: int = 0,
    cap: float = CAP,
    json_path: File | None = None,
    plot_path: File | None = None,
    spark: SparkSession | None = None,
    console: Console | None = None,
) -> list[Result]:
    """Measure, print and draw; `quick` takes few rows, a small mix, one repetition."""
    console = console or table_console()
    session = spark or plain_session()
    counts, times = ((rows,) if rows else ROWS), 3
    if quick:
        counts, times, sizes = (min(rows or 5_000, 5_000),), 1, (FEWEST,)
    results: list[Result] = []
    runs = CappedRuns(session, cap)
    if mixes:
        count = counts[0] if rows or quick else MIX_ROWS
        with written_mix(session, count, console) as data:
            results += _measure_mixes(data, mixes, FEWEST if quick else MOST, runs, console)
        _show_spread(results, console)
    else:
        for count in counts:
            with written_mix(session, count, console) as data:
                warm_up(data.workload(mix_queries(FEWEST)), runs)
                for n in sizes:
                    console.print(f"{count:,} rows, {n} queries")
                    workload = data.workload(mix_queries(n))
                    results.append(measure(workload, f"{count:,} rows", runs, times=times))
                    console.print(in_brief(results[-1]))
        show("a random mix", results, console)
    numbers = {
        "cores": session.sparkContext.defaultParallelism,
        "cap": cap,
        "results": [result.as_json() for result in results],
        "ratios": _ratios(results),
    }
    write_results(numbers, json_path, console, partial(draw, results), plot_path)
    return results


@dataclass(frozen=True, slots=True)
class MixRows:
    """The rows of a mix, as Spark and DuckDB read them from the same files."""

    spark: SparkSession
    duck: DuckDBPyConnection
    rows: DataFrame
    count: int

    def workload(self, queries: Sequence[MixQuery]) -> Workload:
        by_name = {query.name: query for query in queries}
        return Workload(
            self.spark,
            "events",
            self.rows,
            self.count,
            {name: query.sql for name, query in by_name.items()},
            scan=partial(_one_scan, self.rows, queries),
            ask_duck=lambda name: _ask_duck(self.duck, by_name[name]),
            interrupt_duck=self.duck.interrupt,
        )


@contextmanager
def written_mix(spark: SparkSession, count: int, console: Console) -> Generator[MixRows]:
    """The rows of a mix, in files as long as they are needed."""
    with tempfile.TemporaryDirectory(prefix="gingham-mix-") as folder:
        console.print(f"writing {count:,} rows")
        files = str(Path(folder) / "events")
        # INT96, the default, is slow to decode for Spark and DuckDB alike.
        kind = "spark.sql.parquet.outputTimestampType"
        before = str(spark.conf.get(kind))
        spark.conf.set(kind, "TIMESTAMP_MICROS")
        mix_rows(spark, count).write.parquet(files)
        spark.conf.set(kind, before)
        with connect() as duck:
            duck.execute(f"SET threads = {spark.sparkContext.defaultParallelism}")
            # Without a zone: DuckDB then reads timestamps in texts as UTC, too.
            duck.execute(
                "CREATE VIEW events AS SELECT epoch_us(ts) AS t, make_timestamp(epoch_us(seen)) "
                f"AS seen, * EXCLUDE (ts, seen) FROM read_parquet('{files}/*.parquet')"
            )
            yield MixRows(spark, duck, spark.read.parquet(files), count)


def _one_scan(rows: DataFrame, queries: Sequence[MixQuery]) -> DataFrame:
    """One statement by hand, with the conditions of all queries.

    Windows begin at multiples of ten seconds, which a user has to know beforehand: rows are grouped
    by ten seconds and all keys. Windows are not put together from that, so it takes less than the
    whole would.
    """
    rows.createOrReplaceTempView("events")
    calls = [
        _under(call, query.predicate) + f" AS {query.name}_{i}"
        for query in queries
        for i, call in enumerate(query.aggregates)
    ]
    keys = sorted({key for query in queries for key in query.keys})
    groups = ", ".join([f"window(ts, '{STEP} seconds')", *keys])
    return rows.sparkSession.sql(
        f"SELECT {', '.join([*keys, *calls])} FROM events GROUP BY {groups}"
    )


def _under(call: str, predicate: str | None) -> str:
    """An aggregate of the rows that satisfy a predicate, too."""
    if predicate is None:
        return call
    if call.endswith(")") and " FILTER (WHERE " in call:
        return f"{call[:-1]} AND {predicate})"
    return f"{call} FILTER (WHERE {predicate})"


def _ask_duck(duck: DuckDBPyConnection, query: MixQuery) -> int:
    """Ask DuckDB one query; gives the number of its rows."""
    length, slide, offset = (seconds * MICROS for seconds in query.window)
    where = f"WHERE {query.predicate}" if query.predicate else ""
    calls = ", ".join(f"{call} AS a{i}" for i, call in enumerate(query.aggregates))
    # Window k is [k * slide + offset, k * slide + offset + length).
    last = f"(t - {offset}) // {slide}"
    number = last
    if slide < length:
        number = f"unnest(range((t - {offset} - {length}) // {slide} + 1, {last} + 1))"
    groups = ", ".join(("k", *query.keys))
    spread = f"SELECT {number} AS k, * EXCLUDE (t) FROM events {where}"
    answer = duck.sql(f"SELECT {groups}, {calls} FROM ({spread}) GROUP BY {groups}")
    return answer.to_arrow_table().num_rows


def _measure_mixes(
    data: MixRows, mixes: int, most: int, runs: CappedRuns, console: Console
) -> Iterator[Result]:
    """Different random mixes of different sizes, each run once after a warm-up."""
    warm_up(data.workload(mix_queries(FEWEST)), runs)
    for seed in range(1, mixes + 1):
        n = random.Random(f"size of mix {seed}").randint(FEWEST, most)
        whole = data.workload(mix_queries(n, seed))
        # Only what the ratio needs.
        workload = Workload(data.spark, whole.stream, whole.rows, whole.count, whole.queries)
        result = measure(workload, f"mix {seed}", runs, times=1)
        ratio = result.ratio(Way.SPARK)
        shown = "did not run" if ratio is None else f"one by one / shared {ratio:,.1f}"
        console.print(f"mix {seed}, {n} queries: {shown}{_marks(result)}")
        yield result


def _marks(result: Result) -> str:
    shared, alone = result.shared, result.timings.get(Way.SPARK)
    marks = {
        ", shared stopped by the cap: at most that": shared and shared.capped,
        ", one by one stopped by the cap: at least that": alone and alone.capped,
        ", one by one extrapolated": alone and alone.extrapolated,
        f", {len(result.differences)} answers differ": result.differences,
        f", {len(result.failed)} queries fail": result.failed,
        f", {len(result.refused)} queries are refused": result.refused,
    }
    return "".join(text for text, holds in marks.items() if holds)


def _ratios(results: Sequence[Result]) -> dict[str, float]:
    """Minimum, median and maximum of one by one / shared."""
    found = [ratio for result in results if (ratio := result.ratio(Way.SPARK)) is not None]
    if not found:
        return {}
    return {"minimum": min(found), "median": statistics.median(found), "maximum": max(found)}


def _show_spread(results: Sequence[Result], console: Console) -> None:
    ratios = _ratios(results)
    spread = ", ".join(f"{name} {ratio:,.2f}" for name, ratio in ratios.items())
    capped = sum(1 for result in results if result.shared and result.shared.capped)
    checked = sum(result.checked for result in results)
    differ = sum(len(result.differences) for result in results)
    console.print(
        f"{len(results)} mixes, one by one / shared (run and fetch): {spread}; "
        f"{capped} shared runs were stopped by the cap; {checked} answers compared, {differ} differ"
    )
    show("random mixes", results, console)
