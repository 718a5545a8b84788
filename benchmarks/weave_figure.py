"""Figures of the weaving benchmark: lines of points, as tables, plots and JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.outputs import canvas


@dataclass(frozen=True, slots=True)
class Figure:
    """Some lines over the same axis; a line ends where its method gave up."""

    name: str
    title: str
    across: str
    up: str
    lines: Mapping[str, Sequence[tuple[float, float]]]
    notes: tuple[str, ...] = field(default=())
    log_across: bool = True
    log_up: bool = True
    stops: Mapping[str, float] = field(default_factory=dict[str, float])  # drawn upright

    def as_json(self) -> dict[str, object]:
        """Every number."""
        return {
            "name": self.name,
            "title": self.title,
            "across": self.across,
            "up": self.up,
            "lines": dict(self.lines),
            "notes": list(self.notes),
            "stops": dict(self.stops),
        }


def show(figures: Sequence[Figure], console: Console) -> None:
    """Print a table for each figure."""
    for figure in figures:
        table = Table(title=f"{figure.name}: {figure.title}, {figure.up}", box=SIMPLE_HEAD)
        table.add_column(figure.across, justify="right")
        for line in figure.lines:
            table.add_column(line, justify="right")
        found = {line: dict(points) for line, points in figure.lines.items()}
        for x in sorted({x for points in found.values() for x in points}):
            table.add_row(_number(x), *[_number(points.get(x)) for points in found.values()])
        console.print(table)
        for note in figure.notes:
            console.print(f"[dim]{note}", highlight=False)


def _number(value: float | None) -> str:
    if value is None or math.isnan(value):
        return "-"
    return f"{value:,.0f}" if value == int(value) and abs(value) < 1e9 else f"{value:,.4g}"


PUBLISHED = ", published"  # ends the name of a line: values that a study prints for another line


def draw(figures: Sequence[Figure], path: Path) -> None:
    """Plot every figure in a panel of its own; published values are crosses."""
    columns = min(4, len(figures))
    rows = math.ceil(len(figures) / columns)
    sheet = canvas(4.6 * columns, 3.8 * rows)
    panels = sheet.subplots(rows, columns, squeeze=False).ravel()
    for panel, figure in zip(panels, figures, strict=False):
        _plot_lines(panel, figure)
        for what, x in figure.stops.items():
            panel.axvline(x, color="gray", linestyle=":", label=what)
        panel.set_title(f"{figure.name}\n{figure.title}", fontsize=10)
        panel.set(xlabel=figure.across, ylabel=figure.up)
        if figure.log_across:
            least = min(x for points in figure.lines.values() for x, _ in points)
            if least > 0:
                panel.set_xscale("log")
            else:
                panel.set_xscale("symlog", linthresh=1)
        if figure.log_up:
            panel.set_yscale("log")
        panel.grid(visible=True, alpha=0.3)
        panel.legend(fontsize=7)
    for panel in panels[len(figures) :]:
        panel.set_visible(False)
    sheet.savefig(path, dpi=110)


def _plot_lines(panel: Any, figure: Figure) -> None:
    """Draw the lines of a figure, those that a study prints as crosses in the same colour."""
    colours: dict[str, str] = {}
    for line, points in figure.lines.items():
        if not points:
            continue
        style: dict[str, object] = {"marker": "o", "markersize": 3}
        if line.endswith(PUBLISHED):
            colour = colours.get(line.removesuffix(PUBLISHED), "black")
            style = {"marker": "x", "markersize": 8, "linestyle": "none", "color": colour}
        (drawn,) = panel.plot(*zip(*points, strict=True), label=line, **style)
        colours[line] = drawn.get_color()


def write_json(figures: Sequence[Figure], path: Path) -> None:
    """Write every number of some figures."""
    path.write_text(json.dumps([figure.as_json() for figure in figures]), encoding="utf-8")
