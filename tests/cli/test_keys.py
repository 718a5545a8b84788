"""Every key of a workload file reaches the call that it is for, from YAML and from SQL."""

from __future__ import annotations

import inspect
import json
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, get_args
from unittest.mock import MagicMock, create_autospec

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gingham.cli import live, load_workload, run
from gingham.cli.keys import COSTS, KINDS
from gingham.cli.read_workload import read_workload
from gingham.cli.workload import NamedQuery, Workload
from gingham.core.errors import GinghamError
from gingham.estimates.algebra.allocation import METRICS
from gingham.estimates.estimator import Estimator
from gingham.loom import Loom
from gingham.optimizer.choose_ways import Way
from gingham.optimizer.cost import Cost
from gingham.stream.settings import StreamSettings

STREAM = {"name": "trades", "path": ".", "time": "ts", "watermark": "1 second"}
QUERY = {"name": "a", "sql": "SELECT 1"}
SKETCH = {"name": "b", "sql": "SELECT 2"}
HEADINGS = {"query": "name"}  # others are called like their kind

# What a user writes, and the Python value that it stands for.
SAMPLES: dict[str, tuple[str, object]] = {
    "time": ("at", "at"),
    "watermark": ("2 minutes", "2 minutes"),
    "ahead": ("3 hours", "3 hours"),
    "key": ("symbol, day", ("symbol", "day")),
    "backfill": ("true", True),
    "tree": ("3", {"a": 3}),
    "budget": ("20_000", 20_000),
    "metric": ("Maximum", "maximum"),
    "confidence": ("0.9", 0.9),
    "seed": ("7", 7),
    "weight": ("2.5", {"b": 2.5}),
    "changes": ("op", {"trades": "op"}),
    "checkpoint": ("state", ...),
    "trigger": ("5 s", {"processingTime": "5000 milliseconds"}),
    "output_mode": ("update", "update"),
    "lateness": ("1 minute", "1 minute"),
    "idle": ("30 seconds", "30 seconds"),
    "fold_cells": ("yes", True),
    "records": ("static", "static"),
    "way": ("columns", "columns"),
    "most_on_driver": ("0", 0),
    "allow": ("rand, uuid", ("rand", "uuid")),
    "snapshot_every": ("3", 3),
    "sink_patience": ("1500 ms", 1.5),
    "retry_after": ("2 s", 2.0),
    "retry_at_most": ("3 s", 3.0),
    "end_patience": ("4 s", 4.0),
    "stop_patience": ("5 s", 5.0),
    "rate_batches": ("6", 6),
    "rate_tolerance": ("1.5", 1.5),
    "adopt": ("true", True),
}


def sample(kind: str, key: str) -> tuple[str, object]:
    """A text for a key, and its value; every constant of the costs is a number."""
    return ("2.5e-7", 2.5e-7) if kind == "cost" else SAMPLES[key]


def field_of(key: str) -> str:
    """How a key is written: changes are those of a relation."""
    return f"{key}.trades" if key == "changes" else key


def whole(kind: str, key: str, text: str, *, stream: bool) -> list[dict[str, str]]:
    """A workload that has everything, and this key; each entry with its kind."""
    entries = [
        {"kind": "stream", **STREAM},
        {"kind": "table", "name": "listing", "path": ".", "key": "symbol"},
        {"kind": "query", **QUERY},
        {"kind": "sketches", "budget": "100"},
        {"kind": "sketch", **SKETCH},
        {"kind": "run", **({"checkpoint": "state"} if stream else {})},
        {"kind": "cost"},
        {"kind": "sink", "path": "answers"},
    ]
    if kind == "stream" and key in ("checkpoint", "trigger"):
        entries[5].pop(key, None)
    for entry in entries:
        if entry["kind"] == kind:
            entry[field_of(key)] = text
    return [entry for entry in entries if len(entry) > 1]


def as_yaml(entries: list[dict[str, str]]) -> str:
    """The entries as a YAML file, a field on each line; JSON is YAML."""
    parts: dict[str, Any] = {}
    lists = {"stream": "streams", "table": "tables", "relation": "relations", "query": "queries"}
    for entry in entries:
        rest = {name: value for name, value in entry.items() if name != "kind"}
        match entry["kind"]:
            case "sketch":
                parts.setdefault("sketches", {}).setdefault("queries", []).append(rest)
            case "sketches":
                parts["sketches"] = {**rest, **parts.get("sketches", {})}
            case kind if kind in lists:
                parts.setdefault(lists[kind], []).append(rest)
            case kind:
                parts[kind] = rest
    return json.dumps(parts, indent=1)


def as_sql(entries: list[dict[str, str]]) -> str:
    """The entries as a SQL file."""
    lines: list[str] = []
    for entry in entries:
        rest = [
            f"{name}={shlex.quote(value)}"
            for name, value in entry.items()
            if name not in ("kind", "name", "sql")
        ]
        heading = HEADINGS.get(entry["kind"], entry["kind"])
        lines.append(f"-- {heading}: {entry.get('name', '')} {' '.join(rest)}")
        lines += [f"{entry['sql']};"] if "sql" in entry else []
    return "\n".join(lines)


WRITERS: dict[str, Callable[[list[dict[str, str]]], str]] = {"w.yaml": as_yaml, "w.sql": as_sql}


def read(folder: Path, name: str, text: str) -> tuple[Workload, list[GinghamError]]:
    (folder / name).write_text(text, encoding="utf-8")
    workload, problems = read_workload(folder / name)
    return workload, problems.errors


# Python to the file: nothing can be said in Python only.

CALLS: dict[str, Callable[..., object]] = {
    "loom": Loom.__init__,
    "stream": Loom.stream,
    "table": Loom.table,
    "add": Loom.add,
    "run": Loom.run,
    "plan": Loom.plan,
    "start": Loom.start,
    "sketch": Loom.sketch,
    "estimate": Estimator.start,
    "settings": StreamSettings,
    "cost": Cost,
}
# Said in another way: rows by path and format, a session by the command, settings by their fields.
ELSEWHERE = {
    *("self", "renamed", "spark", "name", "rows", "sql", "sink", "settings"),
    "stream",  # `gingham plan` shows all streams
    "histograms",  # arrays of numbers, which are made in Python
}


@pytest.mark.parametrize("call", CALLS)
def test_every_argument_of_a_call_has_a_key(call: str):
    parameters = set(inspect.signature(CALLS[call]).parameters) - ELSEWHERE
    keys = [key for kind in KINDS.values() for key in kind.keys]
    reached = {argument for key in keys if (argument := key.argument(call))}
    if call == "loom":
        reached.add("cost")  # the part `cost` as a whole
    assert reached == parameters


@pytest.mark.parametrize(
    ("kind", "key", "words"), [("run", "way", get_args(Way)), ("sketches", "metric", METRICS)]
)
def test_words_that_python_takes_are_allowed(
    tmp_path: Path, kind: str, key: str, words: tuple[str, ...]
):
    for word in words:
        _, errors = read(tmp_path, "w.yaml", as_yaml(whole(kind, key, word, stream=False)))
        assert errors == []


# The file to Python: each key arrives where it should.


class ReachedError(Exception):
    """A batch run has come to the call that would need Spark."""


class Calls:
    """A loom and its sketches that remember their calls, and refuse arguments they do not have."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reader = MagicMock()
        for method in ("format", "schema", "option"):
            getattr(self.reader, method).return_value = self.reader
        self.made = create_autospec(Loom)
        self.loom = self.made.return_value
        self.loom.spark = MagicMock(read=self.reader, readStream=self.reader)
        self.loom.queries = ()
        self.loom.run.side_effect = ReachedError
        self.loom.explain.return_value = ""
        self.sketches = self.loom.sketch.return_value = create_autospec(Estimator, instance=True)
        self.sketches.queries = ()
        self.sketches.explain.return_value = ""
        monkeypatch.setattr(load_workload, "Loom", self.made)
        monkeypatch.setattr(run, "start_spark", MagicMock)

    def run(self, file: Path, *, stream: bool) -> None:
        """Run and explain a workload as the command does, up to the calls of Python."""
        workload, problems = read_workload(file)
        run.explain_workload(workload, problems)
        if stream:
            live.start_streams(workload, run.load(workload, problems), "answers")
        else:
            with pytest.raises(ReachedError):
                run.run_workload(file, workload, problems, workload.sink, 1)

    def arguments(self, call: str) -> Mapping[str, Any]:
        """The arguments of the last call of this name."""
        match call:
            case "loom":
                return self.made.call_args.kwargs
            case "cost":
                return asdict(self.made.call_args.kwargs["cost"])
            case "settings":
                return asdict(self.loom.start.call_args.kwargs["settings"])
            case "estimate":
                return self.sketches.start.call_args.kwargs
            case "plan":
                return self.loom.explain.call_args.kwargs
            case _:
                return getattr(self.loom, call).call_args.kwargs


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    return Calls(monkeypatch)


ARRIVING = [
    (kind, key.name, target)
    for kind, keys in KINDS.items()
    for key in keys.keys
    for target in key.to
]


@pytest.mark.parametrize("file", WRITERS)
@pytest.mark.parametrize(("kind", "key", "target"), ARRIVING)
def test_each_key_reaches_the_call_that_it_is_for(
    tmp_path: Path, calls: Calls, kind: str, key: str, target: str, file: str
):
    text, value = sample(kind, key)
    call, argument = target.split(".")
    stream = KINDS[kind].by_name[key].only == "stream" or call == "start"
    (tmp_path / file).write_text(WRITERS[file](whole(kind, key, text, stream=stream)))
    calls.run(tmp_path / file, stream=stream)
    expected = str(tmp_path / "state") if key == "checkpoint" else value
    assert calls.arguments(call)[argument] == expected


@pytest.mark.parametrize("file", WRITERS)
@pytest.mark.parametrize("stream", [False, True])
def test_options_of_a_source_reach_the_reader(
    tmp_path: Path, calls: Calls, monkeypatch: pytest.MonkeyPatch, file: str, *, stream: bool
):
    monkeypatch.setenv("SECRET_SIGN", ";|")
    entries = whole("stream", "options.sep", "${SECRET_SIGN}", stream=stream)
    entries[0] |= {"format": "csv", "schema": "ts TIMESTAMP", "options.header": "false"}
    (tmp_path / file).write_text(WRITERS[file](entries))
    calls.run(tmp_path / file, stream=stream)
    options = [made.args for made in calls.reader.option.call_args_list]
    assert ("sep", ";|") in options
    # What the file says comes after what Gingham sets by itself.
    assert options.index(("header", True)) < options.index(("header", "false"))


def test_what_is_decided_for_a_batch_run_is_refused_in_a_stream(tmp_path: Path):
    for stream, count in ((False, 0), (True, 1)):
        text = as_yaml(whole("run", "records", "auto", stream=stream))
        _, errors = read(tmp_path, "w.yaml", text)
        assert len(errors) == count
        assert all("records of the run is auto beside a checkpoint" in str(e) for e in errors)


def test_if_sketches_cannot_be_started_the_queries_are_stopped(tmp_path: Path, calls: Calls):
    calls.sketches.start.side_effect = ReachedError
    entries = whole("run", "checkpoint", "state", stream=True)
    (tmp_path / "w.yaml").write_text(as_yaml(entries))
    with pytest.raises(ReachedError):
        calls.run(tmp_path / "w.yaml", stream=True)
    calls.loom.start.return_value.stop.assert_called_once_with()


def test_a_nested_mapping_is_another_way_to_write_options(tmp_path: Path):
    nested = {"stream": {**STREAM, "options": {"sep": ";", "header": True}}, "queries": [QUERY]}
    flat = {"stream": {**STREAM, "options.sep": ";", "options.header": True}, "queries": [QUERY]}
    found = [read(tmp_path, "w.yaml", json.dumps(text)) for text in (nested, flat)]
    assert found[0][0] == found[1][0]
    assert found[0][0].sources[0].options == {"sep": ";", "header": "true"}


# What is misspelt or out of place.

ALL_KEYS = [(kind, key.name) for kind, keys in KINDS.items() for key in keys.keys]


@pytest.mark.parametrize("file", WRITERS)
@pytest.mark.parametrize(("kind", "key"), ALL_KEYS)
def test_a_misspelt_key_is_an_error_with_its_line_and_the_word_that_was_meant(
    tmp_path: Path, kind: str, key: str, file: str
):
    entries = whole(kind, key + key[-1], "x", stream=True)
    if kind == "relation":
        entries.append({"kind": kind, "name": "r", "path": ".", key + key[-1]: "x"})
    text = WRITERS[file](entries)
    _, errors = read(tmp_path, file, text)
    [error] = [error for error in errors if f"has no field {key + key[-1]!r}" in error.what]
    line = 1 + next(i for i, line in enumerate(text.splitlines()) if key + key[-1] in line)
    assert error.what.startswith(f"{tmp_path / file}:{line}: {KINDS[kind].noun} has no field")
    assert error.instead == f"did you mean {key!r}?"


@pytest.mark.parametrize("kind", [kind for kind in KINDS if KINDS[kind].required])
@pytest.mark.parametrize("file", WRITERS)
def test_a_key_that_must_be_given_is_asked_for(tmp_path: Path, kind: str, file: str):
    for key in KINDS[kind].required:
        entries = whole(kind, "name", "r", stream=False)
        if kind == "relation":
            entries.append({"kind": kind, "name": "r", "path": "."})
        for entry in entries:
            if entry["kind"] == kind:
                entry.pop(key, None)
        _, errors = read(tmp_path, file, WRITERS[file](entries))
        said = " ".join(error.what for error in errors)
        assert f"without {key}" in said or "has no SQL" in said or "without a name" in said


PLACES = [
    (kind, key.name, key.only) for kind, keys in KINDS.items() for key in keys.keys if key.only
]


@pytest.mark.parametrize(("kind", "key", "only"), PLACES)
def test_a_key_without_effect_is_an_error(tmp_path: Path, kind: str, key: str, only: str):
    if key == "checkpoint":
        return  # it is what makes a stream
    entries = whole(kind, key, sample(kind, key)[0], stream=only == "batch")
    _, errors = read(tmp_path, "w.yaml", as_yaml(entries))
    [error] = errors
    wrong = "without a checkpoint" if only == "stream" else "beside a checkpoint"
    assert f"{key} of {'the run' if key == 'trigger' else KINDS[kind].noun} {wrong}" in error.what


BAD = [
    ("stream", "watermark", "soon", "is not a length of time"),
    ("stream", "watermark", "-1 s", "it is a length of time"),
    ("stream", "ahead", "nnoe", "is not a length of time"),
    ("stream", "format", "parket", "did you mean 'parquet'?"),
    ("query", "backfill", "maybe", "it is true or false"),
    ("query", "tree", "-1", "not less than 0"),
    ("sketches", "budget", "much", "a whole number, not less than 1"),
    ("sketches", "budget", "0", "a whole number, not less than 1"),
    ("sketches", "metric", "avrage", "did you mean 'average'?"),
    ("sketches", "confidence", "1", "greater than 0 and less than 1"),
    ("sketches", "confidence", "nan", "greater than 0 and less than 1"),
    ("run", "output_mode", "upsert", "append, update"),
    ("run", "idle", "0 s", "more than nothing"),
    ("run", "way", "column", "did you mean 'columns'?"),
    ("run", "trigger", "once", "is not a length of time"),
    ("run", "rate_tolerance", "inf", "not less than 1"),
    ("cost", "row", "-1", "not less than 0"),
    ("cost", "path", "none.json", "no costs in"),
    ("sink", "format", "cvs", "did you mean 'csv'?"),
]


@pytest.mark.parametrize("file", WRITERS)
@pytest.mark.parametrize(("kind", "key", "text", "said"), BAD)
def test_a_value_that_does_not_fit_is_an_error_with_its_line(
    tmp_path: Path, kind: str, key: str, text: str, said: str, file: str
):
    stream = KINDS[kind].by_name[key].only == "stream"
    written = WRITERS[file](whole(kind, key, text, stream=stream))
    _, [error] = read(tmp_path, file, written)
    assert said in str(error)
    line = next(i for i, line in enumerate(written.splitlines(), 1) if key in line and text in line)
    assert error.what.startswith(f"{tmp_path / file}:{line}: ")


# Both kinds of file.

NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
OPTIONAL = {
    kind: [key for key in keys.keys if not key.required and key.name in SAMPLES]
    for kind, keys in KINDS.items()
}


@st.composite
def workloads(draw: st.DrawFn) -> list[dict[str, str]]:
    """Entries of a workload of any shape, with some of the keys that each may have."""
    stream = draw(st.booleans())
    names = draw(st.lists(NAMES, min_size=6, max_size=6, unique=True))
    entries: list[dict[str, str]] = [
        {"kind": "stream", **STREAM, "name": name} for name in names[: draw(st.integers(1, 2))]
    ]
    entries += [
        {"kind": "table", "name": names[2], "path": "s3://b/t", "key": "a,b"},
        {
            "kind": "relation",
            "name": names[3],
            "path": "r",
            "options.x": draw(st.text("a b'\"", max_size=5)),
        },
        {"kind": "query", "name": names[4], "sql": "SELECT\n 1"},
        {"kind": "sketches", "budget": "10"},
        {"kind": "sketch", "name": names[5], "sql": "SELECT 2"},
        {"kind": "run", **({"checkpoint": "state"} if stream else {})},
        {"kind": "cost"},
        {"kind": "sink", "path": "out"},
    ]
    for entry in entries:
        for key in OPTIONAL[entry["kind"]]:
            here = key.only in (None, "stream" if stream else "batch")
            both = entry["kind"] == "stream" and key.name in ("checkpoint", "trigger")
            if here and not both and draw(st.booleans()):
                entry[field_of(key.name)] = sample(entry["kind"], key.name)[0]
    return [entry for entry in entries if len(entry) > 1]


def comparable(workload: Workload) -> Workload:
    """A workload without the lines and the line breaks of its file."""

    def on_one_line(queries: tuple[NamedQuery, ...]) -> tuple[NamedQuery, ...]:
        return tuple(replace(q, line=0, sql=" ".join(q.sql.split())) for q in queries)

    return replace(
        workload, queries=on_one_line(workload.queries), sketches=on_one_line(workload.sketches)
    )


@given(entries=workloads())
def test_a_yaml_and_a_sql_file_that_say_the_same_load_the_same(
    tmp_path_factory: pytest.TempPathFactory, entries: list[dict[str, str]]
):
    folder = tmp_path_factory.getbasetemp()
    found: list[Workload] = []
    for file, write in WRITERS.items():
        workload, errors = read(folder, file, write(entries))
        assert errors == []
        found.append(comparable(workload))
    assert found[0] == found[1]
    assert len(found[0].sources) == sum(
        e["kind"] in ("stream", "table", "relation") for e in entries
    )


def test_every_key_is_in_the_table_of_the_document():
    text = (Path(__file__).parents[2] / "docs" / "workload-file.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| `([\w.]+)`", text, re.MULTILINE)
    documented = {(kind, key) for kind, key in rows}
    costs = {("cost", name) for name in COSTS}
    assert documented | costs == set(ALL_KEYS)
    assert all(f"`{name}`" in text for name in COSTS)


def test_the_two_files_of_the_document_say_the_same(tmp_path: Path):
    text = (Path(__file__).parents[2] / "docs" / "workload-file.md").read_text(encoding="utf-8")
    Cost().write(tmp_path / "costs.json")
    found: list[Workload] = []
    for language in ("yaml", "sql"):
        block = re.search(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        assert block is not None
        workload, errors = read(tmp_path, f"w.{language}", block[1])
        assert errors == []
        found.append(comparable(workload))
    assert found[0] == found[1]
    assert [len(found[0].queries), len(found[0].sketches), len(found[0].sources)] == [2, 1, 3]
