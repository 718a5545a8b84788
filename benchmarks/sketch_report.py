"""What the sketches were worth, as tables, as a verdict on the targets, as JSON and as a plot."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.outputs import canvas
from benchmarks.sections import Section, compact
from benchmarks.sections import show as show_sections


@dataclass(frozen=True, slots=True)
class Curve:
    """For each budget a mean and its standard error over repetitions, and variance / copies.

    `typical` is the error of a query, averaged over queries on a scale of logarithms: the hardest
    query does not drown all others. `relative` is the error without the square, |estimate / truth
    - 1|; all others are squared.
    """

    means: tuple[float, ...]
    spread: tuple[float, ...]
    expected: tuple[float, ...]
    typical: tuple[float, ...]
    relative: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """The errors of one workload by one metric; `held` is how often intervals held it."""

    workload: int
    metric: str
    budgets: tuple[int, ...]
    curves: Mapping[str, Curve]
    held: float

    def ratio(self, way: str, to: str) -> "Ratio | None":
        """The error of one way relative to another, on average over budgets."""
        if way not in self.curves or to not in self.curves:
            return None
        one, other = self.curves[way], self.curves[to]
        parts = np.divide(one.means, other.means)
        noise = np.hypot(np.divide(one.spread, one.means), np.divide(other.spread, other.means))
        return Ratio(
            float(parts.mean()),
            # Budgets of one repetition share their random signs: noise does not average out.
            float((parts * noise).mean()),
            float(np.divide(one.typical, other.typical).mean()),
            float(np.divide(one.expected, other.expected).mean()),
        )


@dataclass(frozen=True, slots=True)
class Ratio:
    """Of measured errors with its standard error, of those of a typical query, of variances."""

    measured: float
    noise: float
    typical: float
    expected: float


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that one run of the benchmark found out."""

    rows: int
    repetitions: int
    panels: tuple[Panel, ...]
    sections: tuple[Section, ...]

    def as_json(self) -> dict[str, object]:
        """Every number."""
        return {**asdict(self), "verdicts": [asdict(one) for one in verdicts(self.panels)]}


# Workload, the way to measure, the way to compare with, the most that their ratio may be.
PROMISES = (
    (1, "sharing", "no sharing", 1 / 2),
    (2, "sharing", "no sharing", 1 / 3),
    (3, "histograms", "uniform", 1.0),
    (3, "last window", "uniform", 1.0),
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A promise about errors at equal memory, and what became of it."""

    workload: int
    metric: str
    what: str
    most: float
    ratio: Ratio
    met: bool


def verdicts(panels: Sequence[Panel]) -> list[Verdict]:
    """A promise is met if variance / copies keeps it and what was measured does not contradict."""
    return [
        Verdict(number, panel.metric, f"{way} / {to}", most, ratio, _kept(ratio, most))
        for number, way, to, most in PROMISES
        for panel in panels
        if panel.workload == number and (ratio := panel.ratio(way, to))
    ]


def _kept(ratio: Ratio, most: float) -> bool:
    return ratio.expected <= most and ratio.measured <= most + 2 * ratio.noise


def show(report: Report, console: Console) -> None:
    """Print the tables."""
    for panel in report.panels:
        console.print(errors_table(panel, report.repetitions))
    table = compact(
        f"errors at equal memory, {report.rows:,} rows per relation",
        "",
        (
            *("workload", "metric", "", "wanted", "measured"),
            *("typical\nquery", "variance\n/ copies", "met"),
        ),
    )
    for verdict in verdicts(report.panels):
        ratio = verdict.ratio
        table.add_row(
            str(verdict.workload),
            verdict.metric,
            verdict.what,
            f"<= {verdict.most:.2f}",
            f"{ratio.measured:.2f} ± {ratio.noise:.2f}",
            f"{ratio.typical:.2f}",
            f"{ratio.expected:.3f}",
            "[green]yes" if verdict.met else "[red]no",
        )
    console.print(table)
    show_sections(report.sections, console)


def errors_table(panel: Panel, repetitions: int) -> Table:
    """Tabulate the errors of one panel by way and budget."""
    table = compact(
        f"workload {panel.workload}: {panel.metric} squared relative error by words",
        f"± standard error of {repetitions} repetitions; below: variance / copies, and the mean of "
        "relative errors that are not squared",
        ("", *(f"{budget // 1000}K" for budget in panel.budgets)),
    )
    for way, curve in panel.curves.items():
        cells = zip(curve.means, curve.spread, curve.expected, curve.relative, strict=True)
        table.add_row(
            way, *(f"{mean:.2g} ±{s:.1g}\n[dim]{e:.2g}, {r:.1%}" for mean, s, e, r in cells)
        )
    return table


def draw(report: Report, path: Path) -> None:
    """Plot errors against the budget: a column for each workload, a row for each metric.

    Dashed: variance / copies.
    """
    workloads = list(dict.fromkeys(panel.workload for panel in report.panels))
    metrics = list(dict.fromkeys(panel.metric for panel in report.panels))
    figure = canvas(4.2 * len(workloads), 3.4 * len(metrics))
    grid = figure.subplots(len(metrics), len(workloads), squeeze=False)
    for panel in report.panels:
        plot(panel, grid[metrics.index(panel.metric)][workloads.index(panel.workload)])
    figure.savefig(path, dpi=130)


def plot(panel: Panel, axes: Any) -> None:
    """Draw the curves of one panel on the axes of a plot; dashed: variance / copies."""
    for way, curve in panel.curves.items():
        (line, *_) = axes.errorbar(
            panel.budgets, curve.means, yerr=curve.spread, marker="o", capsize=2, label=way
        )
        axes.plot(panel.budgets, curve.expected, linestyle="--", color=line.get_color())
    axes.set(
        title=f"workload {panel.workload}",
        xlabel="words",
        ylabel=f"{panel.metric} squared relative error",
        yscale="log",
    )
    axes.grid(visible=True, alpha=0.3)
    axes.legend(fontsize="small")
