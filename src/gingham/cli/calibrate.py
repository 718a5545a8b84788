"""`gingham calibrate`: the seconds that rows, trees, grids and shards take on this machine.

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

from gingham.cli.calibrate_columns import calibrate_columns
from gingham.datasets.trades import trades
from gingham.loom import Loom
from gingham.optimizer.cost import Cost

ROWS = 4_000_000
# With grids that cost nothing, every set of attributes gets a grid of its own.
_FREE_GRIDS = replace(Cost(), grid=0.0)
_REPETITIONS = 3
_DIVISORS = (8, 1)  # trials run over an eighth of the rows, and over all


@dataclass(frozen=True, slots=True)
class _Trial:
    """The queries of one calibration run, and the number of the tree that each is put into."""

    queries: tuple[str, ...]
    trees: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Measurement:
    """What a calibration run did, and the seconds it took."""

    rows: int
    trees: int
    grids: int
    shards: int
    shard_reads: int  # shards x conditions if there is one grid, else 0
    shard_seconds: float
    final_seconds: float


def calibrate(spark: SparkSession, rows: int = ROWS, progress: Progress | None = None) -> Cost:
    """Measure the costs of this machine for the optimizer, in about two minutes."""
    # The first round only warms the JVM up.
    rounds = [(divisor, trial) for divisor in (_DIVISORS[0], *_DIVISORS) for trial in _trials()]
    bar = progress.add_task("measuring", total=len(rounds)) if progress else None
    measurements: list[_Measurement] = []
    with tempfile.TemporaryDirectory() as folder:
        inputs: dict[int, DataFrame] = {}
        for divisor in _DIVISORS:
            path = str(Path(folder) / f"trades_{divisor}")
            trades(spark, rows // divisor).write.parquet(path)
            inputs[divisor] = spark.read.parquet(path)
        for divisor, trial in rounds:
            measurements.append(_measure(spark, inputs[divisor], rows // divisor, trial))
            if progress and bar is not None:
                progress.advance(bar)
        by_cells = _fit_cost(measurements[len(rounds) // (len(_DIVISORS) + 1) :])
        return calibrate_columns(spark, inputs[_DIVISORS[0]], rows // _DIVISORS[0], by_cells)


def _trials() -> Iterator[_Trial]:
    """Calibration runs that differ in the number of trees, grids, shards and conditions."""
    for trees in (1, 2, 4):  # each with one grid
        queries = [_query(60 + i, f"vol > {100 * i}") for i in range(8)]
        yield _Trial(tuple(queries), tuple(i % trees for i in range(8)))
    for grids in (2, 4):  # all in one tree
        columns = ("vol", "price", "price * vol", "length(symbol)")[:grids]
        queries = [_query(60 + i, f"{column} > 3") for i, column in enumerate(columns)]
        yield _Trial(tuple(queries), (0,) * grids)
    for slide, conditions in ((10, 32), (1, 32), (1, 128), (1, 256)):
        queries = [_query(slide, f"price > {1 + i / 2}") for i in range(conditions)]
        yield _Trial(tuple(queries), (0,) * conditions)


def _query(slide: int, where: str) -> str:
    """A query for calibration, whose windows are two slides long; the slide is in seconds."""
    window = f"window(ts, '{2 * slide} seconds', '{slide} seconds')"
    return f"SELECT sum(price * vol) AS s FROM trades WHERE {where} GROUP BY {window}"


def _measure(spark: SparkSession, rows: DataFrame, count: int, trial: _Trial) -> _Measurement:
    """Run a calibration trial a few times over so many rows; the fastest run gives its seconds."""
    loom = Loom(spark, cost=_FREE_GRIDS).stream("trades", rows, time="ts")
    names = [loom.add(sql) for sql in trial.queries]
    trees = dict(zip(names, trial.trees, strict=True))
    runs = [loom.run(trees=trees).statistics for _ in range(_REPETITIONS)]
    last = runs[-1]
    return _Measurement(
        rows=count,
        trees=len(set(trial.trees)),
        grids=last.grids,
        shards=last.shards,
        shard_reads=last.shards * len(names) if last.grids == 1 else 0,
        shard_seconds=min(run.seconds["shards"] for run in runs),
        final_seconds=min(run.seconds["finals"] for run in runs),
    )


def _fit_cost(measurements: list[_Measurement]) -> Cost:
    """The costs that explain the seconds of calibration runs best, by least squares."""
    factors = np.array(
        [(1.0, m.rows, m.rows * m.trees, m.rows * m.grids, m.shards) for m in measurements]
    )
    seconds = np.array([m.shard_seconds for m in measurements])
    # Relative errors: a plan of half a second counts as much as one of five.
    fitted, _ = nnls(factors / seconds[:, None], np.ones(len(measurements)))
    _, row, tree, grid, shard = (float(cost) for cost in fitted)
    reads = sum(m.shard_reads for m in measurements)
    final = sum(m.final_seconds for m in measurements if m.shard_reads) / max(1, reads)
    return Cost(row=row, tree=tree, grid=grid, shard=shard, final=final)
