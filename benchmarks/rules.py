"""Detection rules over process creations: many selective predicates, mostly about strings.

    python -m benchmarks rules --workloads FOLDER [--quick] [--rows N] [--queries N] [--cap SECONDS]

The folder has detection_rules.json (predicates in Spark's SQL, by name) and process_events.json
(a list of events). Every rule counts its events by host, every five minutes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from rich.console import Console

from benchmarks.outputs import File
from benchmarks.process_events import event_tables
from benchmarks.rule_benchmark import CAP, Sizes, run_rules
from benchmarks.workload_files import read_workload_file, shuffled
from benchmarks.workload_report import Result

SIZES = (20, 100)  # and all
PER_TRIGGER = 10_000


def run(
    rows: int = 100_000,
    sizes: Sequence[int] = (),
    *,
    quick: bool = False,
    workloads: str | os.PathLike[str] | None = None,
    cap: float = CAP,
    json_path: File | None = None,
    plot_path: File | None = None,
    spark: SparkSession | None = None,
    console: Console | None = None,
) -> list[Result]:
    """Measure, print and draw; `quick` takes few rows and rules, one repetition.

    Without `sizes`, some of the rules are measured and then all of them.
    """
    predicates = shuffled(read_workload_file(workloads, "detection_rules.json"))
    events = read_workload_file(workloads, "process_events.json")
    queries = {name: _query(predicate) for name, predicate in predicates.items()}
    whole = Sizes(rows, sizes or SIZES, PER_TRIGGER, with_all=not sizes)
    return run_rules(
        "detection rules",
        "events",
        queries,
        lambda count: event_tables(events, count),
        whole.quick() if quick else whole,
        cap=cap,
        json_path=json_path,
        plot_path=plot_path,
        spark=spark,
        console=console,
        scan=lambda rows, names: _one_scan(rows, {name: predicates[name] for name in names}),
    )


def _query(predicate: str) -> str:
    """A rule as a query: how many of its events each host has, every five minutes."""
    return (
        f"SELECT host, count(*) AS n FROM events WHERE {predicate} "
        "GROUP BY host, window(ts, '5 minutes')"
    )


def _one_scan(rows: DataFrame, predicates: Mapping[str, str]) -> DataFrame:
    """One statement by hand, with a conditional count for every rule."""
    rows.createOrReplaceTempView("events")
    counts = ", ".join(
        f"count(*) FILTER (WHERE {predicate}) AS `{name}`" for name, predicate in predicates.items()
    )
    return rows.sparkSession.sql(
        f"SELECT host, {counts} FROM events GROUP BY host, window(ts, '5 minutes')"
    )
