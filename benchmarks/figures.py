"""Every figure of the five papers from one command; it can be stopped and goes on later.

    make figures
    python -m benchmarks.figures [--quick] [--only NAME] [--again NAME] [--list] [FOLDER]

`DRAWINGS` lists them all, in the order in which they are drawn: quick ones first, those that need
Spark last. A drawing is a folder with its plots, its tables as text and the seconds that it took;
it gets its name when it is finished, so whatever has a name is complete and is skipped next time.
What the figures show beside the papers' is told in docs/papers.
"""

import json
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from threadpoolctl import threadpool_limits

from benchmarks import (
    fragments,
    huebsch_figures,
    krishnamurthy,
    shein,
    sketch_figures,
    weave_cost,
    weave_figure,
)
from benchmarks.__main__ import require_installed
from benchmarks.sections import show
from gingham.cli.start_spark import start_spark

FOLDER = Path("artifacts") / "figures"
_TABLES, _FACTS = "tables.txt", "run.json"
_WIDTH = 160


@dataclass(frozen=True, slots=True)
class Drawing:
    """Figures and tables of one paper that one function measures and draws.

    The function gets a folder for its files and a console for its tables; `quick` is a trial of
    the function on small input, whose numbers mean nothing.
    """

    name: str
    paper: str
    shows: tuple[str, ...]  # as the paper numbers them
    draw: Callable[[Path, Console, bool], None]


def _huebsch(name: str) -> Callable[[Path, Console, bool], None]:
    def draw(folder: Path, console: Console, quick: bool) -> None:  # noqa: FBT001
        show([huebsch_figures.FIGURES[name](folder / f"{name}.png", quick=quick)], console)

    return draw


def _huebsch_appendix(folder: Path, console: Console, quick: bool) -> None:  # noqa: FBT001
    # One matrix of each size and gain instead of ten: the twelve strategies take 20 s for each.
    fragments.run(
        100_000,
        quick=quick,
        repeats=1,
        json_path=folder / "fragments.json",
        plot_path=folder / "fragments.png",
        spark=start_spark(),
        console=console,
    )


def _shein(folder: Path, console: Console, quick: bool) -> None:  # noqa: FBT001, ARG001
    # The full settings take hours; those of `--quick` are what docs/papers/shein.md shows.
    shein.run(
        quick=True,
        json_path=folder / "shein.json",
        plot_path=folder / "shein.png",
        console=console,
    )


def _dobra(number: int) -> Callable[[Path, Console, bool], None]:
    def draw(folder: Path, console: Console, quick: bool) -> None:  # noqa: FBT001
        sketch_figures.draw_and_tell(number, folder, console, quick=quick)

    return draw


def _guirguis(number: int) -> Callable[[Path, Console, bool], None]:
    def draw(folder: Path, console: Console, quick: bool) -> None:  # noqa: FBT001
        figures = weave_cost.FIGURES[number](quick=quick)
        weave_figure.show(figures, console)
        weave_figure.draw(figures, folder / f"guirguis_{number}.png")
        weave_figure.write_json(figures, folder / "figures.json")
        if number == 8:
            show([weave_cost.readings_table(quick=quick)], console)

    return draw


HUEBSCH, KRISHNAMURTHY, GUIRGUIS, SHEIN, DOBRA = (
    "000 Huebsch et al. 2007",
    "001 Krishnamurthy et al. 2006",
    "004 Guirguis et al. 2011",
    "002 Shein et al. 2015",
    "003 Dobra et al. 2009",
)


def _krishnamurthy(*numbers: int) -> tuple[Drawing, ...]:
    return tuple(
        Drawing(f"krishnamurthy-{n}", KRISHNAMURTHY, (f"Figure {n}",), krishnamurthy.FIGURES[n])
        for n in numbers
    )


DRAWINGS: tuple[Drawing, ...] = (
    *_krishnamurthy(4),
    *(
        Drawing(f"guirguis-{n}", GUIRGUIS, (f"Figure {n}",), _guirguis(n))
        for n in weave_cost.FIGURES
    ),
    *(
        Drawing(f"huebsch-{n}", HUEBSCH, (f"Figure {n}",), _huebsch(f"huebsch_{n}"))
        for n in (3, 4, 6, 5)
    ),
    Drawing("shein", SHEIN, (*(f"Figure {n}" for n in range(6, 12)), "Table 1", "Table 2"), _shein),
    *(Drawing(f"dobra-{n}", DOBRA, (f"Figure {n}",), _dobra(n)) for n in sketch_figures.FIGURES),
    *_krishnamurthy(10, 13, 14, 15, 16),
    Drawing("huebsch-appendix", HUEBSCH, ("Appendix",), _huebsch_appendix),
)


def draw_all(folder: Path, drawings: Sequence[Drawing], console: Console, *, quick: bool) -> None:
    """Draw what is not there yet, one after the other; each is kept as soon as it is finished."""
    folder.mkdir(parents=True, exist_ok=True)
    todo = [drawing for drawing in drawings if not (folder / drawing.name).exists()]
    if kept := len(drawings) - len(todo):
        console.print(f"{kept} of {len(drawings)} are in {folder} already")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        task = progress.add_task("", total=len(drawings), completed=kept)
        for drawing in todo:
            progress.update(task, description=f"{drawing.paper}: {', '.join(drawing.shows)}")
            seconds = _draw(folder, drawing, quick=quick)
            progress.console.print(f"{drawing.name}: {seconds:.0f} s, {folder / drawing.name}")
            progress.advance(task)


def _draw(folder: Path, drawing: Drawing, *, quick: bool) -> float:
    """Draw into a hidden folder, which is renamed at the end; the seconds that it took."""
    unfinished = folder / f".{drawing.name}"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    start = time.perf_counter()
    with (
        (unfinished / _TABLES).open("w", encoding="utf-8") as file,
        # Threads of linear algebra wait busily for each other, which would count as time.
        threadpool_limits(1),
    ):
        drawing.draw(unfinished, Console(file=file, width=_WIDTH), quick)
    seconds = time.perf_counter() - start
    facts = {
        "paper": drawing.paper,
        "shows": drawing.shows,
        "seconds": round(seconds, 1),
        "quick": quick,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    (unfinished / _FACTS).write_text(json.dumps(facts, indent=2), encoding="utf-8")
    unfinished.rename(folder / drawing.name)
    return seconds


def _show_list(folder: Path) -> None:
    for drawing in DRAWINGS:
        facts = folder / drawing.name / _FACTS
        taken = ""
        if facts.exists():
            taken = f"{json.loads(facts.read_text(encoding='utf-8'))['seconds']:.0f} s"
        click.echo(f"{drawing.name:18} {taken:>7}  {drawing.paper}: {', '.join(drawing.shows)}")


_NAMES = click.Choice([drawing.name for drawing in DRAWINGS])


@click.command()
@click.option("--quick", is_flag=True, help="Small input, to try the functions: no figure to show.")
@click.option("--only", type=_NAMES, multiple=True, help="Draw this one; may be repeated.")
@click.option("--again", type=_NAMES, multiple=True, help="Draw this one anew.")
@click.option("--list", "only_list", is_flag=True, help="List all, with the seconds they took.")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), default=FOLDER)
def main(
    folder: Path, *, quick: bool, only: Sequence[str], again: Sequence[str], only_list: bool
) -> None:
    """Measure and draw every figure of the papers that is not in the folder yet."""
    if only_list:
        _show_list(folder)
        return
    require_installed(("duckdb", "matplotlib", "threadpoolctl"))
    for name in again:
        shutil.rmtree(folder / name, ignore_errors=True)
    chosen = {*only, *again} or {drawing.name for drawing in DRAWINGS}
    try:
        draw_all(folder, [d for d in DRAWINGS if d.name in chosen], Console(), quick=quick)
    except KeyboardInterrupt:
        raise click.ClickException("stopped; the same command goes on from here") from None


if __name__ == "__main__":
    main()
