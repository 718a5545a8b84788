"""Measure what this machine takes for a row, a tree, a grid, a shard and a look at one.

A few plans that differ in one of these at a time are forced over the same trades; non-negative
least squares tell the parts of their times apart.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from rich.progress import Progress
from scipy.optimize import nnls  # pyright: ignore[reportUnknownVariableType]

from gingham.datasets.trades import trades
from gingham.loom import Loom
from gingham.optimizer.cost import Cost

ROWS = 4_000_000
# Grids cost nothing: every set of attributes gets one of its own.
_APART = replace(Cost(), grid=0.0)
_TURNS = 3
_PARTS = (8, 1)  # rows are taken once less this many times, and once all


@dataclass(frozen=True, slots=True)
class _Trial:
    """Queries in some trees."""

    queries: tuple[str, ...]
    trees: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a trial did, and the seconds it took."""

    rows: int
    trees: int
    grids: int
    shards: int
    looks: int  # shards x conditions, if there is one grid
    making: float
    finals: float


def calibrate(spark: SparkSession, rows: int = ROWS, progress: Progress | None = None) -> Cost:
    """The costs of this machine, in about two minutes."""
    # The first round only warms the JVM up.
    rounds = [(part, trial) for part in (_PARTS[0], *_PARTS) for trial in _trials()]
    bar = progress.add_task("measuring", total=len(rounds)) if progress else None
    seen: list[_Seen] = []
    with tempfile.TemporaryDirectory() as folder:
        parts: dict[int, DataFrame] = {}
        for part in _PARTS:
            path = str(Path(folder) / f"trades_{part}")
            trades(spark, rows // part).write.parquet(path)
            parts[part] = spark.read.parquet(path)
        for part, trial in rounds:
            seen.append(_tried(spark, parts[part], rows // part, trial))
            if progress and bar is not None:
                progress.advance(bar)
    return _fitted(seen[len(rounds) // (len(_PARTS) + 1) :])


def _trials() -> Iterator[_Trial]:
    for trees in (1, 2, 4):  # each with one grid
        queries = [_query(60 + i, 2, f"vol > {100 * i}") for i in range(8)]
        yield _Trial(tuple(queries), tuple(i % trees for i in range(8)))
    for grids in (2, 4):  # all in one tree
        columns = ("vol", "price", "price * vol", "length(symbol)")[:grids]
        queries = [_query(60 + i, 2, f"{column} > 3") for i, column in enumerate(columns)]
        yield _Trial(tuple(queries), (0,) * grids)
    for slide, conditions in ((10, 32), (1, 32), (1, 128), (1, 256)):
        queries = [_query(slide, 2, f"price > {1 + i / 2}") for i in range(conditions)]
        yield _Trial(tuple(queries), (0,) * conditions)


def _query(slide: int, times: int, where: str) -> str:
    window = f"window(ts, '{slide * times} seconds', '{slide} seconds')"
    return f"SELECT sum(price * vol) AS s FROM trades WHERE {where} GROUP BY {window}"


def _tried(spark: SparkSession, rows: DataFrame, count: int, trial: _Trial) -> _Seen:
    loom = Loom(spark, cost=_APART).stream("trades", rows, time="ts")
    names = [loom.add(sql) for sql in trial.queries]
    trees = dict(zip(names, trial.trees, strict=True))
    found = [loom.run(trees=trees).statistics for _ in range(_TURNS)]
    one = found[-1]
    return _Seen(
        count,
        len(set(trial.trees)),
        one.grids,
        one.shards,
        one.shards * len(names) if one.grids == 1 else 0,
        min(s.seconds["shards"] for s in found),
        min(s.seconds["finals"] for s in found),
    )


def _fitted(seen: list[_Seen]) -> Cost:
    table = np.array([(1.0, s.rows, s.rows * s.trees, s.rows * s.grids, s.shards) for s in seen])
    making = np.array([s.making for s in seen])
    # Relative errors: a plan of half a second counts as much as one of five.
    found, _ = nnls(table / making[:, None], np.ones(len(seen)))
    _, row, tree, grid, shard = (float(value) for value in found)
    final = sum(s.finals for s in seen if s.looks) / max(1, sum(s.looks for s in seen))
    return Cost(row=row, tree=tree, grid=grid, shard=shard, final=final)
