"""Weaving: what plans cost, and how long finding them takes.

    python -m benchmarks weave [--quick] [--rows N] [--json FILE] [--plot FILE]

Figures 4 to 11 and 14 of Guirguis et al. (CIKM 2011), all from one run on this machine, with our
weaver beside theirs; then plans of the same queries on Spark, predicted and measured. The
experiments of Shein et al. (CIKM 2015) are `python -m benchmarks shein`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial

from pyspark.sql import SparkSession
from rich.console import Console

from benchmarks.outputs import File, table_console, write_results
from benchmarks.targets import Target, show_targets
from benchmarks.weave_cost import cost_figures
from benchmarks.weave_engine import (
    ROWS,
    Attempt,
    as_json,
    engine_targets,
    run_on_engine,
    show_engine,
)
from benchmarks.weave_figure import Figure, draw, show
from benchmarks.weave_scale import measure_targets
from gingham.optimizer.cost import Cost


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that one run found out."""

    figures: tuple[Figure, ...]
    targets: tuple[Target, ...]
    attempts: list[Attempt]

    def as_json(self) -> dict[str, object]:
        """Every number."""
        return {
            "figures": [figure.as_json() for figure in self.figures],
            "targets": [asdict(target) for target in self.targets],
            "engine": as_json(self.attempts),
        }


def run(
    spark: SparkSession,
    rows: int | None = None,
    *,
    quick: bool = False,
    json_path: File | None = None,
    plot_path: File | None = "weave.png",
    console: Console | None = None,
) -> Report:
    """Measure, print and draw; `quick` takes few queries and little patience."""
    console = console or table_console()
    rows = rows or (500_000 if quick else ROWS)
    with console.status("weaving") as status:

        def step(what: str) -> None:
            status.update(what)

        # What is known is shown at once: the whole takes half an hour.
        figures = cost_figures(quick=quick, step=step)
        show(figures, console)
        targets = measure_targets(quick=quick, step=step)
        attempts = run_on_engine(spark, rows, Cost(), step, quick=quick)
    report = Report(tuple(figures), (*targets, *engine_targets(attempts)), attempts)
    show_engine(attempts, rows, console)
    show_targets(report.targets, console)
    write_results(report.as_json(), json_path, console, partial(draw, report.figures), plot_path)
    return report
