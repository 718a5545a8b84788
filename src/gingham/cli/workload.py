"""Workload files: a stream, the tables it is joined with, the queries over it, and a sink."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gingham.cli.outline import (
    Entry,
    NamedQuery,
    Problems,
    WorkloadOutline,
    did_you_mean,
    shortened,
)
from gingham.cli.sql_file import read_sql
from gingham.cli.yaml_file import read_yaml
from gingham.core.errors import GinghamError, WorkloadError
from gingham.core.file_names import check_name
from gingham.core.time import parse_duration

MOST_BYTES = 8_000_000  # of a workload file
SOURCES = ("parquet", "csv", "json")
SINKS = ("parquet", "csv")
_STREAM_OPTIONS = ("format", "schema", "watermark", "checkpoint", "trigger")


@dataclass(frozen=True, slots=True)
class Source:
    """Files that a workload reads as one stream or table."""

    name: str
    path: str
    format: str
    schema: str | None
    line: int


@dataclass(frozen=True, slots=True)
class StreamSource:
    """The stream of a workload file, which its queries read FROM."""

    source: Source
    time: str
    watermark: str | None
    # With a checkpoint, the stream also reads files that arrive later.
    checkpoint: str | None = None
    trigger: str | None = None


@dataclass(frozen=True, slots=True)
class TableSource:
    """A table of a workload file that rows of the stream are looked up in by its key."""

    source: Source
    key: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sink:
    """Where answers of a workload go: a folder with one folder per query."""

    path: str
    format: str


@dataclass(frozen=True, slots=True)
class Workload:
    """The content of a workload file; parts with errors are missing."""

    stream: StreamSource | None
    tables: tuple[TableSource, ...]
    queries: tuple[NamedQuery, ...]
    sink: Sink | None
    unreadable: tuple[str, ...] = ()  # streams and tables whose files are not there


def read_workload(file: Path) -> tuple[Workload, Problems]:
    """Read a workload file; all errors in it are collected instead of raised."""
    reader = _readers.get(file.suffix.lower())
    if reader is None:
        raise WorkloadError(
            f"{file}: {file.suffix or 'no ending'} is no kind of workload file",
            "the ending says how to read it",
            f"a name that ends in {', '.join(_readers)}",
        )
    text = _read_text(file)
    problems = Problems(str(file))
    outline = reader(text, problems)
    if outline is None:
        return Workload(None, (), (), None), problems
    return _OutlineChecker(file.parent, outline, problems).workload(), problems


def _read_text(file: Path) -> str:
    """The text of a workload file, or an error that says why there is none."""
    instead = "the path of a workload file; gingham example DIR writes one to start from"
    try:
        if file.exists() and not (file.is_file() or file.is_dir()):
            raise WorkloadError(f"{file} cannot be read", "it is a device or a pipe", instead)
        with file.open("rb") as stream:
            content = stream.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise WorkloadError(
                f"{file} is larger than {MOST_BYTES // 1_000_000} MB",
                "a workload file holds queries, not data; thousands of them are smaller",
                "several files, or Loom.add in Python",
            )
        # An editor on Windows may put a mark at the start.
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except OSError as error:
        why = error.strerror or str(error)
        raise WorkloadError(f"{file} cannot be read", why, instead) from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise WorkloadError(
            f"{file}:{line} cannot be read",
            f"it is not UTF-8: byte {error.object[error.start]:#04x} on line {line}",
            "the file saved again as UTF-8",
        ) from None
    except ValueError as error:  # a NUL in the path
        raise WorkloadError(f"{str(file)!r} cannot be read", str(error), instead) from None


def is_local(path: str) -> bool:
    """True for a path of this machine, False for one such as s3://bucket/trades."""
    # Two letters at least: C:/trades is a local path.
    return re.match(r"[A-Za-z][\w+.-]+:/", path) is None


_readers: dict[str, Callable[[str, Problems], WorkloadOutline | None]] = {
    ".yaml": read_yaml,
    ".yml": read_yaml,
    ".sql": read_sql,
}


class _OutlineChecker:
    """Turns an outline into a workload and collects its errors.

    Paths in it are relative to the folder of the file.
    """

    def __init__(self, folder: Path, outline: WorkloadOutline, problems: Problems) -> None:
        self.folder = folder
        self.outline = outline
        self.problems = problems

    def workload(self) -> Workload:
        """The workload without what is wrong in the file; errors are collected."""
        outline = self.outline
        tables = [self._table(entry) for entry in outline.tables]
        return Workload(
            stream=self._stream(),
            tables=tuple(table for table in tables if table is not None),
            queries=tuple(self._queries()),
            sink=self._sink(),
        )

    def _stream(self) -> StreamSource | None:
        """The stream of the workload file; None if it is missing or has errors."""
        if not self.outline.streams:
            self.problems.add(
                1,
                "no stream",
                "queries read from one",
                "stream: {name: trades, path: data/trades, time: ts}, or in SQL "
                "-- stream: trades path=data/trades time=ts",
            )
        entry = self._only(self.outline.streams, "stream")
        fields = entry and self._fields(entry, "stream", ("name", "path", "time"), _STREAM_OPTIONS)
        if not entry or not fields:
            return None
        for duration in ("watermark", "trigger"):
            try:
                parse_duration(fields.get(duration) or "0 s")
            except GinghamError as error:
                self.problems.note(entry.line, error.about(duration))
        checkpoint = fields.get("checkpoint")
        if checkpoint and not fields.get("watermark"):
            self.problems.add(
                entry.line,
                "a checkpoint without a watermark",
                "nobody knows when a window of a stream is complete",
                "watermark: 10 seconds, which is how late rows may come",
            )
        source = self._source(entry, "stream", fields)
        return source and StreamSource(
            source=source,
            time=fields["time"],
            watermark=fields.get("watermark"),
            checkpoint=self._path(checkpoint) if checkpoint else None,
            trigger=fields.get("trigger"),
        )

    def _table(self, entry: Entry) -> TableSource | None:
        """A table of the workload file; None if it has errors."""
        fields = self._fields(entry, "table", ("name", "path", "key"), ("format", "schema"))
        if not fields:
            return None
        keys = tuple(key.strip() for key in fields["key"].split(","))
        source = self._source(entry, "table", fields)
        return source and TableSource(source, keys)

    def _sink(self) -> Sink | None:
        """The sink of the workload file; None if it has none or it has errors."""
        entry = self._only(self.outline.sinks, "sink")
        fields = entry and self._fields(entry, "sink", ("path",), ("format",))
        if not entry or not fields:
            return None
        kind = self._format(entry, "sink", fields, SINKS)
        return Sink(self._path(fields["path"]), kind) if kind else None

    def _queries(self) -> Iterator[NamedQuery]:
        """The queries of the workload file whose names are valid and unique."""
        lines: dict[str, int] = {}  # by query name
        for query in self.outline.queries:
            try:
                check_name(query.name, "query", WorkloadError)
            except WorkloadError as error:
                self.problems.note(query.line, error)
                continue
            if not re.fullmatch(r"\w[\w.-]*", query.name):
                self.problems.add(
                    query.line,
                    f"{query.name!r} as the name of a query",
                    "a name is the name of a folder too",
                    "letters, digits, and _ - . between them",
                )
            elif query.name in lines:
                self.problems.add(
                    query.line,
                    f"two queries named {query.name!r}",
                    f"answers are found by name, and line {lines[query.name]} has it already",
                    "another name",
                )
            else:
                yield query
            lines.setdefault(query.name, query.line)
        if not lines:
            self.problems.add(
                1,
                "no queries",
                "there is nothing to answer",
                "queries: {name: SELECT ...}, or in SQL a line -- name: ... before each SELECT",
            )

    def _only(self, entries: Sequence[Entry], kind: str) -> Entry | None:
        """The one stream or sink of a workload file; any further entry is an error."""
        for entry in entries[1:]:
            self.problems.add(
                entry.line,
                f"a second {kind}",
                f"a workload has one, and line {entries[0].line} has it already",
                "a file of its own",
            )
        return entries[0] if entries else None

    def _fields(
        self, entry: Entry, kind: str, required: Sequence[str], optional: Sequence[str]
    ) -> dict[str, str] | None:
        """All fields of a workload entry as texts; None if a required one is missing."""
        allowed = (*required, *optional)
        for field in entry.fields:
            if field not in allowed:
                self.problems.add(
                    entry.line,
                    f"a {kind} has no field {shortened(field)}",
                    f"its fields are {', '.join(allowed)}",
                    did_you_mean(field, allowed) or f"without {field[:40]}",
                )
        missing = [field for field in required if not entry.fields.get(field)]
        if missing:
            self.problems.add(
                entry.line,
                f"a {kind} without {', '.join(missing)}",
                f"{', '.join(required)} must be given",
                ", ".join(f"{field}: ..." for field in missing),
            )
            return None
        return {
            field: value if isinstance(value, str) else ",".join(value)
            for field, value in entry.fields.items()
        }

    def _source(self, entry: Entry, kind: str, fields: dict[str, str]) -> Source | None:
        """The path, format and schema of a stream or table; None if it has errors."""
        name, schema = fields["name"], fields.get("schema")
        file_format = self._format(entry, f"{kind} {name!r}", fields, SOURCES)
        if file_format in ("csv", "json") and not schema:
            self.problems.add(
                entry.line,
                f"{kind} {name!r} without a schema",
                f"{file_format} files do not say which types their columns have",
                "schema: ts TIMESTAMP, symbol STRING, price DOUBLE",
            )
            return None
        if file_format is None:
            return None
        return Source(
            name=name,
            path=self._path(fields["path"]),
            format=file_format,
            schema=schema,
            line=entry.line,
        )

    def _format(
        self, entry: Entry, subject: str, fields: dict[str, str], formats: Sequence[str]
    ) -> str | None:
        """The field `format` of an entry, by default the first of these; None if another."""
        file_format = fields.get("format", formats[0]).lower()
        if file_format in formats:
            return file_format
        self.problems.add(
            entry.line,
            f"{subject}: format {file_format!r}",
            "it is none that Gingham knows",
            f"format: one of {', '.join(formats)}",
        )
        return None

    def _path(self, path: str) -> str:
        """A path of the workload file; a local one is relative to the file's folder."""
        return str(self.folder / path) if is_local(path) else path
