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
from gingham.cli.show import out, progress, show_answer, show_statistics, time_zone
from gingham.cli.start import start
from gingham.core.errors import AnswerError, WorkloadError
from gingham.datasets.trades import queries
from gingham.loom import Loom
from gingham.spark.answers import Statistics

# All of them alone would take minutes; every k-th one is a fair sample of the workload.
ALONE = 8
SHOWN_QUERIES, SHOWN_ROWS = 2, 3
SHOWN_LINES = 16


@dataclass(frozen=True, slots=True)
class Shared:
    """What the shared runs gave: answers by name, seconds of each run."""

    adding: float
    seconds: tuple[float, ...]
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
    spark = start()
    with tempfile.TemporaryDirectory(prefix="gingham-demo-") as name, progress() as bars:
        folder = Path(name)
        task = bars.add_task(f"writing {rows:,} trades", total=len(TABLES))
        write_market(spark, folder, rows, partial(bars.advance, task))
        loom, adding = _loom(spark, folder, workload, bars)
        shared = _shared(loom, adding, bars)
        alone, checked = _alone(loom, shared, bars)
    out.print(
        f"{rows:,} trades of one hour, {count} queries: {side} windows x {side} predicates\n",
        highlight=False,
    )
    _show_answers(spark, workload, shared)
    _show_plan(loom, shared)
    _show_savings(count, shared, alone, checked)


def _loom(
    spark: SparkSession, folder: Path, workload: Sequence[tuple[str, str]], bars: Progress
) -> tuple[Loom, float]:
    task = bars.add_task(f"adding {len(workload)} queries", total=len(workload))
    began = time.perf_counter()
    opened = {name: spark.read.parquet(str(folder / name)) for name in TABLES}
    loom = Loom(spark)
    loom.stream("trades", opened["trades"], time="ts")
    loom.table("close", opened["close"], key="symbol")
    loom.table("listing", opened["listing"], key="symbol")
    for name, sql in workload:
        loom.add(sql, name=name)
        bars.advance(task)
    return loom, time.perf_counter() - began


def _shared(loom: Loom, adding: float, bars: Progress) -> Shared:
    """Answer all queries twice: in the first run the JVM still compiles what it runs."""
    seconds: list[float] = []
    answers, found = None, dict[str, pa.Table]()
    for _ in bars.track(range(2), description=f"running all {len(loom.queries)} as one, twice"):
        began = time.perf_counter()
        answers = loom.run()
        found = {name: answers.arrow(name) for name in loom.queries}
        seconds.append(time.perf_counter() - began)
    assert answers is not None
    return Shared(adding, tuple(seconds), found, answers.statistics)


def _alone(loom: Loom, shared: Shared, bars: Progress) -> tuple[list[float], int]:
    """Seconds of some queries as Spark jobs of their own, and how many windows were compared."""
    names = loom.queries
    picked = [names[i * len(names) // ALONE] for i in range(min(ALONE, len(names)))]
    seconds: list[float] = []
    found: dict[str, pa.Table] = {}
    # The first one runs twice, for the same reason as the shared run.
    for name in bars.track([picked[0], *picked], description=f"running {len(picked)} alone"):
        began = time.perf_counter()
        found[name] = loom.alone(name).toArrow()
        seconds.append(time.perf_counter() - began)
    checked = [_compare(n, _values(shared.answers[n]), _values(found[n])) for n in picked]
    return seconds[1:], sum(checked)


def _values(answer: pa.Table) -> dict[object, float]:
    ends, values = (answer.column(name).to_pylist() for name in ("window_end", "value"))
    return dict(zip(ends, values, strict=True))


def _compare(name: str, shared: dict[object, float], alone: dict[object, float]) -> int:
    """How many windows there are; an error if an answer is not the same."""
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


def _show_answers(spark: SparkSession, workload: Sequence[tuple[str, str]], shared: Shared) -> None:
    for name, sql in workload[:SHOWN_QUERIES]:
        answer = shared.answers[name].sort_by("window_start").slice(0, SHOWN_ROWS)
        show_answer(f"{name}\n{sql}", answer, time_zone(spark))


def _show_plan(loom: Loom, shared: Shared) -> None:
    lines = loom.explain().splitlines()
    for line in lines[:SHOWN_LINES]:
        out.print(line, highlight=False, markup=False, overflow="ellipsis", no_wrap=True)
    if len(lines) > SHOWN_LINES:
        out.print(f"  ... and {len(lines) - SHOWN_LINES} more", highlight=False)
    out.print()
    show_statistics(shared.statistics)


def _show_savings(count: int, shared: Shared, alone: list[float], checked: int) -> None:
    first, second = shared.seconds
    each = sum(alone) / len(alone)
    total = each * count
    table = Table.grid(padding=(0, 2))
    table.add_row("adding", f"{shared.adding:.1f} s, once")
    table.add_row("shared", f"{second:.2f} s for all {count}; {first:.2f} s cold, in a young JVM")
    table.add_row("alone", f"{each:.2f} s a query, warmed up too; measured for {len(alone)}")
    table.add_row("", f"{total:.0f} s for all {count}, extrapolated")
    table.add_row("answers", f"equal to within 1e-9 in all {checked} windows compared")
    table.add_row(
        "saving",
        f"{total / second:.0f} x; {total / (second + shared.adding):.0f} x counting adding",
    )
    out.print()
    out.print(table)
