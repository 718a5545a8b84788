"""The columns' part of `gingham calibrate`: what handing rows to Python and shards back takes.

What Python does with the rows is timed by each plan's own trial, so it is taken off here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from scipy.optimize import nnls  # pyright: ignore[reportUnknownVariableType]

from gingham.loom import Loom
from gingham.optimizer.column_price import column_work, python_seconds
from gingham.optimizer.cost import Cost

_REPETITIONS = 3
_CONDITIONS = tuple(f"{column} > 3" for column in ("vol", "price", "price * vol", "vol + price"))
_COUNT = ("count(*)",)
_MANY = ("sum(vol)", "sum(price)", "max(price * vol)", "min(vol + price)", "max(price - vol)")
_TEXT = ("max(symbol)", "min(concat(symbol, symbol, symbol, symbol, symbol, symbol))")


@dataclass(frozen=True, slots=True)
class _Measurement:
    """What a calibration run by columns did, and its seconds without those in Python."""

    rows: int
    inputs: int
    row_bytes: float
    shards: int
    columns: int
    seconds: float


def calibrate_columns(spark: SparkSession, rows: DataFrame, count: int, cost: Cost) -> Cost:
    """Measure what the costs of queries by columns are, beside those measured by cells."""
    found = [_measure(spark, rows, count, queries, cost) for queries in _workloads()]
    factors = np.array(
        [
            (1.0, m.rows * m.inputs, m.rows * m.row_bytes, m.shards, m.shards * m.columns)
            for m in found
        ]
    )
    seconds = np.array([m.seconds for m in found])
    fitted, _ = nnls(factors / seconds[:, None], np.ones(len(found)))
    workers, input_, byte, packed, packed_column = (float(part) for part in fitted)
    return replace(
        cost, workers=workers, input=input_, byte=byte, packed=packed, packed_column=packed_column
    )


def _workloads() -> Iterator[tuple[str, ...]]:
    """Workloads that differ in the inputs of a row, and in the number and columns of shards."""
    for slide, keys, calls in (
        (600, "", _COUNT),
        (600, "", _MANY),
        (600, "", _TEXT),
        (1, "", _COUNT),
        (1, "", _MANY),
        (600, "symbol", _COUNT),
        (600, "symbol", _MANY),
    ):
        groups = ", ".join(filter(None, (keys, f"window(ts, '{slide} seconds')")))
        listed = ", ".join(f"{call} AS a{i}" for i, call in enumerate(calls))
        yield tuple(
            f"SELECT {listed} FROM trades WHERE {condition} GROUP BY {groups}"
            for condition in _CONDITIONS
        )


def _measure(
    spark: SparkSession, rows: DataFrame, count: int, queries: tuple[str, ...], cost: Cost
) -> _Measurement:
    """Run queries by columns a few times; the fastest run gives its seconds."""
    loom = Loom(spark, cost=cost).stream("trades", rows, time="ts")
    for sql in queries:
        loom.add(sql)
    plan = loom.plan("trades")
    runs = [loom.run(way="columns").statistics for _ in range(_REPETITIONS)]
    trial = plan.statistics.trial
    assert trial is not None, "so many conditions are always tried"
    work = column_work(plan.forest.queries, plan.statistics)
    known = count * cost.row + python_seconds(trial, count) / cost.cores
    return _Measurement(
        rows=count,
        inputs=work.inputs,
        row_bytes=trial.row_bytes,
        shards=runs[-1].shards,
        columns=work.grids[0].columns,
        # Never less than a hundredth: seconds in Python are only predicted.
        seconds=max(0.01, min(sum(run.seconds.values()) for run in runs) - known),
    )
