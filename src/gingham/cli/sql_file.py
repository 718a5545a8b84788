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

from gingham.cli.keys import KINDS
from gingham.cli.outline import Entry, Problems, did_you_mean, shortened

# The headings, and the kind of the entry that each begins.
_HEADINGS = {
    "stream": "stream",
    "table": "table",
    "relation": "relation",
    "name": "query",
    "sketches": "sketches",
    "sketch": "sketch",
    "run": "run",
    "cost": "cost",
    "sink": "sink",
}
_HEADING = re.compile(rf"\s*--\s*({'|'.join(_HEADINGS)})\s*:(.*)", re.IGNORECASE)
# Also words of prose, `-- cost: about an hour`: a heading if fields or a single word follow.
_ALSO_PROSE = ("relation", "sketches", "sketch", "run", "cost")
_NO_PROSE = re.compile(r".*[\w.]+=.*|\S*")
# A comment in prose has neither fields nor a single word behind a colon.
_HEADING_LIKE = re.compile(r"\s*--\s*(\w{3,9})\s*:(?:.*\s\w+=\S.*|\s*\w[\w.-]*\s*)")
_LONGEST_HEADING = 20_000  # characters; a schema of a thousand columns is shorter
_SHAPES = {
    "stream": "-- stream: trades path=data/trades time=ts",
    "table": "-- table: listing path=data/listing key=symbol",
    "relation": "-- relation: orders path=data/orders",
    "query": "-- name: big_caps backfill=true",
    "sketches": "-- sketches: budget=20000",
    "sketch": "-- sketch: lines",
    "run": '-- run: checkpoint=state idle="30 seconds"',
    "cost": "-- cost: costs.json",
    "sink": "-- sink: path=answers format=parquet",
}
# What the first word of a heading is, if it is no name=value.
_FIRST_WORDS = {
    **dict.fromkeys(("stream", "table", "relation", "query", "sketch"), "name"),
    "cost": "path",
}
_OF_SQL = ("query", "sketch")


def read_sql(text: str, problems: Problems) -> list[Entry]:
    """All entries in the text of a SQL workload file."""
    entries: list[Entry] = []
    for section in _sections(text):
        _refuse_misspelt(section, problems)
        entries.extend(_with_sql(section, _entry(section, problems), problems))
    return entries


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
        word, rest = (heading[1].lower(), heading[2].strip()) if heading else ("", "")
        if word and (word not in _ALSO_PROSE or _NO_PROSE.fullmatch(rest)):
            sections.append(_Section(line, _HEADINGS[word], rest))
        else:
            sections[-1].body.append(content)
    return sections


def _refuse_misspelt(section: _Section, problems: Problems) -> None:
    """Add an error for comments in a section that look like headings with a misspelt word."""
    for offset, content in enumerate(section.body, 1):
        comment = _HEADING_LIKE.fullmatch(content)
        # `-- host: db1` is near to "cost", which is short: without fields it is prose.
        words = [word for word in _HEADINGS if "=" in content or word not in ("run", "cost")]
        meant = comment and did_you_mean(comment[1], words)
        if comment and meant:
            problems.add(
                section.line + offset,
                f"a heading {shortened(comment[1])}",
                f"the headings of a workload are {', '.join(_HEADINGS)}",
                meant,
            )


def _entry(section: _Section, problems: Problems) -> Entry | None:
    """The entry of a heading such as `trades path=data/trades time=ts`; None if it has none."""
    kind, line = section.kind, section.line
    if not kind:
        return None
    try:
        if len(section.rest) > _LONGEST_HEADING:
            raise ValueError(f"it has {len(section.rest):,} characters")  # noqa: TRY301
        words = shlex.split(section.rest)
    except ValueError as error:
        problems.add(line, f"{kind}: {section.rest[:100]}", str(error).lower(), _SHAPES[kind])
        return None
    noun = KINDS[kind].noun
    fields: dict[str, str] = {}
    for position, word in enumerate(words):
        name, equals, value = word.partition("=")
        if equals and name in fields:
            problems.add(
                line,
                f"{shortened(name)} of {noun} stands twice",
                "only one can count",
                "one of the two",
            )
        elif equals:
            fields[name] = value
        elif position == 0 and kind in _FIRST_WORDS:
            fields[_FIRST_WORDS[kind]] = word
        else:
            problems.add(
                line,
                f"{shortened(word)} in {noun}",
                "fields are written name=value, with quotes around a value that has spaces",
                _SHAPES[kind],
            )
    return Entry(kind, line, fields)


def _with_sql(section: _Section, entry: Entry | None, problems: Problems) -> Iterator[Entry]:
    """The entry of a section, with the SQL below it if it is a query; others have only comments."""
    sql_lines = [i for i, line in enumerate(section.body) if not _is_blank_or_comment(line)]
    if section.kind in _OF_SQL and entry is None:
        return  # what is wrong with its heading was said
    name = entry.fields.get("name") if entry and entry.kind in _OF_SQL else None
    if entry and name and sql_lines:
        sql = "\n".join(section.body[sql_lines[0] :]).rstrip().removesuffix(";")
        below = {"sql": section.line + 1 + sql_lines[0]}
        yield Entry(entry.kind, entry.line, {**entry.fields, "sql": sql}, below)
        return
    if sql_lines:
        problems.add(
            section.line + 1 + sql_lines[0],
            f"SQL without a name: {section.body[sql_lines[0]].strip()[:100]}",
            "answers are found by name",
            "-- name: big_caps, on the line before",
        )
    elif entry and entry.kind in _OF_SQL:
        problems.add(
            section.line,
            f"{entry.kind} {shortened(str(name or ''))} has no SQL",
            f"a {entry.kind} is a name and a SELECT",
            "SELECT ... on the lines after its name",
        )
    if entry and entry.kind not in _OF_SQL:
        yield entry


def _is_blank_or_comment(line: str) -> bool:
    """Whether a line of a SQL workload file is empty or a comment."""
    return not line.strip() or line.lstrip().startswith("--")
