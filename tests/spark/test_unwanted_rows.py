"""By cells, rows that no query of a batch run wants make no shard."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from gingham import Loom

QUERIES = (
    "SELECT k, count(*) AS n FROM events WHERE v < 10 GROUP BY k, window(ts, '1 minute')",
    "SELECT k, sum(v) AS s FROM events WHERE v BETWEEN 5 AND 20 GROUP BY k, window(ts, '1 minute')",
)
# Of a key that the others do not have: a grid of its own, of which every row is wanted.
BY_ANOTHER = "SELECT o, max(v) AS m FROM events GROUP BY o, window(ts, '1 minute')"


@pytest.mark.parametrize("queries", [QUERIES, (*QUERIES, BY_ANOTHER)])
def test_rows_that_nobody_wants_make_no_shard(spark: SparkSession, queries: tuple[str, ...]):
    rows = spark.range(6000).selectExpr(
        "timestamp_seconds(id DIV 10) AS ts", "id % 7 AS k", "id % 3 AS o", "id % 100 AS v"
    )
    rows.createOrReplaceTempView("events")
    loom = Loom(spark).stream("events", rows, time="ts")
    names = [loom.add(sql) for sql in queries]
    answers = loom.run(way="cells")
    for name, sql in zip(names, queries, strict=True):
        own = answers.arrow(name)
        expected = spark.sql(sql).toArrow()
        selected = own.select(expected.column_names)
        assert sorted(selected.to_pylist(), key=repr) == sorted(expected.to_pylist(), key=repr)
    part = "CASE WHEN v < 5 THEN 0 WHEN v < 10 THEN 1 ELSE 2 END"
    wanted = rows.where("v <= 20").selectExpr("date_trunc('minute', ts)", "k", part).distinct()
    others = rows.selectExpr("date_trunc('minute', ts)", "o").distinct()
    expected_shards = wanted.count() + (others.count() if BY_ANOTHER in queries else 0)
    assert answers.statistics.shards == expected_shards
