"""Joins estimated on Spark: against exact joins, and bit for bit against sketches of all rows."""

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from gingham import AnswerError, CatalogError, Estimator, GinghamError, Histogram, Loom, QueryError
from gingham.core import names
from gingham.estimates.algebra import sketch
from gingham.estimates.planning.sketch_table import SketchTable
from gingham.estimates.spark.sketch_pass import SketchPasses, group_rows, make_sketcher

EPOCH = datetime(2024, 1, 1, tzinfo=UTC)
ROWS = 400
SEEDS = 200


def _table(seed: int, columns: dict[str, int]) -> pa.Table:
    """Skewed keys, some of them NULL; an amount; a time, which some rows have not."""
    random = np.random.default_rng(seed)

    def column(values: np.ndarray, kind: pa.DataType, share: float = 0.05) -> pa.Array:
        return pa.array(values, mask=random.random(ROWS) < share).cast(kind)

    found = {
        name: column((random.random(ROWS) ** 2 * domain).astype(int), pa.int64())
        for name, domain in columns.items()
    }
    found["x"] = column(random.integers(-5, 50, ROWS), pa.int32())
    micros = random.integers(0, 60 * 10**6, ROWS) + int(EPOCH.timestamp()) * 10**6
    found["ts"] = column(micros, pa.timestamp("us", "UTC"))
    return pa.table(found)


TABLES = {
    "r": _table(1, {"a": 9}),
    "s": _table(2, {"a": 9, "b": 7}),
    "t": _table(3, {"b": 7, "c": 5}),
    "u": _table(4, {"c": 5}),
}
STREAMS = ("r", "s")
BUDGET = 6000  # words, so that every query has copies enough for an interval
QUERIES = {
    "pair": "SELECT count(*) FROM r, s WHERE r.a = s.a",
    "chain": "SELECT count(*) FROM r, s, t WHERE r.a = s.a AND s.b = t.b",
    "long": "SELECT count(*) FROM r, s, t, u WHERE r.a = s.a AND s.b = t.b AND t.c = u.c",
    "two": "SELECT count(*) FROM s JOIN s AS z ON s.a = z.a AND s.b = z.b",
    "self": "SELECT count(*) FROM r AS p, r AS q WHERE p.a = q.a",
    "sum": "SELECT sum(s.x) FROM r, s WHERE r.a = s.a",
    "product": "SELECT sum(r.x * s.x) FROM r JOIN s USING (a)",
    "known": "SELECT count(s.x) FROM r JOIN s USING (a)",
    "average": "SELECT avg(s.x) FROM r, s WHERE r.a = s.a",
    "average of some": "SELECT avg(r.x * s.x) FROM r, s WHERE r.a = s.a AND r.x > 10",
    "some": "SELECT count(*) FROM r, s WHERE r.a = s.a AND r.x > 10",
    "others": "SELECT count(*) FROM r, s WHERE r.a = s.a AND NOT r.x > 10",
    "less": "SELECT sum(r.x) FROM r, s WHERE r.a = s.a AND r.x > 20 AND s.x BETWEEN 3 AND 30",
    "odd": "SELECT count(*) FROM t, u WHERE t.c = u.c AND t.b % 2 = 1",
    "computed": "SELECT count(*) FROM r, t WHERE r.a + 1 = t.c",
}
WINDOW = "window(ts, '20 seconds', '10 seconds')"
WINDOWED = {
    "tumbling": (
        "SELECT count(*) FROM r, s WHERE r.a = s.a GROUP BY window(ts, '15 seconds')",
        "window(r.ts, '15 seconds') = window(s.ts, '15 seconds')",
    ),
    "sliding": (f"SELECT sum(s.x) FROM r, s WHERE r.a = s.a AND r.x > 5 GROUP BY {WINDOW}", None),
    "averaged": (f"SELECT avg(s.x) FROM r, s WHERE r.a = s.a GROUP BY {WINDOW}", None),
    "with a table": (
        "SELECT count(*) FROM s, t WHERE s.b = t.b GROUP BY window(s.ts, '20 seconds')",
        None,
    ),
}


@pytest.fixture(scope="module")
def loom(spark: SparkSession) -> Loom:
    loom = Loom(spark)
    for name, table in TABLES.items():
        rows = spark.createDataFrame(table).repartition(3).cache()
        rows.createOrReplaceTempView(name)
        if name in STREAMS:
            loom.stream(name, rows, time="ts")
    return loom


def _sketches(loom: Loom, budget: int = BUDGET) -> Estimator:
    sketches = loom.sketch(budget=budget)
    for name in TABLES:
        if name not in STREAMS:
            sketches.relation(name, loom.spark.table(name))
    return sketches


def _row(answers, name: str) -> dict:
    [row] = answers.arrow(name).to_pylist()
    return row


def _with_all(loom: Loom, *, windowed: bool = False) -> Estimator:
    sketches = _sketches(loom)
    for name, sql in QUERIES.items():
        sketches.add(sql, name=name)
    for name, (sql, _) in WINDOWED.items() if windowed else ():
        sketches.add(sql, name=name)
    return sketches


def test_estimates_hold_what_spark_counts_exactly(loom: Loom):
    answers = _with_all(loom).run()
    assert tuple(answers) == tuple(QUERIES)
    for name, sql in QUERIES.items():
        row = _row(answers, name)
        assert row["lower"] <= loom.spark.sql(sql).collect()[0][0] <= row["upper"]
        assert math.isfinite(row["lower"])
        assert math.isfinite(row["upper"])
        assert 0 < row["words"] <= BUDGET


def test_over_many_seeds_estimates_are_right_on_average_and_intervals_hold(loom: Loom):
    """The mean over seeds lies within three standard errors of the truth, for every query.

    A right mean is further off for one query in 370. The seeds are always the same, so what holds
    once holds for ever, and only another way to compute signs could meet that one.
    """
    sketches = _with_all(loom)
    plan = sketches.plan()
    groups = {
        one: group_rows(loom.spark.table(one.relation), one, None, None).toArrow().to_batches()
        for one in plan.passes
    }
    found: dict[str, list[dict]] = {name: [] for name in QUERIES}
    for seed in range(SEEDS):
        seeded = replace(plan, sharing=replace(plan.sharing, seed=seed))
        parts = [p for one, rows in groups.items() for p in make_sketcher(seeded, one, None)(rows)]
        made = SketchTable(pa.Table.from_batches(parts), seeded.sharing)
        for query in plan.queries:
            answer = sketches._session.estimate(query, plan, made, None).table
            found[query.name] += answer.to_pylist()
    for name, rows in found.items():
        truth = loom.spark.sql(QUERIES[name]).collect()[0][0]
        estimates = np.array([row["estimate"] for row in rows])
        error = estimates.std(ddof=1) / math.sqrt(SEEDS)
        assert abs(estimates.mean() - truth) <= 3 * error, name
        assert np.mean([row["lower"] <= truth <= row["upper"] for row in rows]) >= 0.95, name
        assert all(math.isfinite(row["upper"]) for row in rows), name


def test_executors_make_the_same_sketches_bit_for_bit(loom: Loom):
    here = _counters(_with_all(loom, windowed=True))
    sketches = _with_all(loom, windowed=True)
    sketches._session = replace(sketches._session, _passes=SketchPasses(driver_work=0))
    there = _counters(sketches)
    assert sketches._session._passes.on_executors == {
        one.relation for one in sketches.plan().passes
    }
    assert here.sharing == there.sharing
    for vertex in here.sharing.vertices:
        one, other = (table.of(vertex.number) for table in (here, there))
        assert one.counters.any() or one.timeless.any()
        for part in ("instants", "counters", "timeless"):
            assert getattr(one, part).tolist() == getattr(other, part).tolist()


def _counters(sketches: Estimator) -> SketchTable:
    plan, session = sketches.plan(), sketches._session
    rows = {one.relation: session.source(one.relation).rows for one in plan.passes}
    return SketchTable(session.sketch(plan, rows), plan.sharing)


def _masked(column: pa.ChunkedArray) -> np.ndarray:
    return np.ma.MaskedArray(column.fill_null(0).to_numpy(), column.is_null().to_numpy())


def _expected(plan, name: str, rows: pa.Table):
    """Sketches of all rows at once, without Spark."""
    attributes = {a for v in plan.of(name) for a in v.attributes}
    keys = {a: _masked(rows[a]) for a in attributes}
    x = rows["x"].fill_null(0).to_numpy()
    return sketch(
        plan, name, keys, sums={v.measure: x for v in plan.of(name) if v.measure}
    ).counters


@pytest.mark.parametrize("partitions", [1, 2, 7])
def test_sketches_of_partitions_are_those_of_the_whole(loom: Loom, partitions: int):
    sketches = loom.sketch(budget=500)
    for name, table in TABLES.items():
        if name not in STREAMS:
            rows = loom.spark.createDataFrame(table).repartition(partitions)
            sketches.relation(name, rows)
    sketches.add("SELECT sum(t.x) FROM t, u WHERE t.c = u.c", name="sum")
    sketches.add("SELECT count(*) FROM t AS p, t AS q WHERE p.b = q.b AND p.c = q.c", name="self")
    found = _counters(sketches)
    for name in ("t", "u"):
        for vertex, counters in _expected(found.sharing, name, TABLES[name]).items():
            assert found.of(vertex).total().counters[0].tolist() == counters.tolist()


def test_slices_add_up_to_windows_bit_for_bit(loom: Loom):
    sketches = _sketches(loom, budget=400)
    for name, (sql, _) in WINDOWED.items():
        if name != "sliding":
            sketches.add(sql, name=name)
    sketches.add("SELECT sum(s.x) FROM r, s WHERE r.a = s.a", name="sum")
    found = _counters(sketches)
    for query in sketches.plan().queries:
        window = query.query.window
        for vertex in {v for f in found.sharing.factors[query.name] for v, _ in f}:
            relation = found.sharing.vertices[vertex].relation
            table = TABLES[relation]
            if window is None or relation not in STREAMS:
                expected = _expected(found.sharing, relation, table)[vertex]
                assert found.of(vertex).total().counters[0].tolist() == expected.tolist()
                continue
            micros = table["ts"].cast(pa.int64()).fill_null(-1).to_numpy()
            starts = window.starts_meeting(int(micros[micros >= 0].min()), int(micros.max()) + 1)
            sums = found.of(vertex).windows(starts, window).counters
            for start, counters in zip(starts.tolist(), sums, strict=True):
                inside = (micros >= start) & (micros < start + window.range)
                rows = table.filter(pa.array(inside))
                expected = _expected(found.sharing, relation, rows)[vertex]
                assert counters.tolist() == expected.tolist()


def test_windows_hold_what_spark_counts_exactly(loom: Loom):
    sketches = _sketches(loom, budget=12_000)
    for name, (sql, _) in WINDOWED.items():
        sketches.add(sql, name=name)
    answers = sketches.run()
    held = []
    for name in WINDOWED:
        query = sketches._queries[name].query
        for row in answers[name].collect():
            bounds = row[names.WINDOW_START], row[names.WINDOW_END]
            assert bounds[1] - bounds[0] == timedelta(microseconds=query.window.range)
            text = query.text.partition("GROUP BY")[0]
            for alias, relation in query.relations.items():
                if relation in STREAMS:
                    low, high = (b.strftime("TIMESTAMP '%Y-%m-%d %H:%M:%S'") for b in bounds)
                    text += f" AND {alias}.ts >= {low} AND {alias}.ts < {high}"
            truth = loom.spark.sql(text).collect()[0][0] or 0
            held.append(row["lower"] <= truth <= row["upper"])
    assert len(held) > 12
    assert np.mean(held) >= 0.95


def test_a_window_without_rows_of_one_stream_has_no_answer(loom: Loom, spark: SparkSession):
    def stream(seconds: list[int]):
        rows = [(EPOCH + timedelta(seconds=s), 1) for s in seconds]
        return spark.createDataFrame(rows, "ts timestamp, k int")

    loom = Loom(spark).stream("p", stream([1, 11]), time="ts").stream("q", stream([2]), time="ts")
    sketches = loom.sketch(budget=10)
    sketches.add(
        "SELECT count(*) FROM p, q WHERE p.k = q.k GROUP BY window(ts, '10 seconds')", name="w"
    )
    [row] = sketches.run()["w"].collect()
    assert row["window_start"].replace(tzinfo=UTC) == EPOCH
    assert row["estimate"] == 1


@pytest.mark.parametrize(
    "kind", ["string", "double", "float", "date", "timestamp", "timestamp_ntz", "boolean",
             "binary", "decimal(12,3)", "decimal(30,3)", "tinyint", "bigint"]
)  # fmt: skip
def test_equal_keys_of_any_type_meet(spark: SparkSession, kind: str):
    value = {
        "string": "concat('k', id)", "date": "date_from_unix_date(CAST(id AS INT))",
        "timestamp": "timestamp_seconds(id)", "boolean": "id % 2 = 0",
        "timestamp_ntz": "CAST(timestamp_seconds(id) AS TIMESTAMP_NTZ)",
        "binary": "CAST(concat('k', id) AS BINARY)",
    }.get(kind, f"CAST(id AS {kind})")  # fmt: skip
    rows = spark.range(5).selectExpr(f"IF(id = 4, NULL, {value}) AS k")
    sketches = Loom(spark).sketch(budget=2000).relation("p", rows).relation("q", rows)
    sketches.add("SELECT count(*) FROM p, q WHERE p.k = q.k", name="n")
    row = _row(sketches.run(), "n")
    assert row["lower"] <= (8 if kind == "boolean" else 4) <= row["upper"]
    assert row["upper"] - row["lower"] < 4


def test_nan_meets_nan_and_the_zeros_meet(spark: SparkSession):
    rows = spark.sql("SELECT explode(array(double('NaN'), double('0.0'), double('-0.0'))) AS k")
    sketches = Loom(spark).sketch(budget=2000).relation("p", rows)
    sketches.relation("q", spark.sql("SELECT explode(array(double('NaN'), 0D)) AS k"))
    sketches.add("SELECT count(*) FROM p, q WHERE p.k = q.k", name="n")
    row = _row(sketches.run(), "n")
    assert row["estimate"] == pytest.approx(3, abs=0.5)


def test_decimals_are_summed_exactly(spark: SparkSession):
    rows = spark.range(100).selectExpr("id % 1 AS k", "CAST(id AS DECIMAL(10, 2)) / 4 AS price")
    rows = rows.selectExpr("k", "CAST(price AS DECIMAL(12, 3)) AS price")
    sketches = Loom(spark).sketch(budget=10).relation("p", rows).relation("q", rows.limit(1))
    sketches.add("SELECT sum(p.price * 2) FROM p, q WHERE p.k = q.k", name="n")
    small = "CAST(p.price AS DECIMAL(38, 30)) / 1000000"
    sketches.add(f"SELECT sum(CAST({small} AS DECIMAL(38, 9))) FROM p, q WHERE p.k = q.k", name="m")
    # One key only: every copy is exact.
    answers = sketches.run()
    assert _row(answers, "n")["estimate"] == pytest.approx(2 * 4950 / 4)
    assert _row(answers, "m")["estimate"] == pytest.approx(4950 / 4e6)


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        ("SELECT count(*) FROM r, named WHERE r.a = named.k", "joins bigint with string"),
        ("SELECT count(*) FROM r, u WHERE r.a = CAST(u.c AS DOUBLE)", "joins bigint with double"),
        ("SELECT count(*) FROM r, s WHERE array(r.a) = array(s.a)", "joins a array<bigint>"),
        ("SELECT sum(CAST(x AS DOUBLE)) FROM r JOIN u ON a = c AND r.x = u.x", "ambiguous"),
        ("SELECT sum(r.x * 0.5D) FROM r, u WHERE a = c", "of type double"),
        ("SELECT sum(named.k) FROM named, r WHERE named.k = CAST(r.a AS STRING)", "type string"),
        ("SELECT count(*) FROM r, u WHERE a = c AND r.x + 1", "DATATYPE_MISMATCH"),
        ("SELECT count(*) FROM r, u WHERE a = c AND nosuch(r.x)", "UNRESOLVED"),
        ("SELECT count(*) FROM r, u WHERE a = c AND r.x < u.x", "no equality"),
    ],
)
def test_a_bad_query_is_refused_in_three_parts(loom: Loom, sql: str, what: str):
    sketches = _sketches(loom)
    sketches.relation("named", loom.spark.sql("SELECT 'k' AS k"))
    sketches.add(QUERIES["pair"], name="good")
    with pytest.raises(QueryError) as refused:
        sketches.add(sql, name="bad")
    assert what in refused.value.what
    assert refused.value.what.startswith("query 'bad': ")
    assert refused.value.why
    assert refused.value.instead
    assert sketches.queries == ("good",)


@pytest.fixture(scope="module")
def one_key(spark: SparkSession) -> Loom:
    """Two relations, p and q, with one key: every copy of a sketch is exact."""
    rows = spark.sql(r"""
        SELECT 1 AS k, x, x AS `order`, x % 2 AS `case`, named_struct('f', x) AS s, array(x) AS arr,
               CASE x WHEN 1 THEN "it's" WHEN 2 THEN 'its' WHEN 3 THEN 'C:\\x'
                      ELSE 'a_b' END AS text,
               TIMESTAMP '2024-01-01 00:00:00' + make_interval(0, 0, 0, 0, x) AS ts
        FROM (SELECT explode(sequence(1, 12)) AS x)""")
    for name in ("p", "q"):
        rows.createOrReplaceTempView(name)
    return Loom(spark).stream("p", rows, time="ts").stream("q", rows, time="ts")


def _equals_spark(loom: Loom, sql: str) -> bool:
    """Whether an estimate over one key is what Spark computes from the same characters."""
    sketches = loom.sketch(budget=20)
    sketches.add(sql, name="n")
    return _row(sketches.run(), "n")["estimate"] == float(loom.spark.sql(sql).collect()[0][0])


@pytest.mark.parametrize(
    "condition",
    [
        "p.text = 'it''s'",
        r"(p.text = 'it\'s' OR p.text = 'C:\\x')",
        r"p.text = r'C:\x'",
        "p.text LIKE 'a__'",
        "p.ts - INTERVAL 1 HOUR 30 MINUTES > TIMESTAMP '2024-01-01 02:00:00'",
        "log10(p.x) >= 1",
        "p.`order` > 2 AND q.`case` = 1",
        "(p.x > 1 AND (q.x < 9)) AND NOT p.x = 5",
        "p.x BETWEEN 2 AND 4 AND q.x IN (1, 2)",
        "q.x IS DISTINCT FROM 2 -- a remark\n AND p.s.f > /* another */ 1",
        "exists(p.arr, x -> x > 3)",
        "X'31' = encode(p.`case`, 'utf-8') AND extract(day FROM q.ts) = 1",
        "CASE WHEN p.x > 1 THEN TRUE ELSE p.x::string = '1' END",
    ],
)
def test_a_condition_means_what_spark_reads_in_it(one_key: Loom, condition: str):
    assert _equals_spark(one_key, f"SELECT count(*) FROM p, q WHERE p.k = q.k AND {condition}")


@pytest.mark.parametrize(
    "aggregate",
    [
        "sum(2 * p.x * (q.x * p.`order`))",
        "sum(-p.x * -q.x)",
        "sum(p.x DIV 2 * q.x)",
        "sum(CASE WHEN p.x > 1 THEN 1 ELSE 0 END * q.x)",
        "sum(p.arr[0] * abs(q.x - 3))",
        "count(q.text)",
        "avg(p.x)",
        "mean(q.x * p.x)",
        "avg(nullif(p.x, 3) * q.x)",
        "avg(CAST(p.x AS DECIMAL(10, 2)))",
    ],
)
def test_a_measure_means_what_spark_reads_in_it(one_key: Loom, aggregate: str):
    assert _equals_spark(one_key, f"SELECT {aggregate} FROM p JOIN q USING (k)")


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT window.start, count(*) FROM p, q WHERE p.k = q.k GROUP BY {WINDOW}",
        f"SELECT {WINDOW} AS w, count(*) AS n FROM p, q WHERE p.k = q.k GROUP BY w",
        f"SELECT count(*), window FROM p JOIN q USING (k) GROUP BY ({WINDOW})",
        "SELECT count(*) FROM p [RANGE '3 s' SLIDE '2 s'], q WHERE p.k = q.k",
    ],
)
def test_bounds_of_windows_may_be_selected(one_key: Loom, sql: str):
    sketches = one_key.sketch(budget=20)
    sketches.add(sql, name="n")
    assert sketches.run().arrow("n")["estimate"].to_pylist()


def test_what_spark_reads_in_another_way_is_refused(one_key: Loom):
    legacy = "spark.sql.legacy.consecutiveStringLiterals.enabled"
    one_key.spark.conf.set(legacy, "true")  # 'it''s' is 'its' now
    sketches = one_key.sketch(budget=20)
    try:
        with pytest.raises(QueryError, match="without changing its meaning"):
            sketches.add("SELECT count(*) FROM p JOIN q USING (k) WHERE p.text = 'it''s'")
    finally:
        one_key.spark.conf.unset(legacy)
    assert sketches.queries == ()


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        ("SELECT count(*) FROM p, q WHERE p.k = q.k AND reflect('A', 'b') = '1'", "reflect"),
        ("SELECT count(*) FROM p, q WHERE p.k = q.k AND rand() < 0.5", "rand()"),
        ("SELECT count(*) FROM p TABLESAMPLE (10 ROWS), q WHERE p.k = q.k", "TABLESAMPLE"),
        ("SELECT count(*) FROM p, q WHERE p.k = q.k AND " + "NOT " * 5_000 + "p.x > 1", "NOTs"),
        ("SELECT count(*) FROM p, q WHERE p.k = q.k AND p.text = 'i" + "t" * 200_000 + "'", "char"),
        ("SELECT count(*) FROM p, q WHERE p.k = q.k GROUP BY window(ts, '10 s')", "Spark refuses"),
    ],
)
def test_what_may_do_harm_or_has_no_end_is_refused(one_key: Loom, sql: str, what: str):
    with pytest.raises(QueryError) as refused:
        one_key.sketch(budget=20).add(sql)
    assert what in refused.value.what


def test_a_key_that_raises_is_evaluated_for_rows_of_its_query_only(one_key: Loom):
    sql = "SELECT count(*) FROM p, q WHERE 12 DIV (p.x - 1) = q.x AND p.x > 1"
    sketches = one_key.sketch(budget=4000)
    sketches.add(sql, name="n")
    row = _row(sketches.run(), "n")
    assert row["lower"] <= one_key.spark.sql(sql).collect()[0][0] <= row["upper"]


def test_a_budget_below_one_word_for_each_sketch_is_refused_when_a_query_is_added(loom: Loom):
    sketches = _sketches(loom, budget=3)
    sketches.add(QUERIES["chain"], name="chain")
    with pytest.raises(GinghamError, match="word"):
        sketches.add(QUERIES["long"], name="long")
    assert sketches.queries == ("chain",)


@pytest.mark.parametrize("condition", ["TRUE", "FALSE", "1 = 1", "r.x > 10 AND FALSE"])
@pytest.mark.parametrize("window", ["", " GROUP BY window(ts, '20 seconds')"])
def test_conditions_may_be_constant(loom: Loom, condition: str, window: str):
    sketches = _sketches(loom)
    sketches.add(f"{QUERIES['pair']} AND {condition}{window}", name="n")
    rows = sketches.run().arrow("n").to_pylist()
    assert ("window_start" in rows[0]) if window and rows else True
    assert all((row["estimate"] == 0) == ("FALSE" in condition) for row in rows)


def test_a_relation_without_rows_joins_nothing(loom: Loom):
    sketches = _sketches(loom)
    sketches.relation("empty", loom.spark.createDataFrame([], "k bigint, x int"))
    sketches.add("SELECT sum(empty.x) FROM empty, u WHERE k = c", name="one")
    sketches.add("SELECT count(*) FROM empty p, empty q WHERE p.k = q.k AND p.x = 1", name="two")
    answers = sketches.run()
    assert [_row(answers, name)["estimate"] for name in sketches.queries] == [0, 0]


def test_names_are_used_once(loom: Loom):
    sketches = _sketches(loom)
    sketches.add(QUERIES["pair"], name="pair")
    with pytest.raises(QueryError, match="two queries named 'pair'"):
        sketches.add(QUERIES["sum"], name="pair")
    with pytest.raises(CatalogError, match="'R' is registered already"):
        sketches.relation("R", loom.spark.range(1))
    with pytest.raises(QueryError, match="there is no query 'sum'"):
        sketches.remove("sum")
    with pytest.raises(AnswerError, match="there is no query 'sum'"):
        sketches.run()["sum"]


@pytest.mark.parametrize("value", ["9223372036854775807", "9e37BD"])
def test_a_sum_beyond_64_bits_fails_alone(loom: Loom, value: str):
    sketches = _sketches(loom)
    huge = loom.spark.sql(f"SELECT explode(array(1, 1, 2)) AS k, {value} AS x")
    sketches.relation("huge", huge)
    sketches.add("SELECT sum(huge.x) FROM huge, r WHERE k = a", name="huge")
    sketches.add(QUERIES["pair"], name="pair")
    answers = sketches.run()
    assert set(answers.failed()) == {"huge"}
    with pytest.raises(AnswerError, match="overflows"):
        answers["huge"]
    assert _row(answers, "pair")["estimate"] > 0


def test_what_is_counted_outlives_a_sum_beyond_64_bits(loom: Loom):
    sketches = _sketches(loom)
    huge = loom.spark.sql("SELECT explode(array(1, 1, 2)) AS k, 9223372036854775807 AS x")
    sketches.relation("huge", huge)
    sketches.add("SELECT sum(huge.x) FROM huge, r WHERE k = a", name="sum")
    sketches.add("SELECT count(*) FROM huge, r WHERE k = a", name="count")
    answers = sketches.run()
    assert set(answers.failed()) == {"sum"}
    assert _row(answers, "count")["estimate"] > 0


def test_a_query_whose_conditions_exclude_each_other_has_windows(loom: Loom):
    sketches = _sketches(loom)
    grouped = "GROUP BY window(s.ts, '20 seconds')"
    joined = "SELECT count(*) FROM s, t WHERE s.b = t.b"
    sketches.add(f"{joined} AND s.x > 5 {grouped}", name="some")
    sketches.add(f"{joined} AND s.x > 5 AND s.x < 3 {grouped}", name="none")
    found = sketches.run().arrow("none")
    assert found.column_names[:2] == ["window_start", "window_end"]
    assert set(found["estimate"].to_pylist()) == {0.0}


def test_a_query_that_raises_takes_nobody_down(loom: Loom):
    sketches = _sketches(loom)
    sketches.add("SELECT count(*) FROM r, s WHERE r.a = s.a AND 6 / (r.a - 1) > 1", name="bad")
    sketches.add("SELECT sum(6 DIV r.a) FROM r, s WHERE r.a = s.a AND r.a > 0", name="guarded")
    sketches.add(QUERIES["pair"], name="pair")
    answers = sketches.run()
    assert "bad" in answers.failed()
    assert _row(answers, "pair")["estimate"] > 0
    sketches.remove("bad")
    assert not sketches.run().failed()


def test_queries_come_and_go_and_the_last_run_weighs_the_next(loom: Loom):
    sketches = _sketches(loom)
    sketches.add(QUERIES["pair"], name="pair")
    sketches.add(QUERIES["long"], name="long")
    before = sketches.plan().sharing
    assert before.weights == {"pair": 1.0, "long": 1.0}
    sketches.run()
    after = sketches.plan().sharing
    # The longer join is harder to estimate, so it gets more of the memory.
    assert after.weights["long"] > after.weights["pair"]
    assert after.copies["long"] > before.copies["long"]
    sketches.add(QUERIES["sum"], name="sum")
    assert sketches.plan().sharing.weights["sum"] > 0
    sketches.remove("long")
    assert set(sketches.run()) == {"pair", "sum"}


def test_a_given_weight_stays_and_a_guessed_one_is_measured(loom: Loom):
    def histogram(relation: str, column: str) -> Histogram:
        return Histogram.of(TABLES[relation][column].drop_null().to_numpy())

    histograms = {"r": {"a": histogram("r", "a")}, "S": {"A": histogram("s", "a")}}
    sketches = loom.sketch(budget=BUDGET, weights={"sum": 40.0}, histograms=histograms)
    sketches.relation("t", loom.spark.table("t"))
    for name in ("pair", "sum", "chain"):
        sketches.add(QUERIES[name], name=name)
    before = sketches.plan().sharing.weights
    assert before["sum"] == 40
    assert "chain: weighed like the others, no histogram of s.b, t.b" in sketches.explain()
    sketches.run()
    after = sketches.plan().sharing.weights
    assert after["sum"] == 40
    # One-dimensional histograms tell all about a join of two relations on one attribute.
    assert after["pair"] != before["pair"]
    assert after["pair"] == pytest.approx(before["pair"], rel=0.3)
    with pytest.raises(QueryError, match="weight"):
        loom.sketch(budget=BUDGET, weights={"sum": 0.0})


def _hold_the_truth(loom: Loom, sketches: Estimator) -> None:
    answers = sketches.run()
    for name in sketches.queries:
        truth = loom.spark.sql(sketches._queries[name].query.text).collect()[0][0]
        row = _row(answers, name)
        assert row["lower"] <= truth <= row["upper"]


def test_different_selections_share_fragments(loom: Loom):
    sketches = _sketches(loom)
    for low in range(4):
        for high in range(low + 1, 5):
            sql = f"{QUERIES['pair']} AND r.x >= {10 * low} AND r.x < {10 * high}"
            sketches.add(sql, name=f"{low} to {high}")
    plan = sketches.plan()
    assert len(plan.sharing.of("r")) == 4
    [one] = [p for p in plan.passes if p.relation == "r"]
    assert one.fragments.count == 4
    _hold_the_truth(loom, sketches)


def test_conditions_with_too_many_cells_are_summed_apart(loom: Loom):
    sketches = _sketches(loom)
    many = " OR ".join(f"(s.a = {i} AND s.b = {i} AND s.x = {i})" for i in range(30))
    sql = f"{QUERIES['pair']} AND ({many})"
    sketches.add(sql, name="many")
    sketches.add(f"{QUERIES['pair']} AND s.x > 3", name="few")
    assert "too many cells" in sketches.explain()
    _hold_the_truth(loom, sketches)


def test_explain_says_who_shares_what(loom: Loom):
    sketches = _sketches(loom)
    sketches.add(QUERIES["pair"], name="pair")
    sketches.add(QUERIES["chain"], name="chain")
    text = sketches.explain()
    assert f"2 queries, 4 sketches, {BUDGET:,} words, for the least average error" in text
    assert "count by a: " in text
    assert "words for pair, chain" in text


def test_a_streaming_dataframe_cannot_be_run(spark: SparkSession):
    rows = spark.readStream.format("rate").load()
    loom = Loom(spark).stream("events", rows, time="timestamp")
    sketches = loom.sketch(budget=10)
    sketches.add("SELECT count(*) FROM events p, events q WHERE p.value = q.value", name="n")
    with pytest.raises(CatalogError, match="events is a streaming DataFrame"):
        sketches.run()
