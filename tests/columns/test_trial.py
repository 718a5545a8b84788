"""A trial tells which part of the rows conditions select, their groups, and what filling takes."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from gingham import Loom
from gingham.optimizer.column_price import column_seconds
from gingham.optimizer.cost import Cost
from gingham.plan.row_statistics import RowStatistics, Trial

CONDITIONS = {"i % 4 = 1": 1 / 4, "i < 1000": 1 / 4, "s LIKE '%7'": 1 / 10, "i IS NULL": 0.0}
KEYS = {"i % 3": 3.0, "s": 4000.0}


def _trial_of(spark: SparkSession, rows: int) -> tuple[Trial | None, RowStatistics]:
    made = spark.range(rows).selectExpr(
        "timestamp_millis(id * 100) AS ts", "id AS i", "CAST(id AS STRING) AS s"
    )
    loom = Loom(spark).stream("events", made, time="ts")
    for condition in CONDITIONS:
        for key in KEYS:
            loom.add(
                f"SELECT count(*) AS n FROM events WHERE {condition} "
                f"GROUP BY {key}, window(ts, '1 minute')"
            )
    statistics = loom.plan("events").statistics
    return statistics.trial, statistics


def test_a_trial_counts_what_conditions_select_and_groups(spark: SparkSession):
    trial, statistics = _trial_of(spark, 4000)
    assert trial is not None
    assert trial.rows == statistics.rows == 4000
    assert sorted(trial.selected.values()) == pytest.approx(sorted(CONDITIONS.values()))
    # Every value of s stands in one row: no sample tells how many more there are.
    assert sorted(trial.groups.values()) == [pytest.approx(3, abs=0.01), float("inf")]
    assert trial.chunk_seconds + trial.row_seconds > 0


def test_a_trial_of_no_rows_is_no_error(spark: SparkSession):
    trial, _ = _trial_of(spark, 0)
    assert trial is not None
    assert set(trial.selected.values()) == {0.0}


def test_seconds_of_a_trial_are_those_of_building_once_and_of_all_chunks_and_rows_on_all_cores():
    cost = Cost(row=0, input=0, byte=0, workers=0, packed=0, packed_column=0, cores=2)

    def seconds(rows: float) -> float:
        trial = Trial(
            8000, {}, {}, row_bytes=0, chunk_seconds=0.5, row_seconds=1e-6, build_seconds=3.0
        )
        return column_seconds((), cost, RowStatistics(rows=rows, trial=trial))

    assert seconds(65536 * 10) == pytest.approx(3 + (10 * 0.5 + 65536 * 10e-6) / 2)
    # There is a chunk at least, however few rows there are.
    assert seconds(100) == pytest.approx(3 + (0.5 + 100e-6) / 2)
