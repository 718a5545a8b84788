"""`gingham demo`: an hour of trades, many queries, shared and alone."""

import math
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession
from rich.progress import Progress
from rich.table import Table

from gingham.cli.market import TABLES, write_market
from gingham.cli.show import show_answer, show_statistics, time_zone
from gingham.cli.start_spark import start_spark
from gingham.cli.terminal import out, progress
from gingham.core.errors import AnswerError, WorkloadError
from gingham.datasets.trades import queries
from gingham.loom import Loom
from gingham.spark.answers import Statistics

# All of them alone would take minutes; every k-th one is a fair sample of the workload.
QUERIES_ALONE = 8
SHOWN_QUERIES, SHOWN_ROWS = 2, 3
SHOWN_PLAN_LINES = 16


@dataclass(frozen=True, slots=True)
class SharedRuns:
    """What two shared runs of the demo gave, and the seconds they took."""

    seconds_to_add: float  # the queries to the loom
    seconds: tuple[float, ...]  # of each run
    answers: dict[str, pa.Table]
    statistics: Statistics


def demo(rows: int, count: int) -> None:
    """Make trades, run queries over them shared, then some alone; compare answers and seconds."""
    side = math.isqrt(count)
    if side * side != count:
        raise WorkloadError(
            f"a demo of {count} queries",
            "it crosses every one of n windows with every one of n predicates: n x n queries",
            f"--queries {side * side} or --queries {(side + 1) ** 2}",
        )
    workload = queries("C", count)
    spark = start_spark()
    with tempfile.TemporaryDirectory(prefix="gingham-demo-") as name, progress() as bars:
        folder = Path(name)
        task = bars.add_task(f"writing {rows:,} trades", total=len(TABLES))
        write_market(spark, folder, rows, partial(bars.advance, task))
        loom, seconds_to_add = _make_loom(spark, folder, workload, bars)
        shared = _run_shared(loom, seconds_to_add, bars)
        alone = _run_alone(loom, shared, bars)
    out.print(
        f"{rows:,} trades of one hour, {count} queries: {side} windows x {side} predicates\n",
        highlight=False,
    )
    _show_answers(spark, workload, shared)
    _show_plan(loom, shared)
    _show_savings(count, shared, alone)


def _make_loom(
    spark: SparkSession, folder: Path, workload: Sequence[tuple[str, str]], bars: Progress
) -> tuple[Loom, float]:
    """A loom with all queries of the demo, and the seconds it took to add them."""
    task = bars.add_task(f"adding {len(workload)} queries", total=len(workload))
    began = time.perf_counter()
    frames = {name: spark.read.parquet(str(folder / name)) for name in TABLES}
    loom = Loom(spark)
    loom.stream("trades", frames["trades"], time="ts")
    loom.table("close", frames["close"], key="symbol")
    loom.table("listing", frames["listing"], key="symbol")
    for name, sql in workload:
        loom.add(sql, name=name)
        bars.advance(task)
    return loom, time.perf_counter() - began


def _run_shared(loom: Loom, seconds_to_add: float, bars: Progress) -> SharedRuns:
    """Answer all demo queries twice: in the first run the JVM still compiles what it runs."""
    seconds: list[float] = []
    answers, tables = None, dict[str, pa.Table]()
    for _ in bars.track(range(2), description=f"running all {len(loom.queries)} as one, twice"):
        began = time.perf_counter()
        answers = loom.run()
        tables = {name: answers.arrow(name) for name in loom.queries}
        seconds.append(time.perf_counter() - began)
    assert answers is not None
    return SharedRuns(
        seconds_to_add=seconds_to_add,
        seconds=tuple(seconds),
        answers=tables,
        statistics=answers.statistics,
    )


@dataclass(frozen=True, slots=True)
class RunsAlone:
    """Seconds of demo queries as Spark jobs of their own, and how many windows were compared."""

    seconds: list[float]
    windows: int


def _run_alone(loom: Loom, shared: SharedRuns, bars: Progress) -> RunsAlone:
    """Answer some demo queries without sharing; raises if an answer is not the shared one."""
    names = loom.queries
    picked = [names[i * len(names) // QUERIES_ALONE] for i in range(min(QUERIES_ALONE, len(names)))]
    seconds: list[float] = []
    answers: dict[str, pa.Table] = {}
    # The first one runs twice, for the same reason as the shared run.
    for name in bars.track([picked[0], *picked], description=f"running {len(picked)} alone"):
        began = time.perf_counter()
        answers[name] = loom.alone(name).toArrow()
        seconds.append(time.perf_counter() - began)
    windows = [
        _compare_answers(n, _values_by_window(shared.answers[n]), _values_by_window(answers[n]))
        for n in picked
    ]
    return RunsAlone(seconds[1:], sum(windows))


def _values_by_window(answer: pa.Table) -> dict[object, float]:
    """The column `value` of a demo query's answer, by the end of the window."""
    ends, values = (answer.column(name).to_pylist() for name in ("window_end", "value"))
    return dict(zip(ends, values, strict=True))


def _compare_answers(name: str, shared: dict[object, float], alone: dict[object, float]) -> int:
    """The number of windows in a demo query's answer; raises if both answers are not equal."""
    equal = shared.keys() == alone.keys() and all(
        math.isclose(shared[end], value, rel_tol=1e-9) for end, value in alone.items()
    )
    if not equal:
        raise AnswerError(
            f"query {name!r} has another answer shared than alone",
            "this is a bug in Gingham",
            "please report it, with the versions of Gingham and PySpark",
        )
    return len(alone)


def _show_answers(
    spark: SparkSession, workload: Sequence[tuple[str, str]], shared: SharedRuns
) -> None:
    """Print some of the demo's answers on the terminal."""
    for name, sql in workload[:SHOWN_QUERIES]:
        answer = shared.answers[name].sort_by("window_start").slice(0, SHOWN_ROWS)
        show_answer(f"{name}\n{sql}", answer, time_zone(spark))


def _show_plan(loom: Loom, shared: SharedRuns) -> None:
    """Print on the terminal what the demo's queries share."""
    lines = loom.explain().splitlines()
    for line in lines[:SHOWN_PLAN_LINES]:
        out.print(line, highlight=False, markup=False, overflow="ellipsis", no_wrap=True)
    if len(lines) > SHOWN_PLAN_LINES:
        out.print(f"  ... and {len(lines) - SHOWN_PLAN_LINES} more", highlight=False)
    out.print()
    show_statistics(shared.statistics)


def _show_savings(count: int, shared: SharedRuns, alone: RunsAlone) -> None:
    """Print the seconds of the demo's shared run beside those of queries run alone."""
    first, second = shared.seconds
    each = sum(alone.seconds) / len(alone.seconds)
    total = each * count
    table = Table.grid(padding=(0, 2))
    table.add_row("adding", f"{shared.seconds_to_add:.1f} s, once")
    table.add_row("shared", f"{second:.2f} s for all {count}; {first:.2f} s cold, in a young JVM")
    table.add_row(
        "alone", f"{each:.2f} s a query, warmed up too; measured for {len(alone.seconds)}"
    )
    table.add_row("", f"{total:.0f} s for all {count}, extrapolated")
    table.add_row("answers", f"equal to within 1e-9 in all {alone.windows} windows compared")
    table.add_row(
        "saving",
        f"{total / second:.0f} x; {total / (second + shared.seconds_to_add):.0f} x counting adding",
    )
    out.print()
    out.print(table)
