"""The entries of a workload file with their lines, before they are checked."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gingham.core.errors import GinghamError, WorkloadError

Value = str | tuple[str, ...]

# Keys with keys of their own: `options: {sep: ;}` is the field `options.sep`, as it is in SQL.
NESTED = ("options", "changes")


@dataclass(frozen=True, slots=True)
class Entry:
    """A part of a workload file as it is written: its kind, its line, and its fields by name.

    The same for YAML and SQL; queries are entries with the fields `name` and `sql`.
    """

    kind: str
    line: int
    fields: Mapping[str, Value]
    lines: Mapping[str, int] = field(default_factory=dict[str, int])  # of fields further down

    def line_of(self, name: str) -> int:
        """The line of a field."""
        return self.lines.get(name, self.line)


class Problems:
    """All errors of a workload file with their lines, to be reported together.

    >>> problems = Problems("market.yaml")
    >>> problems.add(7, "no window", "every query needs one", "window(ts, '5 minutes')")
    >>> problems.add(2, "no path", "the stream is read from files", "path: data/trades")
    >>> [error.what for error in problems.errors]
    ['market.yaml:2: no path', 'market.yaml:7: no window']
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self._errors: list[tuple[int, GinghamError]] = []  # with lines

    @property
    def errors(self) -> list[GinghamError]:
        """The errors of a workload file in the order of their lines, each with file and line."""
        ordered = sorted(self._errors, key=lambda line_and_error: line_and_error[0])
        return [error.about(f"{self.file}:{line}") for line, error in ordered]

    def add(self, line: int, what: str, why: str, instead: str) -> None:
        """Add an error of the workload file itself, at this line."""
        self._errors.append((line, WorkloadError(what, why, instead)))

    def note(self, line: int, error: GinghamError) -> None:
        """Add an error that was raised for the entry on this line of the workload file."""
        self._errors.append((line, error))

    def raise_any(self) -> None:
        """Raise all errors of the workload file as one group, if there are any."""
        if self._errors:
            raise ExceptionGroup(f"problems in {self.file}", self.errors)


def did_you_mean(given: str, allowed: Sequence[str]) -> str | None:
    """The question whether one of the allowed words was meant; None if none is close.

    >>> did_you_mean("pth", ("name", "path"))
    "did you mean 'path'?"
    """
    close = difflib.get_close_matches(given[:100].lower(), allowed, n=1)
    return f"did you mean {close[0]!r}?" if close else None


def shortened(given: str) -> str:
    """A word of a workload file, quoted for an error, cut if it is long.

    >>> shortened("x" * 1000)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'..."
    """
    return repr(given) if len(given) <= 40 else f"{given[:40]!r}..."
