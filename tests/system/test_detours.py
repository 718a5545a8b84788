"""A plan that Spark cannot run is no fault of a query: the run goes another way, and says so."""

from datetime import UTC, datetime

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from gingham import Loom
from gingham.spark import shared_run

WINDOW = "GROUP BY window(ts, '10 seconds')"


@pytest.fixture
def loom(spark: SparkSession) -> Loom:
    rows = spark.createDataFrame(
        [(datetime(2024, 1, 1, 0, 0, s, tzinfo=UTC), s % 4) for s in range(20)],
        "ts timestamp, vol int",
    )
    loom = Loom(spark).stream("trades", rows, time="ts")
    for least in range(3):
        loom.add(
            f"SELECT count(*) AS n FROM trades WHERE vol >= {least} {WINDOW}", name=f"q{least}"
        )
    return loom


def _fails(*_: object, **__: object) -> DataFrame:
    raise AnalysisException("Max iterations (100) reached for batch Resolution")


@pytest.mark.parametrize(
    ("way", "broken", "other"),
    [("columns", "fill_by_columns", "cells"), ("cells", "rows_to_shards", "columns")],
)
def test_a_plan_that_cannot_run_is_told(
    loom: Loom, monkeypatch: pytest.MonkeyPatch, way: str, broken: str, other: str
):
    expected = {name: loom.run().arrow(name).to_pylist() for name in loom.queries}
    monkeypatch.setattr(shared_run, broken, _fails)
    with pytest.warns(RuntimeWarning, match=f"they go by {other}"):
        answers = loom.run(way=way)  # pyright: ignore[reportArgumentType]
    assert {name: answers.arrow(name).to_pylist() for name in loom.queries} == expected
    assert not answers.statistics.apart
    assert "Max iterations" in answers.statistics.detours[0]
    assert "Max iterations" in loom.explain()
    monkeypatch.undo()
    loom.run(way=way)  # pyright: ignore[reportArgumentType]
    assert "Max iterations" not in loom.explain()


def test_a_query_that_raises_is_told(loom: Loom):
    loom.add(f"SELECT count(*) AS n FROM trades WHERE 6 / vol > 2 {WINDOW}", name="bad")
    answers = loom.run()
    assert answers.statistics.apart == ("bad",)
    assert any("bad runs alone" in line for line in answers.statistics.detours)
    assert "bad runs alone" in loom.explain()
