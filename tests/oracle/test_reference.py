"""The reference is only an oracle if Spark agrees with it."""

import math
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.oracle.compare import assert_same
from tests.oracle.values import WouldFail
from tests.strategies.cases import Case, cases, register_functions
from tests.strategies.queries import STREAM, as_spark
from tests.strategies.surprises import SURPRISES, pinned

# Small queries: most of the time would go into planning and compiling them.
QUICK = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "1",
}


@pytest.fixture(scope="module")
def quick(spark: SparkSession) -> Iterator[SparkSession]:
    before = {name: spark.conf.get(name) for name in QUICK}
    for name, value in QUICK.items():
        spark.conf.set(name, value)
    register_functions(spark)
    yield spark
    for name, value in before.items():
        spark.conf.set(name, str(value))


@settings(max_examples=100)
@given(case=cases(max_queries=2))
def test_the_reference_answers_like_spark(quick: SparkSession, case: Case):
    for number, query in enumerate(case.queries):
        if as_spark(query):
            assert_same(case.expected(query), _spark_answer(quick, case, number), query=query)


def test_they_agree_where_sql_surprises(quick: SparkSession):
    counts = [f"count_if({p}) AS yes{n}" for n, p in enumerate(SURPRISES)]
    counts += [f"count_if(({p}) IS NULL) AS unknown{n}" for n, p in enumerate(SURPRISES)]
    case = pinned(f"SELECT {', '.join(counts)} FROM t GROUP BY window(ts, '1 minute')")
    (expected,), (actual,) = case.expected(case.queries[0]), _spark_answer(quick, case)
    for number, predicate in enumerate(SURPRISES):
        columns = (f"yes{number}", f"unknown{number}")
        assert [expected[c] for c in columns] == [actual[c] for c in columns], predicate


def test_nan_is_the_greatest_of_numbers_in_a_percentile(quick: SparkSession):
    items = ", ".join(f"approx_percentile(d, {p}) AS p{n}" for n, p in enumerate((0.5, 0.9, 1.0)))
    case = pinned(f"SELECT {items} FROM t GROUP BY window(ts, '1 minute')")
    assert any(math.isnan(row["d"]) for row in case.rows if row["d"] is not None)
    assert_same(case.expected(case.queries[0]), _spark_answer(quick, case))


@pytest.mark.parametrize(
    "item",
    [
        "sum(1 / (i - 10))",
        "max(d / 0)",
        "max(i % 0)",
        "max(abs(i))",
        "max(i - 1)",
        "max(b - 1)",
        "sum(9223372036854775807)",
        "max(CAST(d AS INT))",
        "max(w * 1e0BD * 10000000000000000000000000000000000000)",
    ],
)
def test_what_spark_refuses_to_compute_the_reference_refuses(quick: SparkSession, item: str):
    case = pinned(f"SELECT {item} AS a FROM t GROUP BY window(ts, '1 minute')")
    with pytest.raises(WouldFail):
        case.expected(case.queries[0])
    with pytest.raises(PySparkException):
        _spark_answer(quick, case)


def _spark_answer(spark: SparkSession, case: Case, number: int = 0) -> list[dict[str, Any]]:
    case.dataframe(spark).createOrReplaceTempView(STREAM)
    for name in case.tables:
        case.table_dataframe(spark, name).createOrReplaceTempView(name)
    return spark.sql(as_spark(case.queries[number]) or "").toArrow().to_pylist()
