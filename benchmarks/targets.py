"""Targets: what the design promises, and whether a measurement meets it."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Target:
    """A promise and the measurement, as text; `met` is None where there is nothing to compare."""

    what: str
    wanted: str
    measured: str
    met: bool | None


@dataclass(frozen=True, slots=True)
class NumericTarget:
    """A promise about one number, such as a ratio; `measured` is None if it was not measured."""

    what: str
    wanted: str
    measured: float | None
    met: bool | None


def show_targets(targets: Sequence[Target], console: Console) -> None:
    """Print a table of targets, each with its verdict."""
    table = Table(title="targets", box=SIMPLE_HEAD)
    for header in ("", "wanted", "measured", "met"):
        table.add_column(header)
    for target in targets:
        met = {True: "[green]yes", False: "[red]no", None: "-"}[target.met]
        table.add_row(target.what, target.wanted, target.measured, met)
    console.print(table)
