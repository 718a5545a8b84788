"""Whatever is killed and when: every answer is there once, and is that of the batch run."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import gingham
from tests.crash.child import JOINS_AT, LATER, QUERIES
from tests.crash.closed_windows import closed_windows
from tests.replay import random_trades, write_batches

ROOT = Path(__file__).parents[2]
PATHS = os.pathsep.join((str(ROOT / "src"), str(ROOT)))  # where the child finds its modules
KILLS = int(os.environ.get("GINGHAM_KILLS", "10"))
# The first plan is written at once, a second when a query joins; the others again and again.
POINTS = [
    (when, kind, nth)
    for kind, nth in (("epochs", 1), ("log", 2), ("done", 1), ("sink", 2), ("snapshot", 1))
    for when in ("before", "after")
]
STREAMS = 2
PER_LIFE = 4  # batches that are new in each life
LAST = JOINS_AT + 6  # and in the last one: enough for the query that joins to be answered
PATIENCE = 300  # seconds for one life, which takes ten on an idle machine


def test_kills(spark: SparkSession, tmp_path: Path):
    seed = int(os.environ.get("GINGHAM_SEED", "0"))

    # Most of a life is spent waiting, so two streams are killed side by side.
    def stream(number: int) -> tuple[Path, list[pa.Table]]:
        folder = tmp_path / str(number)
        points, kills = POINTS[number::STREAMS], len(range(number, KILLS, STREAMS))
        return folder, _killed(folder, points, kills, 2 * seed + number)

    with ThreadPoolExecutor(STREAMS) as pool:
        streams = list(pool.map(stream, range(STREAMS)))
    for folder, batches in streams:
        check(spark, folder, batches)


def _killed(
    folder: Path, points: list[tuple[str, str, int]], kills: int, seed: int
) -> list[pa.Table]:
    """Let a stream live until it was killed so often, and then to its end; what it has seen."""
    rng = random.Random(seed)
    batches = random_trades(np.random.default_rng(seed), PER_LIFE * 2 * kills + LAST, 80)
    left, lives = kills, 0
    while left:
        assert lives < 2 * kills, "too few lives ended by a kill"
        new = slice(lives * PER_LIFE, (lives + 1) * PER_LIFE)
        write_batches(folder / "trades", batches[new], first=new.start)
        left -= live(folder, _way_to_die(rng, points, lives))
        lives += 1
    # The last life does what the others have left behind.
    seen = lives * PER_LIFE + LAST
    write_batches(folder / "trades", batches[seen - LAST : seen], first=seen - LAST)
    assert not live(folder, (), PATIENCE + 10 * kills)
    return batches[:seen]


def check(spark: SparkSession, folder: Path, batches: list[pa.Table]) -> None:
    found = {name: _answers(folder / "answers" / name) for name in (*QUERIES, LATER[0])}
    trades = pa.concat_tables(batches)
    loom = gingham.Loom(spark).stream("trades", spark.createDataFrame(trades), time="ts")
    for name, sql in (*QUERIES.items(), LATER):
        loom.add(sql, name=name)
    answers = loom.run()
    for name, rows in found.items():
        expected = closed_windows(name, _rows(answers.arrow(name)), trades)
        if name == LATER[0]:
            first = min(start for start, *_ in rows)
            expected = [row for row in expected if row[0] >= first]
        assert rows == expected, name


def _way_to_die(
    rng: random.Random, points: list[tuple[str, str, int]], life: int
) -> tuple[str, ...]:
    """Named points first; then any moment."""
    if life < len(points):
        when, kind, nth = points[life]
        return when, kind, str(nth)
    return "soon", "log", str(rng.randint(1, 2)), f"{rng.uniform(0, 0.8):.3f}"


def live(folder: Path, how: tuple[str, ...], patience: float = PATIENCE) -> bool:
    """Run the child; True if it was killed."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.crash.child", str(folder), *how],
        env={**os.environ, "PYTHONPATH": PATHS},
        capture_output=True,
        text=True,
        timeout=patience,
        check=False,
    )
    assert done.returncode in (0, -9), done.stderr[-3000:]
    return done.returncode == -9


def _answers(folder: Path) -> list[tuple[Any, ...]]:
    tables = [pq.read_table(file) for file in sorted(folder.glob("*.parquet"))]
    return _rows(pa.concat_tables(tables))


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    """All rows, sorted; floats to nine digits, since shards add up in another order."""
    columns = []
    for name in table.column_names:
        column = table[name]
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.int64())
        columns.append(column.to_pylist())
    rows = [
        tuple(float(f"{v:.9g}") if isinstance(v, float) else v for v in row)
        for row in zip(*columns, strict=True)
    ]
    return sorted(rows, key=lambda row: tuple((v is not None, v) for v in row))
