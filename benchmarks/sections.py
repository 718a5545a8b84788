"""A report as a list of sections: each has a table, and the targets that its numbers decide."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.targets import Target, show_targets

Cell = str | int | float | None


@dataclass(frozen=True, slots=True)
class Section:
    """A table, the numbers behind it, and the targets that they decide."""

    title: str
    headers: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    targets: Sequence[Target] = ()
    numbers: Sequence[Mapping[str, object]] = field(default=(), repr=False)


def as_json(sections: Sequence[Section]) -> list[dict[str, object]]:
    """All sections as JSON, with every number."""
    return [asdict(section) for section in sections]


def show(sections: Sequence[Section], console: Console) -> None:
    """Print a table for each section, then all targets."""
    for section in sections:
        table = compact(section.title, section.caption, section.headers)
        for row in section.rows:
            table.add_row(*("-" if cell is None else str(cell) for cell in row))
        console.print(table)
    if targets := [target for section in sections for target in section.targets]:
        show_targets(targets, console)


def compact(title: str, caption: str, headers: Sequence[str]) -> Table:
    """An empty table with little padding: the first column is words, the others are numbers."""
    table = Table(
        title=title, caption=caption or None, box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False
    )
    for place, header in enumerate(headers):
        table.add_column(header, justify="right" if place else "left", no_wrap=True)
    return table
