"""What is no fault of the rows costs no answer: the batch is done again, with every query."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from gingham.core.errors import GinghamError
from tests.system.test_stream_trouble import COUNT, START, Stream, batch

PATIENCE = 60  # seconds for something to happen
USER = "SELECT count(*) AS n FROM trades WHERE mine(vol) > 0 GROUP BY window(ts, '10 seconds')"
EXPECTED = [(10, 2), (20, 1), (30, 1)]


class Answered:
    """A sink in memory that outlives a restart: windows and counts by query."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, int], list[tuple[int, int]]] = {}

    def __call__(self, name: str, rows: DataFrame, number: int) -> None:
        self._rows[name, number] = [
            (int(r["window_end"].timestamp() - START.timestamp()), r["n"]) for r in rows.collect()
        ]

    def of(self, name: str) -> list[tuple[int, int]]:
        return sorted(r for (query, _), rows in self._rows.items() if query == name for r in rows)


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> Stream:
    made = Stream(spark, tmp_path)
    made.write(batch(1, 2), batch(16), batch(21), batch(50))
    return made


@pytest.fixture
def gate(spark: SparkSession, tmp_path: Path) -> Iterator[Path]:
    """A file that `mine`, a function of the user's, waits for as long as it is there."""
    file = tmp_path / "gate"
    path = str(file)

    def mine(vol: int) -> int:
        import os  # noqa: PLC0415  (for the executors)
        import time  # noqa: PLC0415

        while os.path.exists(path):  # noqa: PTH110
            time.sleep(0.05)
        return vol

    spark.udf.register("mine", mine, "int")
    file.touch()
    yield file
    file.unlink(missing_ok=True)


@pytest.mark.parametrize("way", ["cancelled", "stopped"])
def test_a_batch_that_is_interrupted_is_done_again(stream: Stream, gate: Path, way: str):
    sink, spark = Answered(), stream.spark
    running = stream.start(stream.loom(mine=USER, count=COUNT), sink)
    await_true(lambda: bool(spark.sparkContext.statusTracker().getActiveStageIds()))
    time.sleep(0.5)  # until `mine` waits
    if way == "cancelled":
        spark.sparkContext.cancelAllJobs()
        with pytest.raises(GinghamError, match="cancel"):
            running.await_termination(PATIENCE)
    running.stop()
    gate.unlink()
    assert "mine" not in running.failed()
    assert not stream.run(stream.loom(), sink).failed()
    assert sink.of("mine") == sink.of("count") == EXPECTED


def test_a_source_that_cannot_be_read_costs_no_answer(stream: Stream, gate: Path):
    gate.unlink()
    sink, file = Answered(), stream.folder / "trades" / "000001.parquet"
    content, before = file.read_bytes(), file.stat()
    file.write_bytes(content[: len(content) // 2])
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))  # Spark reads older files first
    with pytest.raises(GinghamError):
        stream.run(stream.loom(mine=USER, count=COUNT), sink)
    file.write_bytes(content)
    assert not stream.run(stream.loom(), sink).failed()
    assert sink.of("mine") == sink.of("count") == EXPECTED


def test_a_function_that_executors_cannot_load_costs_no_answer(
    stream: Stream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    # The driver can import it, the executors cannot.
    module = tmp_path / "of_the_driver.py"
    module.write_text("def mine(vol):\n    return vol\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import of_the_driver  # noqa: PLC0415  # pyright: ignore[reportMissingImports]

    stream.spark.udf.register("mine", of_the_driver.mine, "int")
    sink = Answered()
    with pytest.raises(GinghamError, match="of_the_driver"):
        stream.run(stream.loom(mine=USER, count=COUNT), sink)
    stream.spark.sparkContext.addPyFile(str(module))
    try:
        assert not stream.run(stream.loom(), sink).failed()
    finally:
        del sys.modules["of_the_driver"]
    assert sink.of("mine") == sink.of("count") == EXPECTED


def await_true(found: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not found():
        assert time.monotonic() < until
        time.sleep(0.05)
