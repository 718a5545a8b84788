"""The reference is only an oracle if Spark agrees with it."""

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from gingham.testing.values import WouldFail

from .compare import assert_same
from .queries import STREAM, as_spark
from .strategies import Case, at, cases, inf, nan, register_functions

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


TYPES = {
    "ts": "timestamp",
    "i": "int",
    "b": "bigint",
    "d": "double",
    "f": "float",
    "m": "decimal(10,2)",
    "w": "decimal(38,4)",
    "s": "string",
    "day": "date",
}
NOW = at("2024-03-01 12:00:00")
ROWS: list[dict[str, Any]] = [
    {
        "ts": NOW,
        "i": 10,
        "b": 2**53 + 1,
        "d": -0.0,
        "f": 0.10000000149011612,
        "m": Decimal("10.25"),
        "w": Decimal("0.1235"),
        "s": "a%",
        "day": date(2024, 3, 1),
    },
    {"ts": NOW, "i": -(2**31), "b": -(2**63), "d": nan, "f": inf, "m": Decimal("-0.01"), "s": "é"},
    {"ts": NOW},
]
SURPRISES = (
    # Out of every bigint's reach: decided for NULL too. Equality is not.
    "b < 9223372036854775808",
    "i >= 9223372036854775807.5",
    "b <> 9223372036854775808",
    # 38 digits hold no fifth place behind the point: the constant is rounded to 0.1235.
    "w = 0.12345",
    "w < 0.12349",
    "w IN (0.12354)",
    "w BETWEEN 0.12351 AND 0.12352",
    # Compared as doubles: 2^53 + 1 is not one. In a list, one double makes all of them doubles.
    "b = 9007199254740992D",
    "b = 9007199254740992",
    "b IN (9007199254740992, 0.5D)",
    "b IN (9007199254740992, 0.5)",
    # A float is no decimal.
    "f = 0.1",
    "f = 0.1F",
    # NaN is equal to itself and above everything; zeros are equal.
    "d > CAST('Infinity' AS DOUBLE)",
    "d = CAST('NaN' AS DOUBLE)",
    "d >= 0",
    "NOT (d <> 0.0D)",
    "day = TIMESTAMP '2024-03-01 00:00:00'",
    "day < TIMESTAMP '2024-03-01 00:00:00.000001'",
    "s LIKE 'a\\\\%'",
    "s NOT LIKE '_%'",
    "i NOT IN (1, NULL)",
    "(i > 5) <=> NULL",
    "NOT (i > 5 AND d > 0)",
    "m * 0.5 = 5.125",
    "m / 3 > 3.416666",
    "i % 3 = -2",
)


def test_they_agree_where_sql_surprises(quick: SparkSession):
    counts = [f"count_if({p}) AS yes{n}" for n, p in enumerate(SURPRISES)]
    counts += [f"count_if(({p}) IS NULL) AS unknown{n}" for n, p in enumerate(SURPRISES)]
    case = _pinned(f"SELECT {', '.join(counts)} FROM t GROUP BY window(ts, '1 minute')")
    (expected,), (actual,) = case.expected(case.queries[0]), _spark_answer(quick, case)
    for number, predicate in enumerate(SURPRISES):
        columns = (f"yes{number}", f"unknown{number}")
        assert [expected[c] for c in columns] == [actual[c] for c in columns], predicate


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
    case = _pinned(f"SELECT {item} AS a FROM t GROUP BY window(ts, '1 minute')")
    with pytest.raises(WouldFail):
        case.expected(case.queries[0])
    with pytest.raises(PySparkException):
        _spark_answer(quick, case)


def _pinned(query: str) -> Case:
    return Case(TYPES, [dict.fromkeys(TYPES) | row for row in ROWS], (query,))


def _spark_answer(spark: SparkSession, case: Case, number: int = 0) -> list[dict[str, Any]]:
    case.dataframe(spark).createOrReplaceTempView(STREAM)
    for name in case.tables:
        case.table_dataframe(spark, name).createOrReplaceTempView(name)
    return spark.sql(as_spark(case.queries[number]) or "").toArrow().to_pylist()
