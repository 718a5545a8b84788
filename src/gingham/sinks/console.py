"""Answers on the screen."""

from __future__ import annotations

import pyarrow as pa
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gingham.sinks.answer import Answer

SHOWN = 20  # rows of an answer


class ConsoleSink:
    """A sink that prints the first rows of every answer."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console()

    def deliver(self, name: str, answer: Answer, number: int) -> None:
        """Print the first rows of an answer, under the name of its query."""
        # Text, not markup: a name or a value may have brackets.
        table = Table(title=Text(f"{name}, batch {number}: {answer.num_rows:,} rows"))
        shown = pa.Table.from_batches([next(answer.batches())])
        for column in shown.column_names:
            table.add_column(Text(column))
        for row in shown.slice(0, SHOWN).to_pylist():
            table.add_row(*(Text(str(value)) for value in row.values()))
        self._console.print(table)
