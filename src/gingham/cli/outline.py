"""What a workload file says and where, before anyone asks whether it makes sense."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gingham.core.errors import GinghamError, WorkloadError

Value = str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """A stream, a table or a sink as it is written: fields by name, and its line."""

    line: int
    fields: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class NamedQuery:
    """A query, and the line of the file on which its SQL starts."""

    name: str
    sql: str
    line: int


@dataclass(frozen=True, slots=True)
class Outline:
    """Everything that a file mentions, in the order in which it does; YAML and SQL alike."""

    streams: list[Entry] = field(default_factory=list[Entry])
    tables: list[Entry] = field(default_factory=list[Entry])
    sinks: list[Entry] = field(default_factory=list[Entry])
    queries: list[NamedQuery] = field(default_factory=list[NamedQuery])


class Problems:
    """All that is wrong with a file: nobody mends a file one error at a time.

    >>> problems = Problems("market.yaml")
    >>> problems.add(7, "no window", "every query needs one", "window(ts, '5 minutes')")
    >>> problems.add(2, "no path", "the stream is read from files", "path: data/trades")
    >>> [error.what for error in problems.errors]
    ['market.yaml:2: no path', 'market.yaml:7: no window']
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self._found: list[tuple[int, GinghamError]] = []

    @property
    def errors(self) -> list[GinghamError]:
        """The errors in the order of the file, each with its place."""
        ordered = sorted(self._found, key=lambda found: found[0])
        return [error.about(f"{self.file}:{line}") for line, error in ordered]

    def add(self, line: int, what: str, why: str, instead: str) -> None:
        """Remember something that is wrong with the file itself."""
        self._found.append((line, WorkloadError(what, why, instead)))

    def note(self, line: int, error: GinghamError) -> None:
        """Remember what somebody else had to say about a line."""
        self._found.append((line, error))

    def raise_any(self) -> None:
        """Raise all of them together, if there are any."""
        if self._found:
            raise ExceptionGroup(f"problems in {self.file}", self.errors)
