"""A workload file that is run as a stream, and edited meanwhile."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from gingham.cli.live import LINE_SECONDS, ProgressLines, WorkloadEdits
from gingham.cli.load_workload import load_workload
from gingham.cli.outline import Problems
from gingham.cli.workload import read_workload
from gingham.loom import Loom
from gingham.stream.progress import BatchProgress
from tests.replay import SCHEMA

STREAM = f"{{name: trades, path: trades, time: ts, schema: '{SCHEMA}', "
COUNT = "SELECT count(*) AS n FROM trades GROUP BY window(ts, '5 seconds')"


class File:
    """A workload file, and the loom that follows it."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        (folder / "trades").mkdir()
        self.path, self._edits = folder / "market.yaml", 0
        self.write(a=COUNT)
        workload, problems = read_workload(self.path)
        self.loom: Loom = load_workload(workload, problems, spark)
        problems.raise_any()
        self.edits = WorkloadEdits(self.path, workload, self.loom)

    def write(
        self, stream: str = "checkpoint: state, watermark: 5 seconds}", **queries: str
    ) -> None:
        listed = "".join(f"  {name}: {sql}\n" for name, sql in queries.items())
        self.path.write_text(f"stream: {STREAM}{stream}\nqueries:\n{listed}")
        self._edits += 1
        os.utime(self.path, (self._edits, self._edits))


@pytest.fixture
def file(spark: SparkSession, tmp_path: Path) -> File:
    return File(spark, tmp_path)


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
