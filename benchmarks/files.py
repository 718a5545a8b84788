"""What a benchmark leaves behind: tables, every number, and a plot."""

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


def printer() -> Console:
    """Where tables are printed, all columns of them if that is a file."""
    return Console() if sys.stdout.isatty() else Console(width=_WIDTH)


def keep(
    numbers: object,
    json_path: File | None,
    console: Console,
    draw: Callable[[Path], None] | None = None,
    plot_path: File | None = None,
) -> None:
    """Write both where they are wanted, and say where."""
    if json_path:
        Path(json_path).write_text(json.dumps(numbers, indent=2), encoding="utf-8")
        console.print(f"every number: {json_path}")
    if draw and plot_path:
        draw(Path(plot_path))
        console.print(f"the plot: {plot_path}")


def canvas(width: float, height: float) -> Any:
    """An empty figure, drawn without a screen."""
    # Only those who plot need Matplotlib.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure
