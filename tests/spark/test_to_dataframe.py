"""No row of an Arrow table is lost on its way into Spark."""

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from gingham.spark.to_dataframe import to_dataframe

SOME = pa.table({"a": [1, None, 3], "s": ["x", "y", None]})
NONE = SOME.slice(0, 0)


@pytest.mark.parametrize(
    "parts", [[SOME], [NONE], [SOME, NONE, SOME], [NONE, SOME, NONE, SOME], [NONE, NONE]]
)
def test_tables_in_parts_arrive_whole(spark: SparkSession, parts: list[pa.Table]):
    table = pa.concat_tables(parts)
    found = to_dataframe(spark, table)
    assert [row.asDict() for row in found.collect()] == table.to_pylist()
    assert found.dtypes == [("a", "bigint"), ("s", "string")]
