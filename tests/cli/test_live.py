"""A workload file that is run as a stream, and edited meanwhile."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from gingham.cli.live import LINE_SECONDS, ProgressLines, WorkloadEdits
from gingham.cli.load_workload import load_workload
from gingham.cli.outline import Problems
from gingham.cli.read_workload import read_workload
from gingham.loom import Loom
from gingham.stream.progress import BatchProgress
from tests.replay import SCHEMA

STREAM = f"{{name: trades, path: trades, time: ts, schema: '{SCHEMA}', "
COUNT = "SELECT count(*) AS n FROM trades GROUP BY window(ts, '5 seconds')"


class File:
    """A workload file, and the loom that follows it."""

    def __init__(self, spark: SparkSession, folder: Path, **queries: str) -> None:
        (folder / "trades").mkdir()
        self.path, self._edits = folder / "market.yaml", 0
        self.write(**queries)
        workload, problems = read_workload(self.path)
        loaded = load_workload(workload, problems, spark)
        problems.raise_any()
        self._loaded = loaded
        self.loom: Loom = loaded.loom
        self.edits = WorkloadEdits(self.path, workload, loaded)

    @property
    def sketches(self) -> tuple[str, ...]:
        assert self._loaded.sketches is not None
        return self._loaded.sketches.queries

    def write(
        self, stream: str = "checkpoint: state, watermark: 5 seconds}", **queries: str
    ) -> None:
        listed = "".join(f"  {name}: {sql}\n" for name, sql in queries.items())
        self.path.write_text(f"stream: {STREAM}{stream}\nqueries:\n{listed}")
        self._edits += 1
        os.utime(self.path, (self._edits, self._edits))


@pytest.fixture
def file(spark: SparkSession, tmp_path: Path) -> File:
    return File(spark, tmp_path, a=COUNT)


def test_a_query_in_the_file_joins_and_one_that_is_gone_leaves(file: File):
    assert file.loom.queries == ("a",)
    file.write(b=COUNT, c=COUNT)
    file.edits.poll()
    assert file.loom.queries == ("b", "c")
    assert file.edits.message == "2 queries joined, 1 left"


def test_a_query_that_only_moved_in_the_file_stays_the_same(file: File):
    before = file.loom.plan().forest.queries[0].query
    file.write(first=COUNT, a=COUNT)
    file.edits.poll()
    assert before in [q.query for q in file.loom.plan().forest.queries]


@pytest.mark.parametrize(
    "bad",
    [
        {"a": COUNT, "b": "SELECT nonsense FROM trades GROUP BY window(ts, '5 seconds')"},
        {"b": COUNT, "c": "SELECT"},
        {"stream": "checkpoint: elsewhere, watermark: 5 seconds}", "b": COUNT},
    ],
)
def test_a_bad_edit_is_refused_whole(file: File, bad: dict[str, str]):
    file.write(**bad)
    file.edits.poll()
    assert file.loom.queries == ("a",)
    assert "refused" in file.edits.message


def test_a_checkpoint_needs_a_watermark(tmp_path: Path):
    path = tmp_path / "market.yaml"
    path.write_text(f"stream: {STREAM}checkpoint: state}}\nqueries: {{a: '{COUNT[:10]}'}}\n")
    _, problems = read_workload(path)
    assert isinstance(problems, Problems)
    assert any("without a watermark" in error.what for error in problems.errors)


def batch(number: int, **failed: str) -> BatchProgress:
    return BatchProgress(
        stream="trades",
        number=number,
        ahead=0,
        batch=number,
        epoch=0,
        queries=1,
        rows=1,
        late=0,
        timeless=0,
        shards=1,
        state=1,
        watermark=None,
        latest=None,
        answered={},
        failed=failed,
        seconds={},
    )


def test_lines_of_progress_are_few_but_a_new_error_is_told_at_once(
    capsys: pytest.CaptureFixture[str],
):
    now = 100.0
    lines = ProgressLines(lambda: now)
    for number in range(3):
        lines.show(batch(number))
    lines.show(batch(3, q="its sink failed: no [red]"))
    lines.show(batch(4, q="its sink failed: no [red]"))
    now += LINE_SECONDS
    lines.show(batch(5))
    assert [line.partition(": 1 rows")[0] for line in capsys.readouterr().err.splitlines()] == [
        "batch 0",
        "query 'q': its sink failed: no [red]",
        "batch 3",
        "batch 5",
    ]


def test_a_batch_of_another_stream_does_not_make_an_error_new(capsys: pytest.CaptureFixture[str]):
    lines = ProgressLines(lambda: 100.0, named=True)
    for number in range(3):
        lines.show(batch(number, q="no room"))
        lines.show(replace(batch(number), stream="sketches of trades"))
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "query 'q': no room"
    assert said[1].startswith("trades: batch 0: 1 rows")
    assert len(said) == 2


JOIN = (
    "SELECT count(*) FROM trades a, trades b WHERE a.symbol = b.symbol "
    "GROUP BY window(ts, '5 seconds')"
)


class JoinedFile(File):
    """A workload file with sketches."""

    def write(
        self, stream: str = "checkpoint: state, watermark: 5 seconds}", **queries: str
    ) -> None:
        super().write(stream, **{n: q for n, q in queries.items() if not n.startswith("join")})
        joins = "".join(f"    {n}: {q}\n" for n, q in queries.items() if n.startswith("join"))
        with self.path.open("a") as file:
            file.write(f"sketches:\n  budget: 100\n  queries:\n{joins}")
        os.utime(self.path, (self._edits, self._edits))


@pytest.fixture
def joined(spark: SparkSession, tmp_path: Path) -> JoinedFile:
    return JoinedFile(spark, tmp_path, a=COUNT, join_a=JOIN)


def test_sketches_of_the_file_join_and_leave_too(joined: JoinedFile):
    assert joined.sketches == ("join_a",)
    joined.write(a=COUNT, join_b=JOIN, join_c=JOIN.replace("5", "10"))
    joined.edits.poll()
    assert joined.edits.message == "2 queries joined, 1 left"
    assert joined.sketches == ("join_b", "join_c")


@pytest.mark.parametrize(
    "bad",
    [
        {"b": COUNT, "join_b": "SELECT count(*) FROM trades a, nothing b WHERE a.x = b.x"},
        {"b": "SELECT nonsense FROM trades GROUP BY window(ts, '5 seconds')", "join_b": JOIN},
        {"b": COUNT, "join_a": JOIN.replace("5 seconds", "nonsense")},
    ],
)
def test_an_edit_with_a_bad_query_or_a_bad_sketch_changes_neither(
    joined: JoinedFile, bad: dict[str, str]
):
    joined.write(**bad)
    joined.edits.poll()
    assert "refused" in joined.edits.message
    assert (joined.loom.queries, joined.sketches) == (("a",), ("join_a",))


def test_an_edit_may_ask_for_earlier_windows(file: File):
    file.write(a=COUNT, b=f'{{sql: "{COUNT}", backfill: true}}')
    file.edits.poll()
    assert {name: file.loom._queries[name].backfill for name in "ab"} == {"a": False, "b": True}


def test_a_stream_that_only_moved_in_the_file_is_the_same(file: File):
    file.path.write_text("# A line more.\n" + file.path.read_text())
    file.edits.poll()
    assert file.edits.message == "0 queries joined, 0 left"
