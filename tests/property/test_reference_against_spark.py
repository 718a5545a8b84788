"""The reference is only an oracle if Spark agrees with it."""

from hypothesis import HealthCheck, given, settings
from pyspark.sql import SparkSession

from .compare import assert_same
from .queries import STREAM, as_spark
from .strategies import Case, cases, register_functions


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=cases(max_queries=3))
def test_the_reference_answers_like_spark(spark: SparkSession, case: Case):
    register_functions(spark)
    case.dataframe(spark).createOrReplaceTempView(STREAM)
    for name in case.tables:
        case.table_dataframe(spark, name).createOrReplaceTempView(name)
    for query in case.queries:
        if text := as_spark(query):
            actual = spark.sql(text).toArrow().to_pylist()
            assert_same(case.expected(query), actual, query=query)
