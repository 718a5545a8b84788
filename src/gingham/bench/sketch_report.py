"""What the sketches were worth, as tables, as a verdict on the targets, as JSON and as a plot."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from gingham.bench.report import Target


@dataclass(frozen=True, slots=True)
class Curve:
    """A mean for each budget, and its standard error over repetitions."""

    means: tuple[float, ...]
    spread: tuple[float, ...]

    @classmethod
    def of(cls, values: npt.NDArray[np.float64]) -> "Curve":
        """From one row for each repetition."""
        spread = values.std(axis=0, ddof=1) / np.sqrt(len(values))
        return cls(tuple(values.mean(axis=0).tolist()), tuple(spread.tolist()))


@dataclass(frozen=True, slots=True)
class Panel:
    """The errors of one workload by one metric; `held` is how often intervals held the truth."""

    workload: int
    metric: str
    budgets: tuple[int, ...]
    curves: Mapping[str, Curve]
    held: float

    def ratio(self, way: str, to: str) -> tuple[float, float] | None:
        """The error of one way relative to another over all budgets, and its standard error.

        The budgets of one repetition share their random signs, so their spreads add up.
        """
        if way not in self.curves or to not in self.curves:
            return None
        one, other = self.curves[way], self.curves[to]
        parts = [a / b for a, b in zip(one.means, other.means, strict=True)]
        spreads = [
            part * np.hypot(s / a, t / b)
            for part, a, s, b, t in zip(
                parts, one.means, one.spread, other.means, other.spread, strict=True
            )
        ]
        return float(np.mean(parts)), float(np.mean(spreads))


@dataclass(frozen=True, slots=True)
class Section:
    """A table of its own."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that one run of the benchmark found out."""

    rows: int
    repetitions: int
    panels: tuple[Panel, ...]
    sections: tuple[Section, ...]

    def as_json(self) -> dict[str, object]:
        """Every number."""
        return {**asdict(self), "targets": [asdict(target) for target in targets(self)]}


# Workload, the way to measure, the way to compare with, the most that their ratio may be.
PROMISES = (
    (1, "sharing", "no sharing", 1 / 2),
    (2, "sharing", "no sharing", 1 / 3),
    (3, "weights from histograms", "uniform weights", 1.0),
    (3, "weights from the last window", "uniform weights", 1.0),
)


def targets(report: Report) -> list[Target]:
    """Ratios of errors at equal memory; met if the promise lies within two standard errors."""
    found: list[Target] = []
    for number, way, to, most in PROMISES:
        for panel in report.panels:
            if panel.workload == number and (measured := panel.ratio(way, to)):
                ratio, spread = measured
                what = f"workload {number}, {panel.metric}: {way} / {to} (± {spread:.2f})"
                met = ratio <= most + 2 * spread
                found.append(Target(what, f"<= {most:.2f}", ratio, met))
    return found


def show(report: Report, console: Console) -> None:
    """Print the tables."""
    for panel in report.panels:
        console.print(_errors(panel, report.repetitions))
    for section in report.sections:
        table = _table(section.title, section.note)
        for column in section.columns:
            table.add_column(column, justify="right")
        for row in section.rows:
            table.add_row(*(str(cell) for cell in row))
        console.print(table)
    table = _table(f"targets, {report.rows:,} rows per relation", "")
    for header in ("", "wanted", "measured", "met"):
        table.add_column(header, no_wrap=True)
    for target in targets(report):
        met = "[green]yes" if target.met else "[red]no"
        table.add_row(target.what, target.wanted, f"{target.measured:.2f}", met)
    console.print(table)


def _errors(panel: Panel, repetitions: int) -> Table:
    table = _table(
        f"workload {panel.workload}: {panel.metric} squared relative error",
        f"± standard error of {repetitions} repetitions",
    )
    for header in ("", *(f"{budget:,} words" for budget in panel.budgets)):
        table.add_column(header, justify="right", no_wrap=True)
    for way, curve in panel.curves.items():
        pairs = zip(curve.means, curve.spread, strict=True)
        table.add_row(way, *(f"{mean:.2g} ±{spread:.0e}" for mean, spread in pairs))
    return table


def _table(title: str, note: str) -> Table:
    return Table(
        title=title,
        caption=note or None,
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )


def draw(report: Report, path: Path) -> None:
    """Plot errors against the budget: a column for each workload, a row for each metric."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    workloads = list(dict.fromkeys(panel.workload for panel in report.panels))
    metrics = list(dict.fromkeys(panel.metric for panel in report.panels))
    figure = Figure(figsize=(4.2 * len(workloads), 3.4 * len(metrics)), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(len(metrics), len(workloads), squeeze=False)
    for panel in report.panels:
        place = grid[metrics.index(panel.metric)][workloads.index(panel.workload)]
        for way, curve in panel.curves.items():
            place.errorbar(
                panel.budgets, curve.means, yerr=curve.spread, marker="o", capsize=2, label=way
            )
        place.set(
            title=f"workload {panel.workload}",
            xlabel="words",
            ylabel=f"{panel.metric} squared relative error",
            yscale="log",
        )
        place.grid(visible=True, alpha=0.3)
        place.legend(fontsize="small")
    figure.savefig(path, dpi=130)
