"""SQL over joins is read as equalities, measures and selections, or refused with the reason."""

import pytest

from gingham.core.errors import QueryError
from gingham.estimates.planning.join_aggregate import Relation
from gingham.estimates.planning.parse_joins import parse_join_aggregate
from gingham.logical.window import Window

CATALOG = {
    "r": Relation("R", {"a": "int", "b": "int", "x": "int", "s": "struct<f:int>"}),
    "s": Relation("S", {"a": "int", "b": "int", "y": "int"}),
    "t": Relation("T", {"a": "int", "c": "int"}),
    "orders": Relation("orders", {"ts": "timestamp", "id": "int"}, "ts"),
    "items": Relation("items", {"ts": "timestamp", "order_id": "int", "price": "int"}, "ts"),
    "clicks": Relation("clicks", {"at": "timestamp", "id": "int"}, "at"),
}


def _parse(sql):
    return parse_join_aggregate(sql, "q", CATALOG).query


@pytest.mark.parametrize(
    "text",
    [
        "FROM r, s WHERE r.a = s.b",
        "FROM R JOIN S ON r.a = s.b",
        "FROM r INNER JOIN s ON (R.A = S.B)",
        "FROM r CROSS JOIN s WHERE (r.a = s.b)",
    ],
)
def test_a_join_may_be_written_in_any_of_the_usual_ways(text):
    query = _parse(f"SELECT count(*) {text}")
    assert query.joins == (("r", "a", "s", "b"),)
    assert query.relations == {"r": "R", "s": "S"}
    assert (query.measures, query.selections, query.window) == ({}, {}, None)


def test_using_names_one_column_for_both_sides():
    query = _parse("SELECT count(*) FROM r JOIN s USING (a, b) JOIN t USING (a) WHERE a > 5")
    assert query.joins == (("r", "a", "s", "a"), ("r", "b", "s", "b"), ("r", "a", "t", "a"))
    assert query.selections["r"].sql == "a > 5"


def test_conditions_on_one_relation_are_selections():
    query = _parse(
        "SELECT count(*) FROM r, s WHERE r.a = s.a AND (r.b > 5 OR r.x = 1) AND y < 3 AND r.a = r.b"
    )
    assert query.joins == (("r", "a", "s", "a"),)
    assert {alias: s.sql for alias, s in query.selections.items()} == {
        "r": "(b > 5 OR x = 1) AND a = b",
        "s": "y < 3",
    }


def test_both_sides_of_a_self_join_have_names():
    query = _parse("SELECT count(*) FROM r AS one, r two WHERE one.a = two.a AND two.b > 1")
    assert query.relations == {"one": "R", "two": "R"}
    assert query.joins == (("one", "a", "two", "a"),)
    assert list(query.selections) == ["two"]


def test_two_attributes_may_join_the_same_pair():
    query = _parse("SELECT count(*) FROM r, s WHERE r.a = s.a AND s.b = r.b")
    assert query.joins == (("r", "a", "s", "a"), ("s", "b", "r", "b"))


def test_attributes_may_be_computed():
    query = _parse("SELECT count(*) FROM r, s WHERE r.a + 1 = (s.b) AND r.s.f = s.a")
    assert query.joins == (("r", "a + 1", "s", "b"), ("r", "s.f", "s", "a"))


@pytest.mark.parametrize(
    ("aggregate", "measures"),
    [
        ("count(*)", {}),
        ("count(1)", {}),
        ("count(s.y)", {"s": "CASE WHEN (y) IS NOT NULL THEN 1 ELSE 0 END"}),
        ("sum(x)", {"r": "x"}),
        ("sum(x + 2 * r.b) AS total", {"r": "x + 2 * b"}),
        ("sum(x * y)", {"r": "(x)", "s": "(y)"}),
        ("sum(2 * (x + 1) * (y * r.b))", {"r": "(2) * (x + 1) * (b)", "s": "(y)"}),
        ("sum(3)", {"r": "3"}),
    ],
)
def test_a_sum_is_a_product_of_what_relations_add_up(aggregate, measures):
    assert _parse(f"SELECT {aggregate} FROM r, s WHERE r.a = s.a").measures == measures


def test_an_average_is_a_sum_divided_by_the_number_of_known_values():
    known = "CASE WHEN ({}) IS NOT NULL THEN 1 ELSE 0 END"
    for name in ("avg", "mean"):
        query = _parse(f"SELECT {name}(x + 1) FROM r, s WHERE r.a = s.a")
        assert query.measures == {"r": "x + 1"}
        assert query.divisor == {"r": known.format("x + 1")}
    product = _parse("SELECT avg(x * y) FROM r, s WHERE r.a = s.a")
    assert product.measures == {"r": "(x)", "s": "(y)"}
    assert product.divisor == {"r": known.format("(x)"), "s": known.format("(y)")}
    assert _parse("SELECT sum(x) FROM r, s WHERE r.a = s.a").divisor is None


@pytest.mark.parametrize(
    ("sql", "window"),
    [
        (
            """SELECT count(*), window.start FROM orders o, items i WHERE o.id = i.order_id
            GROUP BY window(ts, '10 seconds', '5 seconds')""",
            Window(10_000_000, 5_000_000),
        ),
        (
            "SELECT count(*) FROM orders o [RANGE '3 s' SLIDE '2 s'], clicks c WHERE o.id = c.id",
            Window(3_000_000, 2_000_000, 1_000_000),
        ),
        (
            "SELECT count(*) FROM orders o, r WHERE o.id = r.a GROUP BY window(o.ts, '1 s')",
            Window(1_000_000, 1_000_000),
        ),
    ],
)
def test_a_window_cuts_all_streams_of_a_query(sql, window):
    assert _parse(sql).window == window


JOINED = "FROM r, s WHERE r.a = s.a"
STREAMS = "FROM orders o, items i WHERE o.id = i.order_id"


@pytest.mark.parametrize(
    ("sql", "what", "why"),
    [
        ("SELECT count(*) FROM r, s WHERE r.a < s.a", "no equality", "equal"),
        ("SELECT count(*) FROM r, s WHERE r.a <=> s.a", "no equality", "equal"),
        ("SELECT count(*) FROM r, s WHERE r.a + s.b = 5", "no equality", "equal"),
        ("SELECT count(*) FROM r, s WHERE NOT r.a = s.a", "no equality", "equal"),
        (f"SELECT count(*) {JOINED} AND (r.b = 1 OR s.b = 2)", "an OR across", "counted for each"),
        (f"SELECT count(*) {JOINED} AND r.b BETWEEN s.a AND s.b", "no equality", "equal"),
        (
            "SELECT count(*) FROM r, s, t WHERE r.a = s.a AND r.b = t.a AND s.b = t.c",
            "cycle of more than two",
            "variance",
        ),
        ("SELECT count(*) FROM r, s, t WHERE r.a = s.a", "no equality joins t", "paired with all"),
        ("SELECT count(*) FROM r", "no join", "exactly"),
        ("SELECT count(*) FROM r, r WHERE a = b", "two relations called r", "either"),
        ("SELECT count(*) FROM r LEFT JOIN s ON r.a = s.a", "a LEFT JOIN", "which rows have none"),
        ("SELECT count(*) FROM r SEMI JOIN s ON r.a = s.a", "SEMI JOIN", "which rows have none"),
        ("SELECT count(*) FROM r NATURAL JOIN s", "NATURAL JOIN", ""),
        ("SELECT count(*) FROM r, nosuch WHERE r.a = nosuch.a", "no relation nosuch", "registered"),
        (f"SELECT count(*) {JOINED} AND r.q = 1", "no column r.q", ""),
        ("SELECT count(*) FROM r, s WHERE a = y", "a is ambiguous", "both have it"),
        (f"SELECT max(x) {JOINED}", "max(x) over a join", "count or a sum"),
        (f"SELECT avg(x) + 1 {JOINED}", "over a join", "count or a sum"),
        (f"SELECT avg(x + y) {JOINED}", "mixes r and s", "multiplied"),
        (f"SELECT avg(DISTINCT x) {JOINED}", "exact DISTINCT", ""),
        (f"SELECT count(*), sum(x) {JOINED}", "2 aggregates", "its own interval"),
        (f"SELECT r.b, count(*) {JOINED} GROUP BY r.b", "GROUP BY r.b", "sketch of its own"),
        (f"SELECT count(DISTINCT x) {JOINED}", "exact DISTINCT", ""),
        (f"SELECT sum(x + y) {JOINED}", "mixes r and s", "multiplied"),
        (f"SELECT sum(x / y) {JOINED}", "mixes r and s", "multiplied"),
        (f"SELECT count(r.x, s.y) {JOINED}", "over a join", "counted"),
        (f"SELECT count(NULL) {JOINED}", "over a join", "counted"),
        (f"SELECT sum(x) FILTER (WHERE y > 1) {JOINED}", "over a join", ""),
        (f"SELECT count(*) {JOINED} HAVING count(*) > 5", "HAVING", "by chance"),
        (f"SELECT count(*) {JOINED} GROUP BY window(a, '1 s')", "window over tables", "event time"),
        (f"SELECT count(*) {STREAMS} GROUP BY window(id, '1 s')", "window(id", "event time"),
        (f"SELECT count(*) {STREAMS} GROUP BY window(o.ts, '1 s')", "one of several", "alike"),
        (
            "SELECT count(*) FROM orders o, clicks c WHERE o.id = c.id GROUP BY window(ts, '1 s')",
            "window(ts",
            "o.ts, c.at",
        ),
        (
            "SELECT count(*) FROM r, (SELECT 1 AS a) q WHERE r.a = q.a",
            "a subquery",
            "query of its own",
        ),
        ("SELECT count(* FROM r, s", "does not parse", ""),
    ],
)
def test_what_cannot_be_estimated_is_refused_with_the_reason(sql, what, why):
    with pytest.raises(QueryError) as refused:
        _parse(sql)
    assert what in refused.value.what
    assert why in refused.value.why
    assert refused.value.instead
