"""The figures of Huebsch et al. (SIGMOD 2007), one function each: measured and drawn into a file.

    python -m benchmarks.huebsch_figures FOLDER [--quick]

What they show beside the paper's is told in docs/papers/huebsch.md. Figures 1 and 2 of the paper
are drawings; nothing is measured there.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from threadpoolctl import threadpool_limits

from benchmarks.fragment_figures import PAPER, lines
from benchmarks.fragments import GAINS, REPEATS, idempotent, linear, run_methods
from benchmarks.outputs import canvas
from benchmarks.sections import Section
from gingham.algebra.fragments.published import generate, planted_size

LINEAR_METHODS = ("lu", "qr", "svd")
# The strategies that the paper shows, and the engine's own method.
SHOWN = ("basic_maw", "add_or", "add_map", "add_mad", "add_maw", "add_mrw", "set_basis")


def figure_3(path: Path, *, quick: bool = False) -> Section:
    """Figure 3: records and running times of LU, QR and SVD at 500x500, by the gain."""
    size = (100, 100) if quick else (500, 500)
    section = linear((size,), (0.2, 0.5, 0.8) if quick else GAINS, 1 if quick else REPEATS)
    figure = canvas(10, 4)
    records, times = figure.subplots(1, 2)
    lines(records, section.numbers, "gain", "records")
    records.plot((0, 1), (size[1], 0), "k-", linewidth=0.5, label="optimal")
    records.axhline(size[1], color="black", linewidth=0.5)
    records.set(title="(a) size of A'", xlabel="total gain", ylabel="records")
    lines(times, section.numbers, "gain", "seconds")
    times.set(title="(b) running time", xlabel="total gain", ylabel="seconds", yscale="log")
    _save(figure, path)
    return section


def figure_4(path: Path, *, quick: bool = False) -> Section:
    """Figure 4: running times of LU, QR and SVD on larger and larger square matrices."""
    sizes = (50, 100) if quick else (100, 250, 500, 750, 1000, 1500)
    return _draw_growth(path, _grown(sizes, "linear", (*LINEAR_METHODS, "exact")))


def figure_5(path: Path, *, quick: bool = False) -> Section:
    """Figure 5: records, effectiveness and running times of compositions at 100x100."""
    size = (30, 30) if quick else (100, 100)
    gains = (0.5, 0.7) if quick else GAINS
    section = idempotent((size,), gains, 1 if quick else REPEATS, SHOWN)
    figure = canvas(15, 4)
    records, effective, times = figure.subplots(1, 3)
    lines(records, section.numbers, "gain", "records")
    records.plot((0, 1), (size[1], 0), "k-", linewidth=0.5, label="planted")
    records.set(title="(a) size of A'", xlabel="total gain", ylabel="records")
    lines(effective, section.numbers, "gain", "effective")
    for method in SHOWN:
        paper = PAPER.get(("100x100", method))
        if paper is not None:  # Only the mean over all gains is printed there.
            effective.axhline(paper.effective, linewidth=0.5, linestyle=":", color="gray")
            effective.annotate(method, (0, paper.effective), fontsize=5, color="gray")
    effective.set(title="(b) effectiveness (dotted: paper's means)", xlabel="total gain")
    lines(times, section.numbers, "gain", "seconds")
    times.set(title="(c) running time", xlabel="total gain", ylabel="seconds", yscale="log")
    _save(figure, path)
    return section


def figure_6(path: Path, *, quick: bool = False) -> Section:
    """Figure 6: running times of the fastest compositions on larger and larger square matrices."""
    sizes = (20, 40) if quick else (50, 100, 150, 200, 250)
    return _draw_growth(path, _grown(sizes, "idempotent", ("basic_maw", "add_map", "set_basis")))


FIGURES: Mapping[str, Callable[..., Section]] = {
    "huebsch_3": figure_3,
    "huebsch_4": figure_4,
    "huebsch_5": figure_5,
    "huebsch_6": figure_6,
}


def _grown(sizes: Sequence[int], kind: str, methods: Sequence[str]) -> list[dict[str, Any]]:
    """Time methods on square matrices of half the possible gain."""
    return [
        {"method": run.method, "queries": size, "seconds": run.seconds}
        for size in sizes
        for run in run_methods(
            methods,
            generate(size, size, 0.5, kind, seed=size),
            kind,
            f"{size}x{size}",
            0.5,
            planted_size(size, 0.5),
            0,
        )
    ]


def _draw_growth(path: Path, runs: Sequence[Mapping[str, Any]]) -> Section:
    """Draw running times by the number of queries."""
    figure = canvas(6, 4)
    panel = figure.subplots()
    lines(panel, runs, "queries", "seconds")
    panel.set(xlabel="queries and fragments", ylabel="seconds", xscale="log", yscale="log")
    _save(figure, path)
    rows = [(run["queries"], run["method"], f"{run['seconds']:.4f}") for run in runs]
    return Section("growth, gain 0.5", ("queries", "method", "seconds"), rows)


def _save(figure: Any, path: Path) -> None:
    for panel in figure.axes:
        panel.grid(visible=True, alpha=0.3)
        panel.legend(fontsize=6, ncols=2)
    figure.savefig(path, dpi=130)


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--quick", is_flag=True, help="Small matrices, few of each.")
def main(folder: Path, *, quick: bool) -> None:
    """Measure and draw every figure of the paper into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    # Threads of linear algebra wait busily for each other, which would count as time.
    with threadpool_limits(1):
        for name, draw in FIGURES.items():
            draw(folder / f"{name}.png", quick=quick)
            click.echo(folder / f"{name}.png")


if __name__ == "__main__":
    main()
