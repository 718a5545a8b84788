"""Where the results of a benchmark go: tables on the console, numbers and a plot in files."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

File = str | os.PathLike[str]
_WIDTH = 140


def table_console() -> Console:
    """A console for tables; wide enough for all their columns if the output is no terminal."""
    return Console() if sys.stdout.isatty() else Console(width=_WIDTH)


def write_results(
    numbers: object,
    json_path: File | None,
    console: Console,
    draw: Callable[[Path], None] | None = None,
    plot_path: File | None = None,
) -> None:
    """Write the numbers as JSON and the plot, where a path is given, and print the paths."""
    if json_path:
        Path(json_path).write_text(json.dumps(numbers, indent=2), encoding="utf-8")
        console.print(f"every number: {json_path}")
    if draw and plot_path:
        draw(Path(plot_path))
        console.print(f"the plot: {plot_path}")


def canvas(width: float, height: float) -> Any:
    """An empty figure, drawn without a screen."""
    # Imported here: only plots need Matplotlib.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure
