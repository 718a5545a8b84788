"""Workload files in SQL, with comments that name the queries and what they read.

-- stream: trades path=data/trades time=ts
-- table: listing path=data/listing key=symbol
-- name: large
SELECT count(*) AS n FROM trades WHERE vol > 1000 GROUP BY window(ts, '5 minutes');
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field

from gingham.cli.outline import (
    Entry,
    NamedQuery,
    Problems,
    WorkloadOutline,
    did_you_mean,
    shortened,
)

_HEADINGS = ("stream", "table", "sink", "name")
_HEADING = re.compile(rf"\s*--\s*({'|'.join(_HEADINGS)})\s*:(.*)", re.IGNORECASE)
# A comment in prose has neither fields nor a single word behind a colon.
_HEADING_LIKE = re.compile(r"\s*--\s*(\w{3,9})\s*:(?:.*\s\w+=\S.*|\s*\w[\w.-]*\s*)")
_LONGEST_HEADING = 20_000  # characters; a schema of a thousand columns is shorter
_SHAPES = {
    "stream": "-- stream: trades path=data/trades time=ts",
    "table": "-- table: listing path=data/listing key=symbol",
    "sink": "-- sink: path=answers format=parquet",
}


def read_sql(text: str, problems: Problems) -> WorkloadOutline:
    """The streams, tables, queries and sinks in the text of a SQL workload file."""
    outline = WorkloadOutline()
    entries = {"stream": outline.streams, "table": outline.tables, "sink": outline.sinks}
    for section in _sections(text):
        _refuse_misspelt(section, problems)
        if section.kind in entries:
            entries[section.kind].extend(_entry(section, problems))
        outline.queries.extend(_query(section, problems))
    return outline


@dataclass(frozen=True, slots=True)
class _Section:
    """A heading of a SQL workload file such as `-- name: large`, and the lines below it."""

    line: int
    kind: str
    rest: str
    body: list[str] = field(default_factory=list[str])


def _sections(text: str) -> list[_Section]:
    """A SQL workload file split at its headings; what is before the first has no kind."""
    sections = [_Section(0, "", "")]
    # Only at line feeds: other breaks may be part of a text in SQL.
    for line, content in enumerate(text.split("\n"), 1):
        heading = _HEADING.fullmatch(content)
        if heading:
            sections.append(_Section(line, heading[1].lower(), heading[2].strip()))
        else:
            sections[-1].body.append(content)
    return sections


def _refuse_misspelt(section: _Section, problems: Problems) -> None:
    """Add an error for comments in a section that look like headings with a misspelt word."""
    for offset, content in enumerate(section.body, 1):
        comment = _HEADING_LIKE.fullmatch(content)
        meant = comment and did_you_mean(comment[1], _HEADINGS)
        if comment and meant:
            problems.add(
                section.line + offset,
                f"a heading {shortened(comment[1])}",
                f"the headings of a workload are {', '.join(_HEADINGS)}",
                meant,
            )


def _entry(section: _Section, problems: Problems) -> Iterator[Entry]:
    """The stream, table or sink of a heading such as `trades path=data/trades time=ts`."""
    kind, line = section.kind, section.line
    try:
        if len(section.rest) > _LONGEST_HEADING:
            raise ValueError(f"it has {len(section.rest):,} characters")  # noqa: TRY301
        words = shlex.split(section.rest)
    except ValueError as error:
        problems.add(line, f"{kind}: {section.rest[:100]}", str(error).lower(), _SHAPES[kind])
        return
    fields: dict[str, str] = {}
    for position, word in enumerate(words):
        name, equals, value = word.partition("=")
        if equals and name in fields:
            problems.add(
                line,
                f"{shortened(name)} of a {kind} stands twice",
                "only one can count",
                "one of the two",
            )
        elif equals:
            fields[name] = value
        elif position == 0 and kind != "sink":
            fields["name"] = word
        else:
            problems.add(
                line,
                f"{shortened(word)} in a {kind}",
                "fields are written name=value, with quotes around a value that has spaces",
                _SHAPES[kind],
            )
    yield Entry(line, fields)


def _query(section: _Section, problems: Problems) -> Iterator[NamedQuery]:
    """The query below a `-- name:` heading of a SQL file; below others only comments may be."""
    name = section.rest if section.kind == "name" else ""
    sql_lines = [i for i, line in enumerate(section.body) if not _is_blank_or_comment(line)]
    if name and sql_lines:
        sql = "\n".join(section.body[sql_lines[0] :]).rstrip()
        yield NamedQuery(name, sql.removesuffix(";"), section.line + 1 + sql_lines[0])
    elif sql_lines:
        problems.add(
            section.line + 1 + sql_lines[0],
            f"SQL without a name: {section.body[sql_lines[0]].strip()[:100]}",
            "answers are found by name",
            "-- name: big_caps, on the line before",
        )
    elif section.kind == "name":
        problems.add(
            section.line,
            f"query {shortened(name)} has no SQL",
            "a query is a name and a SELECT",
            "SELECT ... on the lines after its name",
        )


def _is_blank_or_comment(line: str) -> bool:
    """Whether a line of a SQL workload file is empty or a comment."""
    return not line.strip() or line.lstrip().startswith("--")
