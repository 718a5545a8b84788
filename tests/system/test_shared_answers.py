"""Shared answers are the answers of each query alone: the reference says so, and Spark too."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from gingham import Answers, Loom
from gingham.optimizer.choose_ways import Way
from tests.oracle.compare import assert_same
from tests.strategies.cases import Case, cases, register_functions
from tests.strategies.queries import STREAM, TIME
from tests.strategies.surprises import surprises

_FIXTURES = [HealthCheck.function_scoped_fixture]
WAYS = st.sampled_from(["cells", "columns", "auto"])


@settings(suppress_health_check=_FIXTURES)
@given(case=cases(), way=WAYS)
def test_shared_equals_the_reference(spark: SparkSession, case: Case, way: Way):
    loom = _loom(spark, case)
    answers = loom.run(way=way)
    _all_shared(loom, answers)
    for name, query in zip(loom.queries, case.queries, strict=True):
        assert_same(case.expected(query), answers.arrow(name).to_pylist(), query=query)


@pytest.mark.parametrize("way", ["cells", "columns"])
def test_shared_equals_the_reference_where_sql_surprises(spark: SparkSession, way: Way):
    case = surprises()
    loom = _loom(spark, case)
    answers = loom.run(way=way)
    _all_shared(loom, answers)
    for name, query in zip(loom.queries, case.queries, strict=True):
        assert_same(case.expected(query), answers.arrow(name).to_pylist(), query=query)


@settings(max_examples=25, suppress_health_check=_FIXTURES)
@given(case=cases(max_queries=3, max_rows=20), way=WAYS)
def test_shared_equals_spark_alone(spark: SparkSession, case: Case, way: Way):
    loom = _loom(spark, case)
    answers = loom.run(way=way)
    for name, query in zip(loom.queries, case.queries, strict=True):
        alone = loom.alone(name)
        assert alone.dtypes == answers[name].dtypes
        assert_same(
            case.expected(query), alone.toArrow().to_pylist(), query=f"alone in Spark: {query}"
        )
        assert_same(case.expected(query), answers.arrow(name).to_pylist(), query=query)


@settings(max_examples=15, suppress_health_check=_FIXTURES)
@given(case=cases(max_queries=2, max_rows=20), way=WAYS)
def test_finals_in_executors_equal_the_reference(spark: SparkSession, case: Case, way: Way):
    loom = _loom(spark, case)
    answers = loom.run(most_on_driver=0, way=way)
    for name, query in zip(loom.queries, case.queries, strict=True):
        assert_same(case.expected(query), answers.arrow(name).to_pylist(), query=query)
    answers.release()


@settings(max_examples=25, suppress_health_check=_FIXTURES)
@given(case=cases(), data=st.data())
def test_several_trees_equal_the_reference(spark: SparkSession, case: Case, data: st.DataObject):
    loom = _loom(spark, case)
    trees = {name: data.draw(st.integers(0, 3), label=name) for name in loom.queries}
    most = data.draw(st.sampled_from([1_000_000, 1_000_000, 0]), label="most on the driver")

    answers = loom.run(most_on_driver=most, trees=trees)
    for name, query in zip(loom.queries, case.queries, strict=True):
        assert_same(case.expected(query), answers.arrow(name).to_pylist(), query=query)
    answers.release()


@pytest.mark.parametrize("zone", ["Asia/Kolkata", "America/New_York"])
@settings(max_examples=10, suppress_health_check=_FIXTURES)
@given(case=cases(max_queries=3, max_rows=20))
def test_the_session_time_zone_moves_no_window(spark: SparkSession, zone: str, case: Case):
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        loom = _loom(spark, case)
        answers = loom.run()
        for name in loom.queries:
            alone = loom.alone(name).toArrow().to_pylist()
            assert_same(alone, answers.arrow(name).to_pylist(), query=name)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


@settings(max_examples=10, suppress_health_check=_FIXTURES)
@given(case=cases(forms=("rows", "rows", "per", "per", "range")), way=WAYS, data=st.data())
def test_windows_of_rows_equal_the_reference(
    spark: SparkSession, case: Case, way: Way, data: st.DataObject
):
    most = data.draw(st.sampled_from([1_000_000, 1_000_000, 0]), label="most on the driver")
    partitions = data.draw(st.integers(1, 3), label="partitions")
    loom = _loom(spark, case, partitions)
    answers = loom.run(way=way, most_on_driver=most)
    _all_shared(loom, answers)
    for name, query in zip(loom.queries, case.queries, strict=True):
        assert_same(case.expected(query), answers.arrow(name).to_pylist(), query=query)
    answers.release()


@settings(max_examples=3, suppress_health_check=_FIXTURES)
@given(case=cases(forms=("rows", "per"), max_queries=2, max_rows=20))
def test_windows_of_rows_alone_in_spark_equal_the_reference(spark: SparkSession, case: Case):
    loom = _loom(spark, case)
    for name, query in zip(loom.queries, case.queries, strict=True):
        alone = loom.alone(name).toArrow().to_pylist()
        assert_same(case.expected(query), alone, query=f"alone in Spark: {query}")


def _all_shared(loom: Loom, answers: Answers) -> None:
    """No query ran alone but those that may raise: an answer must not come from elsewhere."""
    alone = set(answers.statistics.apart)
    assert not alone, [loom.alone(name) for name in alone]


def _loom(spark: SparkSession, case: Case, partitions: int | None = None) -> Loom:
    register_functions(spark)
    loom = Loom(spark)
    rows = case.dataframe(spark)
    loom.stream(STREAM, rows if partitions is None else rows.repartition(partitions), time=TIME)
    for name, (_, key) in case.tables.items():
        loom.table(name, case.table_dataframe(spark, name), key=key)
    for number, query in enumerate(case.queries):
        loom.add(query, name=f"q{number}")
    return loom
