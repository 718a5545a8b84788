"""What is wrong is refused when it is added, in three parts, and touches nothing else."""

import pytest
from pyspark.sql import SparkSession

from gingham import CatalogError, Loom, QueryError
from gingham.spark.spark_session import with_settings

WINDOW = "GROUP BY window(ts, '10 seconds')"


@pytest.fixture
def loom(spark: SparkSession) -> Loom:
    rows = spark.createDataFrame(
        [("2024-01-01 00:00:01", "A", 1.5, 10), ("2024-01-01 00:00:02", "B", 2.5, 20)],
        "t string, symbol string, price double, vol int",
    ).selectExpr("to_timestamp(t) AS ts", "symbol", "price", "vol")
    listing = spark.createDataFrame([("A", True), ("B", False)], "symbol string, r1000 boolean")
    loom = Loom(spark).stream("trades", rows, time="ts").table("listing", listing, key="symbol")
    loom.add(f"SELECT count(*) AS n FROM trades {WINDOW}", name="good")
    return loom


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        ("SELEC count(*) FROM trades", "does not parse"),
        (f"SELECT count(* FROM trades {WINDOW}", "does not parse"),
        (f"INSERT INTO trades SELECT 1 {WINDOW}", "INSERT instead of a SELECT"),
        (f"SELECT sum(prise) AS p FROM trades {WINDOW}", "there is no column prise"),
        (f"SELECT sum(t.price) AS p FROM trades {WINDOW}", "there is no column t.price"),
        (f"SELECT count(*) AS n FROM trade {WINDOW}", "there is no stream trade"),
        (f"SELECT count(*) AS n FROM listing {WINDOW}", "listing is a table"),
        (f"SELECT count(*) AS n FROM trades JOIN lst USING (symbol) {WINDOW}", "no table lst"),
        (f"SELECT count(*) AS n FROM trades JOIN listing USING (vol) {WINDOW}", "not joined by"),
        (f"SELECT count(*) AS n FROM trades RIGHT JOIN listing USING (symbol) {WINDOW}", "RIGHT"),
        ("SELECT count(*) AS n FROM trades", "no window"),
        (f"SELECT count(*) AS n FROM trades {WINDOW}, window(ts, '1 second')", "two windows"),
        (f"SELECT count(*) AS n FROM trades [RANGE '1 s' SLIDE '1 s'] {WINDOW}", "two windows"),
        ("SELECT count(*) AS n FROM trades [RANGE '5 min']", "incomplete window"),
        ("SELECT count(*) AS n FROM trades [SLIDE '5 min']", "incomplete window"),
        ("SELECT count(*) AS n FROM trades [RANGE '0 s' SLIDE '5 s']", "range 0 s"),
        ("SELECT count(*) AS n FROM trades [RANGE '5 s' SLIDE '0 s']", "slide 0 s"),
        ("SELECT count(*) AS n FROM trades [RANGE '-5 s' SLIDE '5 s']", "range -5 s"),
        ("SELECT count(*) AS n FROM trades [ROWS 10]", "incomplete window"),
        ("SELECT count(*) AS n FROM trades [ROWS SLIDE 5]", "incomplete window"),
        ("SELECT count(*) AS n FROM trades [ROWS 10 SLIDE 0]", "slide 0 rows"),
        ("SELECT count(*) AS n FROM trades [ROWS 10 SLIDE '5 s']", "'5 s' as a number of rows"),
        ("SELECT count(*) AS n FROM trades [ROWS 1.5 SLIDE 1]", "1.5 as a number of rows"),
        ("SELECT count(*) AS n FROM trades [ROWS -5 SLIDE 1]", "-5 as a number of rows"),
        ("SELECT count(*) AS n FROM trades [ROWS 10 SLIDE 5 PER]", "PER without a column"),
        (
            "SELECT count(*) AS n FROM trades [ROWS 10 SLIDE 5 PER symbol]",
            "without symbol in GROUP",
        ),
        (
            "SELECT symbol, count(*) AS n FROM trades [ROWS 9 SLIDE 3 PER symbol, x] GROUP BY 1",
            "there is no column x",
        ),
        (
            "SELECT 1 AS n FROM trades [ROWS 9 SLIDE 3 PER r1000], listing GROUP BY r1000",
            "listing is not joined by its key",
        ),
        (
            "SELECT 1 FROM trades t [ROWS 9 SLIDE 3 PER l.symbol] JOIN listing l USING (symbol)",
            "PER l.symbol",
        ),
        ("SELECT 1 AS n FROM trades [ROWS 9 SLIDE 3 PER vol + 1] GROUP BY vol + 1", "PER vol + 1"),
        ("SELECT count(*) AS n FROM trades [ROWS 9 SLIDE 3] [ROWS 9 SLIDE 3]", "two windows"),
        (f"SELECT count(*) AS n FROM trades [ROWS 9 SLIDE 3] {WINDOW}", "two windows"),
        ("SELECT count(*) AS n FROM trades [ROWS 1000000 SLIDE 1]", "range 1,000,000 rows"),
        ("SELECT window.start + INTERVAL 1 DAY AS d FROM trades [ROWS 9 SLIDE 3]", "Spark refuses"),
        ("SELECT count(*) AS n FROM trades GROUP BY window(ts, '-1 minute')", "range -1 min"),
        ("SELECT count(*) AS n FROM trades GROUP BY window(ts, '1 month')", "not a fixed length"),
        ("SELECT count(*) AS n FROM trades GROUP BY window(ts, 'soon')", "not a length of time"),
        ("SELECT count(*) AS n FROM trades GROUP BY window(price, '1 seconds')", "window(price"),
        ("SELECT count(*) AS n FROM trades GROUP BY window(ts, '1 day', '5 days')", "slide is"),
        (f"SELECT vol FROM trades {WINDOW}", "neither grouped by nor aggregated"),
        (f"SELECT count(DISTINCT vol) AS n FROM trades {WINDOW}", "exact DISTINCT"),
        (f"SELECT collect_list(vol) AS n FROM trades {WINDOW}", "collect_list cannot be shared"),
        (f"SELECT first(vol) AS n FROM trades {WINDOW}", "first cannot be shared"),
        (f"SELECT median(vol) AS n FROM trades {WINDOW}", "median cannot be shared"),
        (f"SELECT sum(sum(vol)) OVER () AS n FROM trades {WINDOW}", "a window function"),
        (
            f"SELECT count(*) AS n FROM trades WHERE vol > (SELECT 1) {WINDOW}",
            "a subquery",
        ),
        (f"SELECT count(*) AS n FROM trades WHERE rand() > 0.5 {WINDOW}", "rand()"),
        (f"SELECT count(*) AS n FROM trades {WINDOW} ORDER BY n", "ORDER in a query"),
        (f"SELECT count(*) AS n, sum(vol) AS n FROM trades {WINDOW}", "two columns named n"),
        (f"SELECT sum(symbol + 1) AS n FROM trades WHERE nosuch(vol) {WINDOW}", "UNRESOLVED"),
        (f"SELECT sum(array(vol)) AS n FROM trades {WINDOW}", "DATATYPE_MISMATCH"),
        (f"SELECT count(*) AS n FROM trades WHERE vol + 1 {WINDOW}", "DATATYPE_MISMATCH"),
    ],
)
def test_a_bad_query_is_refused_in_three_parts(loom: Loom, sql: str, what: str):
    with pytest.raises(QueryError) as refused:
        loom.add(sql, name="bad")
    assert what in refused.value.what
    assert refused.value.what.startswith("query 'bad': ")
    assert refused.value.why
    assert refused.value.instead
    assert loom.queries == ("good",)


def test_a_refused_query_leaves_the_others_running(loom: Loom):
    with pytest.raises(QueryError):
        loom.add("SELECT", name="bad")
    assert [r["n"] for r in loom.run()["good"].collect()] == [2]


def test_two_queries_of_one_name_are_refused(loom: Loom):
    with pytest.raises(QueryError, match="two queries named 'good'"):
        loom.add(f"SELECT count(*) AS n FROM trades {WINDOW}", name="good")


def test_a_query_that_is_not_there_cannot_be_removed(loom: Loom):
    with pytest.raises(QueryError, match="there is no query 'better'"):
        loom.remove("better")


def test_a_table_whose_key_is_not_unique_is_refused(loom: Loom, spark: SparkSession):
    twice = spark.createDataFrame(
        [("A", 1), ("A", 2), (None, 3), (None, 4)], "symbol string, x int"
    )
    with pytest.raises(CatalogError, match="key of table 'twice' is not unique") as refused:
        loom.table("twice", twice, key="symbol")
    assert "symbol = 'A' stands in 2 rows" in refused.value.why


def test_null_keys_find_nothing_and_may_repeat(loom: Loom, spark: SparkSession):
    nulls = spark.createDataFrame([("A", 1), (None, 3), (None, 4)], "symbol string, x int")
    loom.table("nulls", nulls, key="symbol")
    loom.add(f"SELECT sum(x) AS x FROM trades LEFT JOIN nulls USING (symbol) {WINDOW}", name="x")
    assert [r["x"] for r in loom.run()["x"].collect()] == [1]


def test_a_stream_needs_a_time_column(loom: Loom, spark: SparkSession):
    rows = spark.range(1)
    with pytest.raises(CatalogError, match="has no column 'ts'"):
        loom.stream("more", rows, time="ts")
    with pytest.raises(CatalogError, match="id of stream 'more' is a bigint"):
        loom.stream("more", rows, time="id")


def test_a_name_is_registered_once(loom: Loom, spark: SparkSession):
    with pytest.raises(CatalogError, match="'listing' is registered already"):
        loom.table("listing", spark.range(1), key="id")


@pytest.mark.parametrize("name", ["", 7, "x" * 10_000])
def test_names_that_cannot_be_used_are_refused_wherever_they_are_given(
    loom: Loom, spark: SparkSession, name: str
):
    count = f"SELECT count(*) AS n FROM trades {WINDOW}"
    with pytest.raises(QueryError, match="name of a query"):
        loom.add(count, name=name)
    with pytest.raises(QueryError, match="name of a query"):
        loom.replace({name: count})
    with pytest.raises(CatalogError, match="name of a stream"):
        loom.stream(name, spark.range(1), time="id")
    with pytest.raises(CatalogError, match="name of a table"):
        loom.table(name, spark.range(1), key="id")
    sketches = loom.sketch(budget=1000)
    with pytest.raises(QueryError, match="name of a query"):
        sketches.add("SELECT count(*) FROM trades", name=name)
    with pytest.raises(CatalogError, match="name of a relation"):
        sketches.relation(name, spark.range(1))
    assert loom.queries == ("good",)


def test_a_query_that_is_not_there_is_not_run_alone_either(loom: Loom):
    with pytest.raises(QueryError, match="there is no query 'better'"):
        loom.alone("better")


def test_a_backslash_is_refused_where_spark_takes_it_for_itself(loom: Loom, spark: SparkSession):
    sql = r"SELECT count(*) FROM trades WHERE symbol = 'a\nb' GROUP BY window(ts, '5 seconds')"
    loom.add(sql, name="escape")
    with (
        with_settings(spark, {"spark.sql.parser.escapedStringLiterals": "true"}),
        pytest.raises(QueryError, match="a backslash in a query"),
    ):
        loom.add(sql, name="raw")
