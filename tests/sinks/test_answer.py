"""An answer is the same for a sink wherever its rows are."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from gingham import Answer
from gingham.checkpoint.files import Files
from gingham.sinks.answer import LocalAnswer, StoredAnswer, load_answer
from gingham.sinks.memory import MemorySink

START = datetime(2024, 1, 1, tzinfo=UTC)
ROWS = pa.table(
    {
        "window_start": pa.array([START, START + timedelta(seconds=10)], pa.timestamp("us", "UTC")),
        "window_end": pa.array(
            [START + timedelta(seconds=s) for s in (10, 20)], pa.timestamp("us", "UTC")
        ),
        "n": pa.array([1, 2], pa.int64()),
    }
)


@pytest.fixture(params=["local", "stored"])
def answer(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Answer:
    if request.param == "local":
        return LocalAnswer(ROWS)
    return StoredAnswer.written(Files(str(tmp_path)), "a", spark.createDataFrame(ROWS))


def counts(table: pa.Table) -> list[int]:
    return sorted(table["n"].to_pylist())


def test_every_form_has_all_rows(answer: Answer, spark: SparkSession):
    assert answer.num_rows == 2
    assert counts(answer.table()) == [1, 2]
    assert counts(pa.Table.from_batches(answer.batches())) == [1, 2]
    assert sorted(row["n"] for row in answer.frame(spark).collect()) == [1, 2]


def test_the_last_window_is_the_latest_end(answer: Answer):
    assert isinstance(answer.last_window, datetime)
    assert answer.last_window.astimezone(UTC) == START + timedelta(seconds=20)


def test_an_answer_that_was_saved_comes_back_and_is_gone_when_it_is_discarded(
    answer: Answer, tmp_path: Path
):
    files, folders = Files(str(tmp_path / "saved")), Files(str(tmp_path))
    answer.save(files, "x")
    again = load_answer(files, "x", folders)
    assert counts(again.table()) == [1, 2]
    again.discard()
    assert not (tmp_path / "a").exists()


def test_a_delivery_that_is_repeated_counts_once():
    sink = MemorySink()
    for _ in range(2):
        sink.deliver("q", LocalAnswer(ROWS), 7)
    found = sink.arrow("q")
    assert found is not None
    assert counts(found) == [1, 2]
