"""Alert rules over samples of metrics: hundreds of metrics, dozens of key sets, HAVING.

    python -m benchmarks monitoring --workloads FOLDER [--quick] [--rows N] [--queries N] [--cap S]

The folder has monitoring_rules.json: a list of rules with a `name` and a query `sql` over
samples(ts TIMESTAMP, metric STRING, labels MAP<STRING, STRING>, value DOUBLE).
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from pyspark.sql import SparkSession
from rich.console import Console

from benchmarks.metric_samples import sample_tables
from benchmarks.outputs import File
from benchmarks.rule_benchmark import CAP, Sizes, run_rules
from benchmarks.workload_files import read_workload_file, shuffled
from benchmarks.workload_report import Result

SIZES = (32, 127)  # and all
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
    rules = read_workload_file(workloads, "monitoring_rules.json")
    queries = shuffled({rule["name"]: rule["sql"] for rule in rules})
    whole = Sizes(rows, sizes or SIZES, PER_TRIGGER, with_all=not sizes)
    return run_rules(
        "alert rules",
        "samples",
        queries,
        lambda count: sample_tables(list(queries.values()), count),
        whole.quick() if quick else whole,
        cap=cap,
        json_path=json_path,
        plot_path=plot_path,
        spark=spark,
        console=console,
    )
