"""A folder of answers knows the checkpoint that they are of."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gingham.core.errors import SinkError
from gingham.sinks.answer import LocalAnswer
from gingham.sinks.parquet import ParquetSink
from gingham.sinks.sink import OwnedSink


def opened(folder: Path, checkpoint: str, *, adopt: bool = False) -> ParquetSink:
    sink = ParquetSink(str(folder))
    assert isinstance(sink, OwnedSink)
    sink.claim(checkpoint, adopt=adopt)
    return sink


def answer(*counts: int, mean: float = 1.5) -> LocalAnswer:
    return LocalAnswer(pa.table({"n": counts, "mean": [mean] * len(counts)}))


def counts(folder: Path) -> list[int]:
    tables = [pq.read_table(file) for file in sorted((folder / "q").glob("*.parquet"))]
    return [n for table in tables for n in table["n"].to_pylist()]


def test_another_checkpoint_is_refused_unless_it_is_adopted(tmp_path: Path):
    opened(tmp_path, "one").deliver("q", answer(1, 2), 5)
    with pytest.raises(SinkError, match="of another checkpoint"):
        opened(tmp_path, "two")
    for number in (0, 5):
        opened(tmp_path, "two", adopt=True).deliver("q", answer(3), number)
    assert sorted(counts(tmp_path)) == [1, 2, 3, 3]
    # The adopted one goes on without being asked again, and repeats do no harm.
    opened(tmp_path, "two").deliver("q", answer(3), 5)
    assert sorted(counts(tmp_path)) == [1, 2, 3, 3]


def test_answers_of_nobody_knows_which_checkpoint_are_refused(tmp_path: Path):
    opened(tmp_path, "one").deliver("q", answer(1), 5)
    (tmp_path / "_gingham.json").unlink()
    with pytest.raises(SinkError, match="does not say"):
        opened(tmp_path, "one")
    opened(tmp_path, "one", adopt=True).deliver("q", answer(1), 5)
    assert counts(tmp_path) == [1, 1]


def test_an_older_copy_of_the_checkpoint_is_noticed(tmp_path: Path):
    sink = opened(tmp_path, "one")
    for number in (3, 5, 8):
        sink.deliver("q", answer(number), number)
    again = opened(tmp_path, "one")
    again.deliver("q", answer(5, mean=1.5000001), 5)  # sums of doubles add up in another order
    for number, other in ((5, answer(6)), (4, answer(4)), (3, answer(3, 3))):
        with pytest.raises(SinkError, match="older copy"):
            again.deliver("q", other, number)
    assert counts(tmp_path) == [3, 5, 8]
    again.deliver("q", answer(9), 9)
    adopting = opened(tmp_path, "one", adopt=True)
    adopting.deliver("q", answer(8), 8)
    adopting.deliver("q", answer(4), 4)
    assert sorted(counts(tmp_path)) == [3, 4, 5, 8, 9]
