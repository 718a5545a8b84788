"""A thousand queries over a stock market: shared, against the ways to go without.

    python -m benchmarks share [--quick] [--json FILE] [--plot FILE] [--rows N]

Whatever is compared was measured in one run, over the same files, minutes apart at most.
"""

import math
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import gingham
from benchmarks import baselines
from benchmarks.baselines import Answer, Market
from benchmarks.driver_memory import footprint
from benchmarks.operations import Operations, TradeRows, count
from benchmarks.outputs import File, table_console, write_results
from benchmarks.share_report import Report, Result, Way, draw, show
from benchmarks.timing import Timing, repeat
from gingham.datasets.trades import KINDS, TradeQuery, trade_queries

# Shared runs and bare scans are short: each is measured so many times more often than the rest.
TURNS = 2
# One by one, this many queries are measured: a thousand would take a quarter of an hour.
PICKED = 16
# No single scan gets more conditions than this: Spark and DuckDB need minutes for it.
MOST_CONDITIONS = 256
# Growth with the number of queries is measured between these.
FEW_AND_MANY = (16, 1024)
# The paper states its operations for this many queries.
COUNTED = 256
# What the driver holds is measured at these sizes, in quarters of all rows.
FOOTPRINTS = (2, 4, 8)


def run(
    rows: int = 4_000_000,
    sizes: Sequence[int] = (16, 64, 256, 1024),
    kinds: Sequence[str] = KINDS,
    *,
    quick: bool = False,
    json_path: File | None = None,
    plot_path: File | None = "share.png",
    spark: SparkSession | None = None,
    rate: float = 328.0,
    console: Console | None = None,
) -> Report:
    """Measure, print and draw; `quick` takes few rows, small workloads, one repetition."""
    console = console or table_console()
    times = 5
    if quick:
        rows, sizes, times = min(rows, 400_000), [n for n in sizes if n <= 64], 1
    session = spark or _session()
    try:
        with tempfile.TemporaryDirectory(prefix="gingham-share-") as folder:
            console.print(f"writing {rows:,} trades, {rate:g} of them a second")
            market = baselines.market(session, Path(folder), rows, rate)
            report = _measure_all(market, kinds, sizes, times, console)
            market.duck.close()
        if not quick:
            console.print("grouping by a million keys, in processes of their own")
            found = tuple(footprint(rows * size // 4) for size in FOOTPRINTS)
            report = replace(report, footprints=found)
    finally:
        if spark is None:
            session.stop()

    show(report, console)
    write_results(report.as_json(), json_path, console, partial(draw, report), plot_path)
    return report


def _session() -> SparkSession:
    # Spark starts its Python workers as `python3` unless told otherwise.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return (
        SparkSession.builder.master("local[*]")
        .appName("gingham benchmark: share")
        .config("spark.driver.memory", "6g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", str(os.cpu_count()))
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )


def _measure_all(
    market: Market, kinds: Sequence[str], sizes: Sequence[int], times: int, console: Console
) -> Report:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
        task = progress.add_task("warming up", total=len(kinds) * (1 + len(sizes) * 6))
        _warm_up(market)

        results: list[Result] = []
        for kind in kinds:
            for n in sizes:
                progress.update(task, description=f"{kind}, {n} queries")
                step = partial(progress.advance, task)
                results.append(_measure(market, kind, n, times, step))

        growth: tuple[tuple[float, float], ...] = ()
        if "C" in kinds and {*FEW_AND_MANY} <= {*sizes}:
            progress.update(task, description="C, few and many queries in turns")
            growth = _growth(market, TURNS * times)
        counted = max((n for n in sizes if n <= COUNTED), default=0)
        counts: dict[str, Operations] = {}
        for kind in kinds if counted else ():
            progress.update(task, description=f"{kind}, counting operations", advance=1)
            counts[kind] = count(TradeRows.of(market), trade_queries(kind, counted))
    cores = market.spark.sparkContext.defaultParallelism
    return Report(market.rows, cores, tuple(results), counted, counts, growth)


def _growth(market: Market, turns: int) -> tuple[tuple[float, float], ...]:
    """Few and many queries in turns, so that both meet the same machine."""
    few, many = (loom_of(market, trade_queries("C", n)) for n in FEW_AND_MANY)
    return tuple((run_shared(few).seconds, run_shared(many).seconds) for _ in range(turns))


def _warm_up(market: Market) -> None:
    """Let the JVM load and compile what every later measurement uses."""
    queries = trade_queries("C", PICKED)
    for _ in range(2):
        baselines.bare_scan(market)
        baselines.spark_alone(market, queries[0])
        run_shared(loom_of(market, queries))


def _measure(market: Market, kind: str, n: int, times: int, step: Callable[[], None]) -> Result:
    """Time one workload in all ways and compare their answers."""
    queries, bare = trade_queries(kind, n), partial(baselines.bare_scan, market)
    adding, (loom,) = repeat(partial(loom_of, market, queries), 1)
    # In turns, since the JVM compiles on while it runs: whatever comes last has the fastest code.
    first, (scanned,) = run_shared(loom), repeat(bare, 1)[0]
    turns = [(first.seconds, scanned)]
    turns += [(run_shared(loom).seconds, repeat(bare, 1)[0][0]) for _ in range(TURNS * times - 1)]
    timings = {
        Way.SHARED: Timing(tuple(seconds for seconds, _ in turns)),
        Way.BARE: Timing(tuple(seconds for _, seconds in turns)),
    }
    found = {Way.SHARED: baselines.answers(first.tables)}
    notes: dict[Way, str] = {}
    step()
    for way, work in _ways(market, kind, queries).items():
        if isinstance(work, str):
            notes[way] = work
        else:
            seconds, tables = repeat(work.do, times)
            timings[way] = Timing(seconds, work.measured, work.of)
            found[way] = baselines.answers(tables[0])
        step()

    expected = found[Way.SPARK]
    differences = [
        f"{way}, {difference}"
        for way, answers in found.items()
        for difference in _differences(answers, expected)
    ]
    return Result(
        kind,
        n,
        timings,
        notes,
        adding=Timing(adding),
        statistics=first.statistics,
        checked=len(expected),
        differences=tuple(differences),
    )


@dataclass(frozen=True, slots=True)
class Shared:
    """One run of all queries as one job: seconds, answers, statistics."""

    seconds: float
    tables: list[pa.Table]
    statistics: dict[str, float]
    steps: Mapping[str, float]  # seconds of each


def loom_of(market: Market, queries: Sequence[TradeQuery]) -> gingham.Loom:
    """Make a loom of the market with these queries."""
    loom = gingham.Loom(market.spark)
    loom.stream("trades", market.trades, time="ts")
    loom.table("close", market.close, key="symbol")
    loom.table("listing", market.listing, key="symbol")
    for query in queries:
        loom.add(query.sql, name=query.name)
    return loom


def run_shared(loom: gingham.Loom, trees: Mapping[str, int] | None = None) -> Shared:
    """Run all queries of a loom: plan, one pass over the rows, every answer."""
    start = time.perf_counter()
    answers = loom.run(trees=trees)
    tables = {name: answers.arrow(name) for name in loom.queries}
    done = time.perf_counter()
    named = [
        table.select(["window_end", "value"]).rename_columns(["window_end", name])
        for name, table in tables.items()
    ]
    return Shared(done - start, named, _numbers(answers), answers.statistics.seconds)


def _numbers(answers: Any) -> dict[str, float]:
    """Whatever the run counted, by name; nothing if it counted nothing."""
    statistics = getattr(answers, "statistics", None)
    found = {name: getattr(statistics, name) for name in dir(statistics) if name[0] != "_"}
    return {name: value for name, value in found.items() if isinstance(value, int | float)}


@dataclass(frozen=True, slots=True)
class _Work:
    """Something to time, and which part of the whole it is."""

    do: Callable[[], list[pa.Table]]
    measured: int = 1
    of: int = 1


def _ways(market: Market, kind: str, queries: Sequence[TradeQuery]) -> dict[Way, _Work | str]:
    """All other ways to answer a workload; what does not suit it says why."""
    n = len(queries)
    picked = [queries[i * n // PICKED] for i in range(PICKED)] if n > PICKED else queries
    conditions = len(baselines.predicates(queries))
    windows = len(baselines.by_window(queries))
    too_many = f"skipped: {conditions:,} conditions in one scan"

    conditional: _Work | str = "only for B: one window"
    if kind == "B":
        conditional = _Work(lambda: [baselines.spark_conditional(market, queries)])
    by_window: _Work | str = "one by one: no window occurs twice"
    if windows < n:
        by_window = _Work(lambda: baselines.duck_by_window(market, queries))
    panes = _Work(lambda: baselines.duck_panes(market, queries))
    if conditions > MOST_CONDITIONS:
        conditional = too_many if kind == "B" else conditional
        by_window = too_many if windows == 1 else by_window
        panes = too_many
    return {
        Way.SPARK: _Work(
            lambda: [baselines.spark_alone(market, query) for query in picked], len(picked), n
        ),
        Way.CONDITIONAL: conditional,
        Way.DUCK: _Work(
            lambda: [baselines.duck_alone(market, query) for query in picked], len(picked), n
        ),
        Way.DUCK_WINDOWS: by_window,
        Way.DUCK_PANES: panes,
    }


def _differences(found: Mapping[str, Answer], expected: Mapping[str, Answer]) -> Iterator[str]:
    """Where answers differ from those of the queries that Spark ran alone."""
    for name, windows in expected.items():
        mine = found.get(name, {})
        for end in sorted(windows.keys() | mine.keys()):
            here, there = mine.get(end), windows.get(end)
            if here is None or there is None or not math.isclose(here, there, rel_tol=1e-9):
                yield f"{name}, window to {end}: {here}, alone {there}"
