"""What the benchmarks of rules have in common: some rules and all of them, batch and stream."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console

from benchmarks.capped import CappedRuns
from benchmarks.outputs import File, table_console, write_results
from benchmarks.plain_session import plain_session
from benchmarks.trigger_times import time_triggers, write_trigger_files
from benchmarks.workload import Workload, measure, warm_up
from benchmarks.workload_report import Result, draw, in_brief, show

CAP = 120.0  # seconds for each timed part
TRIGGERS = 10  # at most, of a stream
FILES = 4  # at least, so that all cores read
TURNS = 3

Tables = Callable[[int], Iterator[pa.Table]]
Scan = Callable[[DataFrame, Sequence[str]], DataFrame]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many rows, how many of the rules, whether all of them, too; and the rows of a trigger."""

    rows: int
    rules: Sequence[int]
    per_trigger: int
    turns: int = TURNS
    with_all: bool = True

    def quick(self) -> Sizes:
        """Few rows and rules, one repetition."""
        return Sizes(min(self.rows, 5_000), (8,), min(self.per_trigger, 1_000), 1, with_all=False)


def run_rules(
    title: str,
    stream: str,
    queries: Mapping[str, str],
    tables: Tables,
    sizes: Sizes,
    *,
    cap: float,
    json_path: File | None,
    plot_path: File | None,
    spark: SparkSession | None,
    console: Console | None,
    scan: Scan | None = None,
) -> list[Result]:
    """Run the first rules, and all of them, over rows that `tables` makes for a number of rows.

    `scan` makes one statement of the conditions of the queries with these names.
    """
    console = console or table_console()
    session = spark or plain_session()
    counts = [n for n in sizes.rules if n < len(queries)]
    if sizes.with_all or not counts:
        counts.append(len(queries))
    results: list[Result] = []
    runs = CappedRuns(session, cap)
    with tempfile.TemporaryDirectory(prefix="gingham-rules-") as name:
        folder = Path(name)
        console.print(f"writing {sizes.rows:,} rows")
        rows = session.read.parquet(str(_write(folder, tables, sizes)))
        for n in counts:
            some = dict(islice(queries.items(), n))
            by_hand = None if scan is None else partial(scan, rows, list(some))
            workload = Workload(session, stream, rows, sizes.rows, some, by_hand)
            if not results:
                warm_up(workload, runs)
            console.print(f"{n} {title}")
            result = measure(workload, title, runs, times=sizes.turns)
            console.print(in_brief(result))
            accepted = {name: text for name, text in some.items() if name not in result.refused}
            triggers = time_triggers(runs, stream, folder / "triggers", accepted, sizes.per_trigger)
            results.append(replace(result, triggers=triggers))
    show(title, results, console)
    for result in results:
        console.print(
            f"{result.asked} {title}: {len(result.refused)} refused, "
            f"{len(result.alone)} ran alone, {len(result.failed)} failed"
        )
    numbers = {
        "cores": session.sparkContext.defaultParallelism,
        "cap": cap,
        "results": [result.as_json() for result in results],
    }
    write_results(numbers, json_path, console, partial(draw, results), plot_path)
    return results


def _write(folder: Path, tables: Tables, sizes: Sizes) -> Path:
    """Write rows as files for batch runs, and those of a stream as one file a trigger."""
    whole = folder / "rows"
    whole.mkdir()
    for part, table in enumerate(tables(sizes.rows)):
        each = -(-table.num_rows // FILES) or 1
        for i, start in enumerate(range(0, table.num_rows, each)):
            pq.write_table(table.slice(start, each), whole / f"{part:04d}-{i}.parquet")
    streamed = pa.concat_tables(tables(min(sizes.rows, TRIGGERS * sizes.per_trigger)))
    write_trigger_files(streamed, folder / "triggers", sizes.per_trigger)
    return whole
