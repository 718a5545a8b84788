"""The terminal: what is printed to stdout and stderr, errors in three parts, progress bars."""

from collections.abc import Iterable
from itertools import islice

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from gingham.core.errors import GinghamError
from gingham.core.secrets import without_secrets

out = Console()
err = Console(stderr=True)

SHOWN_ERRORS = 50  # more are not read, and the first of them often explain the others


def show_errors(errors: Iterable[GinghamError]) -> None:
    """Print errors on the terminal's stderr, in their three parts."""
    errors = iter(errors)
    for error in islice(errors, SHOWN_ERRORS):
        # Text, not markup: SQL has brackets of its own.
        err.print(Text(str(error), style="red"), soft_wrap=True)
    if left := sum(1 for _ in errors):
        err.print(Text(f"... and {left:,} more errors", style="red"))


def say(text: str) -> None:
    """Print a line on the terminal's stderr as it is, but for secrets."""
    err.print(Text(without_secrets(text)), soft_wrap=True)


def progress() -> Progress:
    """Progress bars that vanish when they end; disabled where stderr is no terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    hidden = not err.is_terminal
    return Progress(*columns, TimeElapsedColumn(), console=err, transient=True, disable=hidden)
