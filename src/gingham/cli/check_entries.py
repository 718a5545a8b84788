"""The entries of a workload file become a workload; errors are collected."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from gingham.cli.check_fields import Part, check_fields, subject_of
from gingham.cli.check_together import (
    ONLY_ONE,
    gathered,
    refuse_missing,
    refuse_out_of_place,
    refuse_some_trees,
    with_unique_names,
    with_unique_sources,
)
from gingham.cli.keys import SINKS, SOURCES
from gingham.cli.machine_cost import machine_cost
from gingham.cli.outline import Entry, Problems
from gingham.cli.workload import NamedQuery, Sink, Source, Workload
from gingham.core.errors import WorkloadError

_SOURCES = ("stream", "table", "relation")


def check_entries(entries: Sequence[Entry], folder: Path, problems: Problems) -> Workload:
    """The workload without what is wrong in its file; errors are collected.

    Paths in it are relative to the folder of the file.
    """
    entries = gathered(entries, problems)
    checked = [check_fields(entry, folder, problems) for entry in entries]
    refuse_missing(entries, problems)
    refuse_out_of_place(entries, problems)
    parts = [part for part in checked if part is not None]

    def of(*kinds: str) -> list[Part]:
        return [part for part in parts if part.entry.kind in kinds]

    named = list(with_unique_names(of("query", "sketch"), problems))
    queries = [part for part in named if part.entry.kind == "query"]
    refuse_some_trees(queries, problems)
    found = (_source(part, problems) for part in of(*_SOURCES))
    sources = tuple(with_unique_sources((s for s in found if s is not None), problems))
    known = {source.name for source in sources}
    return Workload(
        sources=sources,
        queries=tuple(map(_query, queries)),
        sketches=tuple(_query(part) for part in named if part.entry.kind == "sketch"),
        sink=next(map(_sink, of("sink")), None),
        calls=_calls(of(*ONLY_ONE), named, problems),
        unreadable=tuple(name for name in _source_names(entries) if name not in known),
    )


def _calls(
    parts: Sequence[Part], queries: Sequence[Part], problems: Problems
) -> dict[str, dict[str, Any]]:
    """The arguments of calls that are the same for all streams and queries, by call."""
    calls: dict[str, dict[str, Any]] = {}
    for call in ("loom", "run", "plan", "start", "settings", "sketch", "estimate"):
        calls[call] = {k: v for part in parts for k, v in part.arguments(call).items()}

    def by_name(key: str) -> dict[str, Any]:
        """The values of a key that queries have, by their names."""
        return {q.values["name"]: q.values[key] for q in queries if key in q.values}

    if trees := by_name("tree"):
        calls["run"]["trees"] = calls["plan"]["trees"] = trees
    if weights := by_name("weight"):
        calls["sketch"]["weights"] = weights
    for part in parts:
        if part.entry.kind == "cost":
            calls["loom"] |= _cost(part, problems)
    return calls


def _query(part: Part) -> NamedQuery:
    """A query or sketch of the workload."""
    line = part.entry.line_of("sql")
    return NamedQuery(part.values["name"], part.values["sql"], line, part.arguments("add"))


def _sink(part: Part) -> Sink:
    """The sink of the workload."""
    return Sink(part.values["path"], part.values.get("format", SINKS[0]))


def _source_names(entries: Iterable[Entry]) -> Iterator[str]:
    """The names of all streams, tables and relations in the file, right or wrong."""
    for entry in entries:
        name = entry.fields.get("name")
        if entry.kind in _SOURCES and isinstance(name, str):
            yield name


def _source(part: Part, problems: Problems) -> Source | None:
    """A stream, table or relation; None if its files do not say their types."""
    values, entry = part.values, part.entry
    file_format = values.get("format", SOURCES[0])
    if file_format in ("csv", "json") and not values.get("schema"):
        problems.add(
            entry.line,
            f"{subject_of(entry)} without a schema",
            f"{file_format} files do not say which types their columns have",
            "schema: ts TIMESTAMP, symbol STRING, price DOUBLE",
        )
        return None
    return Source(
        kind=entry.kind,
        name=values["name"],
        path=values["path"],
        format=file_format,
        schema=values.get("schema"),
        options=values.get("options", {}),
        arguments=part.arguments(entry.kind),
        line=entry.line,
    )


def _cost(part: Part, problems: Problems) -> dict[str, Any]:
    """The costs of the machine as an argument of the loom; nothing if they have errors."""
    try:
        return {"cost": machine_cost(part.values.get("path"), part.arguments("cost"))}
    except WorkloadError as error:
        problems.note(part.entry.line_of("path"), error)
        return {}
