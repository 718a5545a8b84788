"""The figures of Dobra et al., Section 6: one function for each, which measures and draws it.

    python -m benchmarks.sketch_figures [--quick] [--figure N] [--tables] FOLDER

writes figure_15.png to figure_20.png, and prints every number in them. None of it needs Spark.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import get_args

import click
from rich.console import Console

from benchmarks.outputs import canvas, table_console
from benchmarks.sections import show
from benchmarks.sketch_panels import BUDGETS, REPETITIONS, panel
from benchmarks.sketch_readings import readings, weighing
from benchmarks.sketch_report import Panel, errors_table, plot, verdicts
from benchmarks.sketch_rivals import SPARSE_ROWS, rivals
from gingham.datasets.regions import Regions, Widths
from gingham.estimates.algebra.allocation import Metric


def _figure(
    workload: int,
    metric: Metric,
    number: int,
    path: Path,
    *,
    quick: bool = False,
    widths: Widths = "alike",
) -> Panel:
    """Measure the errors of a workload by a metric, and draw them; `quick` repeats six times."""
    found = panel(
        workload,
        metric,
        Regions(widths=widths).tables(),
        (BUDGETS[0], BUDGETS[-1]) if quick else BUDGETS,
        6 if quick else REPETITIONS,
    )
    drawing = canvas(5.2, 3.8)
    axes = drawing.subplots()
    plot(found, axes)
    axes.set_title(f"Figure {number}: {metric} error, workload {workload}")
    drawing.savefig(path, dpi=130)
    return found


# By the number of the figure in the paper.
FIGURES: Mapping[int, Callable[..., Panel]] = {
    15: partial(_figure, 1, "average", 15),
    16: partial(_figure, 1, "maximum", 16),
    17: partial(_figure, 2, "average", 17),
    18: partial(_figure, 2, "maximum", 18),
    19: partial(_figure, 3, "average", 19),
    20: partial(_figure, 3, "maximum", 20),
}


def draw_and_tell(
    number: int, folder: Path, console: Console, *, quick: bool = False, widths: Widths = "alike"
) -> None:
    """Measure and draw one figure into a folder, and print every number in it."""
    path = folder / f"figure_{number}.png"
    found = FIGURES[number](path, quick=quick, widths=widths)
    console.print(f"Figure {number}: {path}")
    console.print(errors_table(found, 6 if quick else REPETITIONS))
    for verdict in verdicts([found]):
        ratio = verdict.ratio
        console.print(
            f"{verdict.what}: {ratio.measured:.2f} ± {ratio.noise:.2f}, typical query "
            f"{ratio.typical:.2f}, variance / copies {ratio.expected:.3f}"
        )
    console.print(f"intervals of 95 % that hold the truth: {found.held:.2%}")


@click.command()
@click.option("--quick", is_flag=True, help="Two budgets, six repetitions.")
@click.option("--figure", "only", type=click.Choice([str(n) for n in FIGURES]), multiple=True)
@click.option("--widths", type=click.Choice(get_args(Widths)), default="alike", help="Of regions.")
@click.option("--tables", is_flag=True, help="Print the tables beside the figures instead.")
@click.argument("folder", type=click.Path(path_type=Path))
def main(folder: Path, *, quick: bool, only: tuple[str, ...], widths: Widths, tables: bool) -> None:
    """Measure and draw the figures of the paper on sketches of joins."""
    folder.mkdir(parents=True, exist_ok=True)
    console = table_console()
    if tables:
        rows, sparse = Regions().rows, SPARSE_ROWS[:1] if quick else SPARSE_ROWS
        show([readings(rows, 1 if quick else 5), weighing(rows)], console)
        show([rivals(rows, BUDGETS[-1], 1 if quick else 5, sparse)], console)
        return
    for number in FIGURES:
        if not only or str(number) in only:
            draw_and_tell(number, folder, console, quick=quick, widths=widths)


if __name__ == "__main__":
    main()
