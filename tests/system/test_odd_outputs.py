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


def test_what_cannot_cross_to_python_is_counted_all_the_same(spark: SparkSession):
    """NULL of VARIANT breaks PySpark's toArrow, which a trial of rows relies on."""
    rows = spark.range(60).selectExpr(
        "timestamp_seconds(id) AS ts",
        "id % 3 AS k",
        "nullif(id % 2, 0) AS i",
        "if(id % 3 = 0, NULL, parse_json('[1]')) AS v",
        "if(id % 2 = 0, NULL, named_struct('x', named_struct('y', id))) AS st",
    )
    rows.createOrReplaceTempView("events")
    queries = [
        f"SELECT k, count(v) AS n, count(st) AS m {BY_K}",
        f"SELECT k, count(i) AS n, sum(i) AS s {BY_K}",
        "SELECT count(v) AS n FROM events WHERE k > 1 GROUP BY window(ts, '1 minute')",
        "SELECT count(*) AS n FROM events WHERE v IS NULL GROUP BY window(ts, '1 minute')",
        "SELECT count(i) AS n FROM events WHERE st.x.y > 9 GROUP BY window(ts, '1 minute')",
    ]
    loom = Loom(spark).stream("events", rows, time="ts")
    for number, sql in enumerate(queries):
        loom.add(sql, name=f"q{number}")
    for way in ("auto", "columns"):
        answers = loom.run(way=way)
        for number, sql in enumerate(queries):
            expected = spark.sql(sql).toArrow()
            own = answers.arrow(f"q{number}").select(expected.column_names)
            assert sorted(own.to_pylist(), key=repr) == sorted(expected.to_pylist(), key=repr)
