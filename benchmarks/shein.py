"""F1 against the bit set: the figures and tables of Shein et al. (CIKM 2015).

    python -m benchmarks shein [--quick] [--json FILE] [--plot FILE]

BS, F1 and F1+Opt in the same plain Python, five runs of every point, with the study's values beside
ours; our own weaver as a fourth line. Nothing is stopped on the way. `--quick` takes fewer points,
and one run of a million queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

from rich.console import Console

from benchmarks.outputs import File, table_console, write_results
from benchmarks.sections import Section, as_json, show
from benchmarks.shein_figures import (
    Result,
    bit_set_table,
    operations_figure,
    points_table,
    readings_table,
    run_experiment,
    seconds_figure,
    summary_table,
)
from benchmarks.shein_settings import EXPERIMENTS
from benchmarks.weave_figure import draw
from benchmarks.weave_figure import show as show_figures


def run(
    *,
    quick: bool = False,
    json_path: File | None = None,
    plot_path: File | None = "shein.png",
    console: Console | None = None,
) -> list[Section]:
    """Measure, print and draw; every table is printed as soon as it is known."""
    console = console or table_console()
    sections: list[Section] = []

    def told(section: Section) -> None:
        sections.append(section)
        show([section], console)

    figures = [operations_figure()]
    show_figures(figures, console)
    results: list[Result] = []
    with console.status("weaving") as status:
        told(bit_set_table(quick=quick))
        for experiment in EXPERIMENTS:
            results.append(run_experiment(experiment, quick=quick, step=status.update))
            told(points_table(results[-1]))
            figures.append(seconds_figure(results[-1]))
        told(summary_table(results))
        told(readings_table(quick=quick, step=status.update))
    numbers = {
        "figures": [figure.as_json() for figure in figures],
        "tables": as_json(sections),
        "points": _points(results),
    }
    write_results(numbers, json_path, console, partial(draw, figures), plot_path)
    return sections


def _points(results: Sequence[Result]) -> dict[str, object]:
    """Every run of every point, as JSON."""
    return {
        f"Exp {result.experiment.number}": [asdict(point) for point in result.points]
        for result in results
    }
