"""Many answers are fetched by few Spark jobs, wherever the shards are, and are Spark's own."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import gingham
from gingham.optimizer.choose_ways import Way
from tests.oracle.same_rows import canonical_row, rows_differ

START = datetime(2024, 1, 1, tzinfo=UTC)
OUTPUTS = ("k, count(*) AS n", "k, sum(v) / count(*) AS mean, max(v) AS most", "upper(k) AS u, {}")
HAVINGS = ("", "HAVING count(*) > {}", "HAVING sum(v) - {} > max(v)", "HAVING k <> 'k{}'")
NONE, FEW, ALL = 0, 60, 1_000_000  # shards, and rows of answers, that the driver may have


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    made = [(START + timedelta(seconds=s), f"k{s % 7}", s * 37 % 101) for s in range(600)]
    rows = spark.createDataFrame(made, "ts timestamp, k string, v int").localCheckpoint()
    rows.createOrReplaceTempView("rows")
    return rows


def _queries() -> dict[str, str]:
    return {
        f"q{i}_{j}_{k}": f"SELECT {outputs.format(k)} FROM rows WHERE v > {9 * k} "
        f"GROUP BY k, window(ts, '{k + 1} minutes') {having.format(k)}"
        for i, outputs in enumerate(OUTPUTS)
        for j, having in enumerate(HAVINGS)
        for k in range(2)
    } | {
        # Has no rows; answers of the others come after it.
        "empty": "SELECT k, 1 + sum(v) AS n FROM rows WHERE v > 500 "
        "GROUP BY k, window(ts, '1 minutes') HAVING count(*) > 1",
        "last": "SELECT k, 2 + sum(v) AS n FROM rows GROUP BY k, window(ts, '1 minutes')",
    }


def _loom(spark: SparkSession, rows: DataFrame, queries: dict[str, str]) -> gingham.Loom:
    loom = gingham.Loom(spark).stream("rows", rows, time="ts")
    for name, sql in queries.items():
        loom.add(sql, name=name)
    return loom


def _canonical(found: DataFrame) -> list[Any]:
    return [canonical_row(tuple(row), found.dtypes) for row in found.collect()]


@pytest.mark.parametrize("way", ["cells", "columns"])
@pytest.mark.parametrize("most", [NONE, FEW, ALL])
def test_answers_with_having_and_arithmetic_are_those_of_spark(
    spark: SparkSession, rows: DataFrame, way: Way, most: int
):
    queries = _queries()
    answers = _loom(spark, rows, queries).run(way=way, most_on_driver=most)
    assert bool(answers.statistics.in_executors) == (most < ALL)
    for name, sql in queries.items():
        expected = spark.sql(sql)
        fetched = answers.arrow(name).select(expected.columns)
        own = [canonical_row(tuple(r.values()), expected.dtypes) for r in fetched.to_pylist()]
        assert not rows_differ(_canonical(expected), own, summed=True), sql
        if name.endswith("_0"):  # a job of its own, wherever its shards are
            dataframe = answers[name].select(*expected.columns)
            assert dataframe.dtypes == expected.dtypes
            assert not rows_differ(_canonical(dataframe), own, summed=True), sql
    answers.release()


@pytest.mark.parametrize("most", [5 * FEW, ALL])
def test_fetching_takes_few_jobs(spark: SparkSession, rows: DataFrame, most: int):
    queries = {
        f"q{i}": f"SELECT k, max(v) AS n FROM rows WHERE v > {i} "
        f"GROUP BY k, window(ts, '5 minutes') HAVING sum(v) > {i * i}"
        for i in range(40)
    }
    answers = _loom(spark, rows, queries).run(way="columns", most_on_driver=most)
    assert bool(answers.statistics.in_executors) == (most < ALL)
    context = spark.sparkContext
    group = f"fetching with {most} on the driver"
    context.setJobGroup(group, "answers of many queries")
    try:
        for name in queries:
            answers.arrow(name)
    finally:
        context.setLocalProperty("spark.jobGroup.id", "")
    assert len(context.statusTracker().getJobIdsForGroup(group)) <= 8
    answers.release()


@pytest.mark.parametrize("most", [FEW, ALL])
def test_an_answer_that_raises_affects_no_other(spark: SparkSession, rows: DataFrame, most: int):
    queries = _queries()
    window = "GROUP BY window(ts, '1 minute')"
    queries |= {
        "having": f"SELECT max(k) AS n, min(v) AS m FROM rows {window} HAVING 1 / (max(v) - 100)>0",
        "select": f"SELECT 1 / (min(v) - min(v)) AS n FROM rows {window}",
        "sum": f"SELECT k, sum(9223372036854775800 + v) AS n FROM rows GROUP BY k, {window[9:]}",
    }
    answers = _loom(spark, rows, queries).run(way="columns", most_on_driver=most)
    for name in queries:
        if name in ("having", "select", "sum"):
            with pytest.raises(Exception, match=r"(?i)divi|overflow"):
                answers.arrow(name)
        else:
            assert bool(answers.arrow(name).num_rows) == (name != "empty")
    answers.release()
