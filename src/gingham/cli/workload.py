"""The content of a workload file: what is read, the queries over it, and where answers go."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Source:
    """Files that a workload reads as a stream, a table or a relation: its kind."""

    kind: str
    name: str
    path: str
    format: str
    schema: str | None
    options: Mapping[str, str] = field(repr=False)  # of Spark's reader; may hold passwords
    arguments: Mapping[str, Any]  # of `loom.stream` or `loom.table`
    line: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class NamedQuery:
    """A query of a workload file, and the line on which its SQL starts."""

    name: str
    sql: str
    line: int
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])  # of `loom.add`


@dataclass(frozen=True, slots=True)
class Sink:
    """Where answers of a workload go: a folder with one folder per query."""

    path: str
    format: str


@dataclass(frozen=True, slots=True)
class Workload:
    """The content of a workload file; parts with errors are missing."""

    sources: tuple[Source, ...]
    queries: tuple[NamedQuery, ...]
    sketches: tuple[NamedQuery, ...]  # estimated, over joins
    sink: Sink | None
    calls: Mapping[str, Mapping[str, Any]]  # the arguments of calls, such as start and run
    unreadable: tuple[str, ...] = ()  # sources with errors, or whose files are not there

    @property
    def streams(self) -> tuple[Source, ...]:
        """The sources that queries read FROM."""
        return tuple(source for source in self.sources if source.kind == "stream")

    @property
    def stream_names(self) -> str:
        """The names of all streams, for messages; of all relations if there is no stream."""
        return ", ".join(source.name for source in self.streams or self.sources)

    @property
    def summary(self) -> str:
        """What there is, in one line: `5 queries and 2 sketches over trades`."""
        queries, sketches = len(self.queries), len(self.sketches)
        counted = [
            f"{queries:,} {'query' if queries == 1 else 'queries'}" if queries else "",
            f"{sketches:,} {'sketch' if sketches == 1 else 'sketches'}" if sketches else "",
        ]
        return f"{' and '.join(filter(None, counted))} over {self.stream_names}"

    @property
    def checkpoint(self) -> str | None:
        """The folder from which streams go on; without one, files that are there are all."""
        return self.arguments("start").get("checkpoint")

    def arguments(self, call: str) -> dict[str, Any]:
        """The arguments of a call for which the file has keys."""
        return dict(self.calls.get(call, {}))
