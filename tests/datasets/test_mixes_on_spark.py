import pytest

from gingham.datasets.mixes import mix_queries, mix_rows

ROWS = 50_000


@pytest.fixture(scope="module")
def some(spark):
    cached = mix_rows(spark, ROWS).cache()
    yield cached
    cached.unpersist()


def test_there_is_an_attribute_of_each_type(some):
    assert dict(some.dtypes) == {
        "ts": "timestamp",
        "device": "string",
        "region": "string",
        "status": "int",
        "bytes": "bigint",
        "latency": "double",
        "price": "decimal(12,2)",
        "level": "string",
        "url": "string",
        "ok": "boolean",
        "day": "date",
        "seen": "timestamp",
    }


def test_keys_have_forty_and_four_values_and_urls_are_many(some):
    [counts] = some.selectExpr(
        "count(DISTINCT device)",
        "count(DISTINCT region)",
        "count(DISTINCT level)",
        "count(DISTINCT url)",
    ).collect()
    assert tuple(counts[:3]) == (40, 4, 6)
    assert counts[3] > 0.8 * ROWS


def test_some_values_are_null_and_no_key_is(some):
    [nulls] = some.selectExpr(
        *(f"count_if({name} IS NULL) / count(*) AS {name}" for name in some.columns)
    ).collect()
    rare = {name: part for name, part in nulls.asDict().items() if part}
    assert rare == {
        "status": pytest.approx(0.02, rel=0.3),
        "latency": pytest.approx(0.05, rel=0.3),
        "level": pytest.approx(0.01, rel=0.3),
        "ok": pytest.approx(0.03, rel=0.3),
    }


def test_any_number_of_rows_spans_six_hours(spark, some):
    for rows in (some, mix_rows(spark, 1000)):
        [(seconds,)] = rows.selectExpr("unix_seconds(max(ts)) - unix_seconds(min(ts))").collect()
        assert seconds == pytest.approx(6 * 3600, rel=0.01)


def test_spark_reads_every_query_of_a_mix(spark, some):
    some.createOrReplaceTempView("events")
    for query in mix_queries(64):
        assert spark.sql(query.sql).columns[: len(query.keys)] == list(query.keys)


def test_the_seed_decides_every_row(spark):
    def digest(seed):
        return mix_rows(spark, 5000, seed).selectExpr("sum(hash(*))", "count(*)").collect()

    assert digest(1) == digest(1)
    assert digest(1) != digest(2)
