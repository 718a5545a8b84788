"""What shared queries do to each other: nothing."""

from datetime import UTC, datetime

import pytest
from pyspark.sql import SparkSession

from gingham import AnswerError, Loom

WINDOW = "GROUP BY window(ts, '10 seconds')"


@pytest.fixture
def loom(spark: SparkSession) -> Loom:
    rows = spark.createDataFrame(
        [
            (datetime(2024, 1, 1, 0, 0, s, tzinfo=UTC), "AB"[s % 2], float(s), s % 4)
            for s in range(20)
        ],
        "ts timestamp, symbol string, price double, vol int",
    )
    return Loom(spark).stream("trades", rows, time="ts")


def _column(loom: Loom, name: str, column: str = "n") -> list[object]:
    return [r[column] for r in loom.run()[name].orderBy("window_start").collect()]


def test_a_query_may_guard_its_own_division(loom: Loom):
    loom.add(f"SELECT count(*) AS n FROM trades WHERE vol <> 0 AND 6 / vol > 2 {WINDOW}", name="a")
    loom.add(f"SELECT sum(6 / vol) AS n FROM trades WHERE vol > 0 {WINDOW}", name="b")
    assert _column(loom, "a") == [5, 5]
    assert _column(loom, "b") == [r["n"] for r in loom.alone("b").orderBy("window_start").collect()]


@pytest.mark.parametrize(
    "bad",
    [
        f"SELECT sum(6 / vol) AS n FROM trades {WINDOW}",
        f"SELECT max(6 DIV vol) AS n FROM trades {WINDOW}",
        f"SELECT count(*) AS n FROM trades WHERE 6 / vol > 2 {WINDOW}",
        f"SELECT count(*) AS n FROM trades WHERE 6 % vol = 0 {WINDOW}",
        f"SELECT sum(vol + 2147483647) AS n FROM trades {WINDOW}",
        f"SELECT count(*) AS n FROM trades WHERE CAST(symbol AS INT) > 2 {WINDOW}",
        f"SELECT count(*) AS n, vol / vol AS k FROM trades {WINDOW}, vol / vol",
        f"SELECT sum(CAST(vol + 9e18D AS BIGINT)) AS n FROM trades {WINDOW}",
    ],
)
def test_a_query_that_would_fail_alone_fails_alone(loom: Loom, bad: str):
    loom.add(f"SELECT count(*) AS n FROM trades {WINDOW}", name="good")
    loom.add(bad, name="bad")
    answers = loom.run()
    assert sum(r["n"] for r in answers["good"].collect()) == 20
    with pytest.raises(AnswerError) as failure:
        answers["bad"].collect()
    assert set(answers.failed()) == {"bad"}
    assert failure.value.instead


def test_a_function_that_raises_takes_nobody_down(loom: Loom, spark: SparkSession):
    def fussy(text: str) -> bool:
        if text == "B":
            raise ValueError(text)
        return True

    spark.udf.register("fussy", fussy, "boolean")
    loom.add(f"SELECT count(*) AS n FROM trades {WINDOW}", name="good")
    loom.add(f"SELECT count(*) AS n FROM trades WHERE fussy(symbol) {WINDOW}", name="bad")
    answers = loom.run()
    assert sum(r["n"] for r in answers["good"].collect()) == 20
    assert answers.statistics.apart == ("bad",)


def test_without_ansi_mode_a_division_by_zero_is_null(loom: Loom, spark: SparkSession):
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        loom.add(f"SELECT count(6 / vol) AS n FROM trades {WINDOW}", name="a")
        assert _column(loom, "a") == [7, 8]
    finally:
        spark.conf.set("spark.sql.ansi.enabled", "true")


def test_rows_without_a_time_belong_to_no_window(spark: SparkSession):
    rows = spark.createDataFrame(
        [(None, 1), (datetime(2024, 1, 1, tzinfo=UTC), 2)], "ts timestamp, vol int"
    )
    loom = Loom(spark).stream("trades", rows, time="ts")
    loom.add(f"SELECT sum(vol) AS n FROM trades {WINDOW}", name="a")
    assert _column(loom, "a") == [2]


def test_a_timestamp_without_time_zone_is_an_event_time_too(spark: SparkSession):
    rows = spark.sql("SELECT TIMESTAMP_NTZ '2024-01-01 00:00:05' AS ts, 2 AS vol")
    loom = Loom(spark).stream("trades", rows, time="ts")
    loom.add("SELECT sum(vol) AS n FROM trades [RANGE '3 s' SLIDE '7 s']", name="gaps")
    loom.add(f"SELECT sum(vol) AS n FROM trades {WINDOW}", name="a")
    answers = loom.run()
    for name in loom.queries:
        assert answers[name].collect() == loom.alone(name).collect()
        assert answers[name].dtypes == loom.alone(name).dtypes


def test_removing_a_query_changes_no_other_answer(loom: Loom):
    loom.add(f"SELECT count(*) AS n FROM trades WHERE vol > 1 {WINDOW}", name="a")
    loom.add(f"SELECT count(*) AS n FROM trades WHERE vol > 2 {WINDOW}", name="b")
    before = _column(loom, "a")
    loom.remove("b")
    assert loom.queries == ("a",)
    assert _column(loom, "a") == before


def test_one_table_may_play_two_roles(spark: SparkSession):
    rows = spark.createDataFrame(
        [
            (datetime(2024, 1, 1, tzinfo=UTC), "A", "B"),
            (datetime(2024, 1, 1, tzinfo=UTC), "B", "C"),
        ],
        "ts timestamp, buyer string, seller string",
    )
    people = spark.createDataFrame([("A", 1), ("B", 10)], "name string, rank int")
    loom = Loom(spark).stream("deals", rows, time="ts").table("people", people, key="name")
    loom.add(
        "SELECT sum(b.rank) AS n, sum(s.rank) AS m, count(*) AS all FROM deals d "
        "LEFT JOIN people b ON d.buyer = b.name LEFT JOIN people s ON s.name = d.seller "
        f"{WINDOW}",
        name="ranks",
    )
    row = loom.run()["ranks"].collect()[0]
    assert (row["n"], row["m"], row["all"]) == (11, 10, 2)


def test_a_row_that_finds_no_match_is_dropped_for_those_who_join(spark: SparkSession):
    rows = spark.createDataFrame(
        [(datetime(2024, 1, 1, tzinfo=UTC), s) for s in ("A", "B", "C", None)],
        "ts timestamp, symbol string",
    )
    listing = spark.createDataFrame([("A", True), ("B", None)], "symbol string, big boolean")
    loom = Loom(spark).stream("trades", rows, time="ts").table("listing", listing, key="symbol")
    count = "SELECT count(*) AS n FROM trades"
    loom.add(f"{count} {WINDOW}", name="all")
    loom.add(f"{count} JOIN listing USING (symbol) {WINDOW}", name="listed")
    loom.add(f"{count} LEFT JOIN listing USING (symbol) WHERE NOT big IS TRUE {WINDOW}", name="not")
    assert [_column(loom, n) for n in loom.queries] == [[4], [2], [3]]


def test_many_filters_in_one_query_do_not_multiply_cells(loom: Loom):
    filters = [f"count(*) FILTER (WHERE price > {i} AND vol <> {i} OR symbol = '{i}') AS n{i}"
               for i in range(40)]  # fmt: skip
    loom.add(f"SELECT {', '.join(filters)} FROM trades {WINDOW}", name="many")
    assert loom.plan().forest.cells <= 1 << 16
    assert loom.run()["many"].collect() == loom.alone("many").collect()


def test_explain_says_what_is_shared(loom: Loom):
    loom.add(f"SELECT sum(price) AS n FROM trades WHERE vol > 1 {WINDOW}", name="a")
    loom.add(f"SELECT avg(price) AS n FROM trades WHERE vol > 2 {WINDOW}", name="b")
    text = loom.explain()
    assert "sum(price)   for 2 queries" in text
    assert "CAST(vol AS BIGINT): 3 intervals" in text
