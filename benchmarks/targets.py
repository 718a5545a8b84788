"""What was promised, and what became of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Target:
    """A promise, and what was measured; None where there is nothing to compare."""

    what: str
    wanted: str
    measured: str
    met: bool | None


def show_targets(targets: Sequence[Target], console: Console) -> None:
    """Print them, each with its verdict."""
    table = Table(title="targets", box=SIMPLE_HEAD)
    for header in ("", "wanted", "measured", "met"):
        table.add_column(header)
    for target in targets:
        met = {True: "[green]yes", False: "[red]no", None: "-"}[target.met]
        table.add_row(target.what, target.wanted, target.measured, met)
    console.print(table)
