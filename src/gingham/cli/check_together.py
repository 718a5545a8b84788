"""What the entries of a workload file must be together: complete, unique, and of use."""

import re
from collections.abc import Iterable, Iterator, Sequence

from gingham.cli.check_fields import Part
from gingham.cli.keys import KINDS, Key
from gingham.cli.outline import Entry, Problems, Value
from gingham.cli.workload import Source
from gingham.core.errors import WorkloadError
from gingham.core.file_names import check_name

ONLY_ONE = ("run", "cost", "sketches", "sink")
# Keys of the run that a file with one stream may have beside that stream's path.
_BESIDE_STREAM = ("checkpoint", "trigger")


def gathered(entries: Sequence[Entry], problems: Problems) -> list[Entry]:
    """The entries with one of each kind of which there can be one; others are errors.

    What the run has beside a stream goes to the run.
    """
    kept: list[Entry] = []
    only: dict[str, Entry] = {}
    for entry in entries:
        if entry.kind in only:
            problems.add(
                entry.line,
                f"a second part {entry.kind!r}",
                f"a workload has one, and line {only[entry.kind].line} has it already",
                "one of the two, or a file of its own",
            )
            continue
        if entry.kind in ONLY_ONE:
            only[entry.kind] = entry
        kept.append(entry)
    return _with_run(kept, problems)


def refuse_missing(entries: Sequence[Entry], problems: Problems) -> None:
    """Add errors if there is no stream, nothing to answer, or sketches without a budget."""
    kinds = {entry.kind: entry.line for entry in reversed(entries)}  # the first of each
    if "stream" not in kinds and ("query" in kinds or not kinds.keys() & {"table", "relation"}):
        problems.add(
            1,
            "no stream",
            "queries read from one",
            "stream: {name: trades, path: data/trades, time: ts}, or in SQL "
            "-- stream: trades path=data/trades time=ts",
        )
    if "query" not in kinds and "sketch" not in kinds:
        problems.add(
            1,
            "no queries",
            "there is nothing to answer",
            "queries: {name: SELECT ...}, or in SQL a line -- name: ... before each SELECT",
        )
    elif "sketches" in kinds and "sketch" not in kinds:
        problems.add(
            kinds["sketches"],
            "sketches without queries",
            "their budget is for queries over joins",
            "sketches: {budget: 20000, queries: {name: SELECT ...}}, or in SQL a line "
            "-- sketch: ... before each",
        )
    if "relation" in kinds and "sketch" not in kinds:
        problems.add(
            kinds["relation"],
            "relations without sketches",
            "only sketches join rows that have neither an event time nor a unique key",
            "a stream or a table, or queries for sketches",
        )
    if "sketch" in kinds and "sketches" not in kinds:
        problems.add(
            kinds["sketch"],
            "sketches without a budget",
            "their memory is divided among them",
            "sketches: {budget: 20000, ...}, or in SQL -- sketches: budget=20000",
        )


def refuse_out_of_place(entries: Sequence[Entry], problems: Problems) -> None:
    """Add an error for each key that would have no effect in this workload."""
    run = next(entry for entry in entries if entry.kind == "run")
    is_stream = bool(run.fields.get("checkpoint"))
    is_exact = any(entry.kind == "query" for entry in entries)
    for entry in entries:
        for field in entry.fields:
            key = KINDS[entry.kind].by_name.get(field)
            reasons = (
                ()
                if key is None
                else _out_of_place(key, entry, is_stream=is_stream, is_exact=is_exact)
            )
            for what, why, instead in reasons:
                problems.add(entry.line_of(field), what, why, instead)
        if is_stream and entry.kind == "stream" and not entry.fields.get("watermark"):
            problems.add(
                entry.line,
                "a checkpoint without a watermark",
                "nobody knows when a window of a stream is complete",
                "watermark: 10 seconds, which is how late rows may come",
            )


def with_unique_names(parts: Iterable[Part], problems: Problems) -> Iterator[Part]:
    """The queries and sketches whose names are valid and unique."""
    lines: dict[str, int] = {}  # by name
    for part in parts:
        name, kind, line = part.values["name"], part.entry.kind, part.entry.line
        try:
            check_name(name, kind, WorkloadError)
        except WorkloadError as error:
            problems.note(line, error)
            continue
        if not re.fullmatch(r"\w[\w.-]*", name):
            problems.add(
                line,
                f"{name!r} as the name of a {kind}",
                "a name is the name of a folder too",
                "letters, digits, and _ - . between them",
            )
        elif name in lines:
            problems.add(
                part.entry.line_of("sql"),
                f"two queries named {name!r}",
                f"answers are found by name, and line {lines[name]} has it already",
                "another name",
            )
        else:
            yield part
        lines.setdefault(name, part.entry.line_of("sql"))


def with_unique_sources(sources: Iterable[Source], problems: Problems) -> Iterator[Source]:
    """The sources whose names are not those of others, in capitals or not."""
    lines: dict[str, int] = {}  # by name in lower case
    for source in sources:
        if source.name.lower() in lines:
            problems.add(
                source.line,
                f"{source.kind} {source.name!r} has a name that is taken",
                f"queries read FROM names, and line {lines[source.name.lower()]} has it already",
                "another name",
            )
        else:
            yield source
        lines.setdefault(source.name.lower(), source.line)


def refuse_some_trees(queries: Sequence[Part], problems: Problems) -> None:
    """Add an error for each query without a tree where others have one."""
    without = [part for part in queries if "tree" not in part.values]
    if len(without) == len(queries):
        return
    for part in without:
        problems.add(
            part.entry.line,
            f"query {part.values['name']!r} without a tree",
            "others have one: trees are decided by cost for all queries, or for none",
            "tree: 0, or no trees at all",
        )


def _with_run(entries: list[Entry], problems: Problems) -> list[Entry]:
    """The entries with a run that has the checkpoint and trigger beside a stream, too."""
    kept = [entry for entry in entries if entry.kind != "run"]
    runs = [entry for entry in entries if entry.kind == "run"]
    fields: dict[str, Value] = dict(runs[0].fields) if runs else {}
    lines = {field: runs[0].line_of(field) for field in fields}
    several = sum(entry.kind == "stream" for entry in kept) > 1
    for position, entry in enumerate(kept):
        beside = [f for f in _BESIDE_STREAM if entry.kind == "stream" and f in entry.fields]
        for field in beside:
            if several or field in fields:
                problems.add(
                    entry.line_of(field),
                    f"a {field} beside one of several streams" if several else f"a second {field}",
                    "all streams of a workload run together, from one checkpoint",
                    f"run: {{{field}: ...}}, once",
                )
            fields.setdefault(field, entry.fields[field])
            lines.setdefault(field, entry.line_of(field))
        rest = {name: v for name, v in entry.fields.items() if name not in beside}
        kept[position] = Entry(entry.kind, entry.line, rest, entry.lines)
    line = runs[0].line if runs else min(lines.values(), default=1)
    return [*kept, Entry("run", line, fields, lines)]


def _out_of_place(
    key: Key,
    entry: Entry,
    *,
    is_stream: bool,
    is_exact: bool,
) -> Iterator[tuple[str, str, str]]:
    """Why a key has no effect in a workload: what, why and what to write instead."""
    subject = f"{key.name} of {KINDS[entry.kind].noun}"
    if key.only == "stream" and not is_stream:
        yield (
            f"{subject} without a checkpoint",
            "it counts while a stream runs; without a checkpoint, files are read once",
            f"run: {{checkpoint: state, ...}}, or without {key.name}",
        )
    elif is_stream and entry.fields[key.name] in key.batch_words:
        yield (
            f"{subject} is {entry.fields[key.name]} beside a checkpoint",
            "that is decided for a batch run; with a checkpoint, a stream runs",
            f"{key.name}: true, or without the checkpoint",
        )
    elif key.only == "batch" and is_stream:
        yield (
            f"{subject} beside a checkpoint",
            "it counts in a batch run; with a checkpoint, a stream runs",
            f"without {key.name}, or without the checkpoint",
        )
    elif key.is_exact and not is_exact:
        yield (
            f"{subject} without queries",
            "it is about exact answers, and there are only sketches",
            f"without {key.name}",
        )
