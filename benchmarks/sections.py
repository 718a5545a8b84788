"""A report as a list of sections: a table each, promises with what became of them, JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.targets import Target, show_targets

Cell = str | int | float | None


@dataclass(frozen=True, slots=True)
class Section:
    """A table, the numbers behind it, and the promises that it decides."""

    title: str
    headers: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    targets: Sequence[Target] = ()
    numbers: Sequence[Mapping[str, object]] = field(default=(), repr=False)


def as_json(sections: Sequence[Section]) -> list[dict[str, object]]:
    """Every number."""
    return [asdict(section) for section in sections]


def show(sections: Sequence[Section], console: Console) -> None:
    """Print a table for each section, and what was promised."""
    for section in sections:
        table = compact(section.title, section.caption, section.headers)
        for row in section.rows:
            table.add_row(*("-" if cell is None else str(cell) for cell in row))
        console.print(table)
    if targets := [target for section in sections for target in section.targets]:
        show_targets(targets, console)


def compact(title: str, caption: str, headers: Sequence[str]) -> Table:
    """An empty table: words on the left, numbers right of them."""
    table = Table(
        title=title, caption=caption or None, box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False
    )
    for place, header in enumerate(headers):
        table.add_column(header, justify="right" if place else "left", no_wrap=True)
    return table
