"""Whatever a query is called, its answers stay in the folders that are meant for them."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from gingham.checkpoint.files import Files
from gingham.checkpoint.lease import Lease
from gingham.checkpoint.registry import Registered, Registry, write_registry
from gingham.sinks.answer import Answer, LocalAnswer
from gingham.sinks.console import ConsoleSink
from gingham.sinks.delivery import Delivery
from gingham.sinks.memory import MemorySink
from gingham.sinks.parquet import ParquetSink

NAMES = ["..", ".", "../x", "_hidden", ".hidden", "a/b", "A", "a", "指" * 42, "x.1", "con"]
ROWS = pa.table({"window_end": pa.array([0], pa.timestamp("us", "UTC")), "n": [1]})


class Full:
    """A sink that takes nothing."""

    def deliver(self, name: str, answer: Answer, number: int) -> None:
        raise OSError(f"no room for {answer.num_rows} rows of {name} as {number}")


def outside(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.name != "inside"]


def test_parquet_files_are_in_a_folder_for_each_query(tmp_path: Path):
    inside = tmp_path / "inside" / "answers"
    sink = ParquetSink(str(inside))
    for number, name in enumerate(NAMES):
        sink.deliver(name, LocalAnswer(ROWS), number)
    assert outside(tmp_path) == []
    assert outside(tmp_path / "inside") == [inside]
    folders = list(inside.iterdir())
    assert len(folders) == len(NAMES)
    # Arrow and Spark skip hidden files; none of these is one.
    assert all(pq.read_table(folder).num_rows == 1 for folder in folders)


def test_answers_that_wait_are_found_again_under_their_names(tmp_path: Path):
    files = Files(str(tmp_path / "inside"))
    lease = Lease.take(files.within("lease"))
    before = Delivery(Full(), files, lease, patience=0)
    before.deliver(dict.fromkeys(NAMES, LocalAnswer(ROWS)), 3)
    assert outside(tmp_path) == []
    sink = MemorySink()
    again = Delivery(sink, files, lease)
    again.restore(before.pending)
    assert again.waiting == dict.fromkeys(NAMES, 1)
    assert again.deliver({}, 4) == {}
    assert all(sink.arrow(name) == ROWS for name in NAMES)


def test_registered_queries_come_back_under_their_names(tmp_path: Path):
    files = Files(str(tmp_path / "inside"))
    write_registry(files)
    registry = Registry(files, Lease.take(files.within("lease")))
    for name in NAMES:
        registry.put(Registered(name, f"SELECT {name}"))
    assert outside(tmp_path) == []
    assert {query.name: query.sql for query in registry.all()} == {
        name: f"SELECT {name}" for name in NAMES
    }
    for name in NAMES:
        registry.remove(name)
    assert registry.all() == []


@pytest.mark.parametrize("name", ["[/]", "[red]x"])
def test_the_console_prints_a_name_as_it_is(name: str):
    printed = StringIO()
    ConsoleSink(Console(file=printed, width=80)).deliver(name, LocalAnswer(ROWS), 0)
    assert f"{name}, batch 0" in printed.getvalue()
