"""The user's own words: what is taken from the text, and what stands in its place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gingham import QueryError
from gingham.logical.catalog import Catalog, Stream, Table
from gingham.logical.predicate import And, Compare, Or
from gingham.sql import Parsed, parse
from gingham.sql.tokens import tokenize

COLUMNS = {"ts": "timestamp", "symbol": "string", "price": "double", "vol": "int", "case": "int"}
CATALOG = Catalog(
    {"trades": Stream("trades", COLUMNS | {"arr": "array<int>", "day": "int"}, "ts")},
    {"listing": Table("listing", {"symbol": "string", "r1000": "boolean"}, ("symbol",))},
)
WINDOW = "GROUP BY window(ts, '10 minutes')"


def parsed(sql: str) -> Parsed:
    return parse(sql, "q", CATALOG)


def where(condition: str) -> str:
    return parsed(f"SELECT count(*) FROM trades WHERE {condition} {WINDOW}").query.where_sql


@given(st.text(alphabet="ab'\"`\\-/*()[] \n.,1E+=<>é", max_size=40))
def test_tokens_are_slices_of_the_text_or_the_text_is_refused(text: str):
    try:
        tokens = tokenize(text)
    except QueryError:
        return
    assert all(text[token.start : token.stop] == token.text for token in tokens)
    assert [token.start for token in tokens] == sorted(token.start for token in tokens)


@pytest.mark.parametrize(
    "condition",
    [
        "ts - INTERVAL 1 HOUR 30 MINUTES > ts",
        "ts > timestamp '2024-01-01' - INTERVAL '1-2' YEAR TO MONTH",
        "symbol = 'it''s'",
        r"symbol = 'C:\\x\'y'",
        "symbol = r'raw\\d'",
        "exists(arr, x -> x > -128Y AND x < vol)",
        "date_add(day, 1, ts) > ts",
        "extract(day FROM ts) = day",
        "cast(vol AS decimal(10, 2)) > 1.5",
        "vol::bigint >>> 2 = 1",
        "CASE WHEN vol > 1 THEN TRUE ELSE FALSE END",
        "vol & 1 = 1",
        "X '1F' = encode(symbol, 'utf-8')",
        "`case` = 1",
    ],
)
def test_an_expression_runs_as_it_was_written(condition: str):
    assert where(condition) == condition


def test_comments_and_blanks_are_left_out_and_keywords_are_in_capitals():
    assert where("vol>1 /* and /* vol */ */ and\n  Price  in(1,2) -- ok\n") == (
        "vol > 1 AND (price IN (1, 2))"
    )


def test_and_binds_closer_than_or_and_between_has_an_and_of_its_own():
    condition = "vol BETWEEN 1 AND 5 AND price > 2 OR NOT vol = 3"
    query = parsed(f"SELECT count(*) FROM trades WHERE {condition} {WINDOW}").query
    assert isinstance(query.where, Or)
    both, _ = query.where.terms
    assert isinstance(both, And)
    assert isinstance(both.terms[1], Compare)


def test_a_column_comes_before_an_alias_in_group_by():
    query = parsed(
        "SELECT vol AS day, day AS d, count(*) AS n FROM trades GROUP BY day, vol, "
        "window(ts, '1 day')"
    ).query
    assert query.keys == ("day", "vol")
    assert [output.sql for output in query.outputs] == ["__key_1", "__key_0", "__aggregate_0"]


def test_columns_of_tables_have_the_name_of_their_relation_when_spark_compares():
    found = parsed(
        "SELECT sum(t.vol) AS v FROM trades t JOIN listing l USING (symbol) WHERE l.r1000 " + WINDOW
    )
    assert found.query.where_sql == "`listing.r1000`"
    assert "WHERE `l`.`r1000`" in found.comparison.check
    assert "FROM `trades` t JOIN `listing` l USING (symbol)" in found.comparison.written


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        ("SELECT count(*) FROM trades TABLESAMPLE (10 ROWS) " + WINDOW, "TABLESAMPLE in FROM"),
        ("SELECT count(*) FROM trades AS t(a, b) " + WINDOW, "( in FROM"),
        ("SELECT count(*) FROM db.trades " + WINDOW, "a name with dots"),
        ("SELECT count(*) FROM trades VERSION AS OF 3 " + WINDOW, "VERSION in FROM"),
        ("SELECT count(*) FROM trades NATURAL JOIN listing " + WINDOW, "NATURAL JOIN"),
        ("SELECT count(*) FROM trades GROUP BY 9, window(ts, '1 day')", "GROUP BY 9"),
        ("SELECT count(*) FROM trades GROUP BY session_window(ts, '1 day')", "session_window"),
        ("SELECT count(*) FROM trades GROUP BY ROLLUP (vol), window(ts, '1 day')", "ROLLUP"),
        ("FROM trades |> WHERE vol > 1", "FROM instead of a SELECT"),
        ("SELECT reflect('a', 'b') FROM trades " + WINDOW, "the function reflect"),
        ("SELECT kurtosis(vol) FROM trades " + WINDOW, "kurtosis cannot be shared"),
        ("SELECT count(*) FROM trades WHERE " + "NOT " * 5_000 + "b " + WINDOW, "NOTs in a row"),
        ("SELECT count(*) FROM trades WHERE " + "(" * 100 + "1" + ")" * 100, "nested deeper"),
        ("SELECT count(*) FROM trades WHERE vol > 1 AND " + WINDOW, "a condition is missing"),
    ],
)
def test_what_would_be_lost_or_harm_is_refused_by_its_name(sql: str, what: str):
    with pytest.raises(QueryError) as refused:
        parsed(sql)
    assert what in refused.value.what


@pytest.mark.parametrize(
    ("having", "run"),
    [
        ("vol % 2 = 1", "__key_0 = 1"),
        ("1 < vol % 2 AND vol % 2 < 9", "1 < __key_0 AND __key_0 < 9"),
        ("CASE WHEN vol % 2 = 1 THEN vol % 2 ELSE 0 END = 0", None),
    ],
)
def test_a_key_is_found_beside_comparisons(having: str, run: str | None):
    found = parsed(
        f"SELECT count(*) AS n FROM trades GROUP BY vol % 2, window(ts, '1 day') HAVING {having}"
    ).query.having
    assert found is not None
    assert "vol" not in found
    assert run in (None, found)


def test_a_part_of_another_expression_is_no_key():
    with pytest.raises(QueryError, match="neither grouped"):
        parsed(
            "SELECT 2 * vol + 1 AS x, count(*) AS n FROM trades GROUP BY vol + 1, "
            "window(ts, '1 day')"
        )
