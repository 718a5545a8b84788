"""Whatever file of a checkpoint is lost or damaged: a clear error, or exactly the right answers.

GINGHAM_DAMAGE=all tries every file and every way; otherwise a file of each kind is tried.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import gingham
from gingham.core.errors import GinghamError, SinkError
from gingham.sinks.answer import Answer
from gingham.sinks.parquet import ParquetSink
from gingham.stream.doctor import examine
from tests.crash.child import QUERIES
from tests.crash.closed_windows import closed_windows
from tests.replay import random_trades, replayed, write_batches

ALL = os.environ.get("GINGHAM_DAMAGE") == "all"
BEFORE, AFTER = 5, 2  # batches before the damage, and after it
NEAR, FAR = 10**6, 0  # shards on the driver: all, or none


class Picky(ParquetSink):
    """A folder of answers that takes none of one query for a while."""

    refuses = True

    def deliver(self, name: str, answer: Answer, number: int) -> None:
        if self.refuses and name == "ratio" and number > 1:
            raise OSError("full")
        super().deliver(name, answer, number)


@dataclass(frozen=True)
class Rich:
    """A checkpoint with everything in it, and the answers that follow from going on."""

    spark: SparkSession
    folder: Path
    most: int
    expected: dict[str, list[Any]]

    def go_on(self, folder: Path) -> None:
        """Start from a copy, and answer what is left; another query than before fails."""
        run(self.spark, self.folder / "trades", folder, self.most, Picky, refuses=False)

    def copied(self, to: Path) -> Path:
        for name in ("checkpoint", "answers"):
            shutil.copytree(self.folder / name, to / name)
        return to


def run(
    spark: SparkSession,
    trades: Path,
    folder: Path,
    most: int,
    sink: type[Picky],
    *,
    refuses: bool,
    snapshots: int = 3,
) -> None:
    loom = gingham.Loom(spark).stream(
        "trades", replayed(spark, trades), time="ts", watermark="4 seconds"
    )
    if not (folder / "checkpoint").exists():
        for name, sql in QUERIES.items():
            loom.add(sql, name=name)
    target = sink(str(folder / "answers"))
    target.refuses = refuses
    running = loom.start(
        checkpoint=str(folder / "checkpoint"),
        sink=target,
        trigger={"availableNow": True},
        most_on_driver=most,
        settings=gingham.StreamSettings(snapshot_every=snapshots, sink_patience=0.0),
    )
    # Answers that the sink refuses wait in the checkpoint, and that is told.
    undelivered = pytest.raises(SinkError) if refuses else nullcontext()
    try:
        with undelivered:
            running.await_termination()
    finally:
        running.stop()


def answers(folder: Path) -> dict[str, list[Any]]:
    """All answers in a folder, by query, sorted."""
    return {
        name: rows(pa.concat_tables(map(pq.read_table, (folder / name).glob("*.parquet"))))
        for name in QUERIES
    }


def rows(table: pa.Table) -> list[Any]:
    """All rows, sorted; floats to nine digits, since shards add up in another order."""
    columns = [
        (c.cast(pa.int64()) if pa.types.is_timestamp(c.type) else c).to_pylist()
        for c in table.columns
    ]
    found = [
        tuple(float(f"{v:.9g}") if isinstance(v, float) else v for v in row)
        for row in zip(*columns, strict=True)
    ]
    return sorted(found, key=repr)


def expected_answers(spark: SparkSession, batches: Sequence[pa.Table]) -> dict[str, list[Any]]:
    """The answers of a batch run, up to the last watermark."""
    table = pa.concat_tables(batches)
    loom = gingham.Loom(spark).stream("trades", spark.createDataFrame(table), time="ts")
    for name, sql in QUERIES.items():
        loom.add(sql, name=name)
    found = loom.run()
    return {name: closed_windows(name, rows(found.arrow(name)), table) for name in QUERIES}


@pytest.fixture(scope="module", params=[NEAR, FAR], ids=["near", "far"])
def rich(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Rich:
    folder = tmp_path_factory.mktemp("rich")
    batches = random_trades(np.random.default_rng(5), BEFORE + AFTER, 60)
    write_batches(folder / "trades", batches[:BEFORE])
    run(spark, folder / "trades", folder, request.param, Picky, refuses=True)
    write_batches(folder / "trades", batches[BEFORE:], first=BEFORE)
    return Rich(spark, folder, request.param, expected_answers(spark, batches))


def _flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    if content:
        content[len(content) // 2] ^= 4
    file.write_bytes(content)


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


HARMS: dict[str, Callable[[Path], None]] = {"deleted": Path.unlink, "cut": _cut, "flipped": _flip}


def cases(checkpoint: Path, most: int) -> Iterator[tuple[Path, str]]:
    """Every file and every harm; or the newest file of every kind, with one harm.

    With all shards at the executors only files are tried that are not there otherwise.
    """
    files = sorted(f.relative_to(checkpoint) for f in checkpoint.rglob("*") if f.is_file())
    if ALL:
        yield from ((file, harm) for file in files for harm in HARMS)
        return
    newest: dict[str, Path] = {}
    for file in files:
        if not file.name.startswith((".", "_")):
            kind = re.sub(r"\d[\d-]*(all)?", "", str(file.parent))
            newest[kind if file.parent.parts else file.name] = file
    if most == FAR:
        for kind, file in newest.items():
            if "executors" in kind or "answers" in kind:
                yield from ((file, harm) for harm in HARMS)
        return
    # Which harm is tried changes from kind to kind; deleting is what seals do not see.
    for turn, file in enumerate(newest.values()):
        yield file, ("deleted", "flipped", "deleted", "cut")[turn % 4]


def test_damage_is_refused_or_harmless(rich: Rich, tmp_path: Path):
    rich.go_on(rich.copied(tmp_path / "whole"))
    assert answers(tmp_path / "whole" / "answers") == rich.expected
    silent: list[str] = []
    for turn, (file, harm) in enumerate(cases(rich.folder / "checkpoint", rich.most)):
        folder = rich.copied(tmp_path / str(turn))
        HARMS[harm](folder / "checkpoint" / file)
        try:
            rich.go_on(folder)
        except GinghamError:
            continue  # in words
        finally:
            said = bool(examine(str(folder / "checkpoint")).damage)
        if answers(folder / "answers") != rich.expected:
            silent.append(f"{file} {harm}{' (the doctor sees it)' if said else ''}")
        shutil.rmtree(folder)
    assert not silent


def test_a_lost_folder_is_refused(rich: Rich, tmp_path: Path):
    stream = Path("checkpoint/streams/trades")
    folders = ["log", "snapshot", "epochs", "pending", "source/offsets", ""]
    folders += ["executors"] if rich.most == FAR else []
    for name in folders if ALL else folders[:4]:
        folder = rich.copied(tmp_path / (name.replace("/", "-") or "all"))
        shutil.rmtree(folder / stream / name)
        with pytest.raises(GinghamError):
            rich.go_on(folder)
