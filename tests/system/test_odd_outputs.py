"""Outputs of rare types are Spark's own, beside those of other queries in the same job."""

from __future__ import annotations

from pyspark.sql import SparkSession

from gingham import Loom

BY_K = "FROM events GROUP BY k, window(ts, '1 minute')"


def test_averages_of_intervals_and_variants_harm_nobody(spark: SparkSession):
    rows = spark.range(60).selectExpr(
        "timestamp_seconds(id) AS ts",
        "make_dt_interval(0, 0, 0, CAST(id AS INT)) AS d",
        "id % 3 AS k",
        "CAST(id AS STRING) AS s",
    )
    rows.createOrReplaceTempView("events")
    queries = {
        "interval": f"SELECT k, count(*) AS n {BY_K} HAVING avg(d) IS NOT NULL AND count(*) > 3",
        "variant": f"SELECT k, CAST(parse_json(max(s)) AS STRING) AS v, parse_json(max(s)) {BY_K}",
        "text": f"SELECT k, right(max(s), 1) AS r {BY_K} HAVING right(max(s), 1) IS NOT NULL",
    }
    loom = Loom(spark).stream("events", rows, time="ts")
    for name, sql in queries.items():
        loom.add(sql, name=name)
    answers = loom.run()
    for name in ("interval", "text"):
        expected = spark.sql(queries[name]).toArrow()
        own = answers.arrow(name).select(expected.column_names)
        assert sorted(own.to_pylist(), key=repr) == sorted(expected.to_pylist(), key=repr)
    assert answers.arrow("variant").num_rows == 3
