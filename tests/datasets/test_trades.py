import math

import pytest

from gingham.datasets.trades import (
    COMMON,
    KINDS,
    SMALLEST,
    STEPS,
    TradeQuery,
    _volume_of,
    queries,
    trade_queries,
)


def windows(found):
    return {query.window for query in found}


def predicates(found):
    return {query.predicate for query in found}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [16, 64, 256, 1024])
def test_a_workload_has_as_many_queries_as_asked_for_and_none_twice(kind, n):
    found = trade_queries(kind, n)
    assert len({query.name for query in found}) == n
    assert len({query.sql for query in found}) == n


@pytest.mark.parametrize("n", [16, 1024])
def test_only_windows_differ_in_a(n):
    found = trade_queries("A", n)
    assert predicates(found) == {None}
    assert len(windows(found)) == n
    assert all(600 <= r <= 900 and 300 <= s <= 600 for r, s in windows(found))


@pytest.mark.parametrize("n", [16, 1024])
def test_only_predicates_differ_in_b(n):
    found = trade_queries("B", n)
    assert windows(found) == {(600, 600)}
    assert len(predicates(found)) == n


@pytest.mark.parametrize("n", [16, 256, 1024])
def test_c_crosses_the_roots(n):
    found = trade_queries("C", n)
    assert len(windows(found)) == len(predicates(found)) == math.isqrt(n)


@pytest.mark.parametrize("n", [16, 1024])
def test_nothing_occurs_twice_in_c_low(n):
    found = trade_queries("C-low", n)
    assert len(windows(found)) == len(predicates(found)) == n


def test_c_wants_a_square():
    with pytest.raises(ValueError, match="take a square such as 16"):
        trade_queries("C", 20)


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="the kinds are A, B, C, C-low"):
        trade_queries("D", 16)


@pytest.mark.parametrize("kind", KINDS)
def test_the_seed_decides(kind):
    assert queries(kind, 64, seed=7) == queries(kind, 64, seed=7)
    assert queries(kind, 64, seed=7) != queries(kind, 64, seed=8)


@pytest.mark.parametrize("kind", ["A", "B", "C-low"])
def test_a_larger_workload_begins_with_the_smaller_one(kind):
    assert queries(kind, 64)[:16] == queries(kind, 16)


def test_all_members_and_quantities_are_asked_about_equally_often():
    found = trade_queries("B", 1024)
    for word in ("r3000", "r2000", "r1000", " > ", " < "):
        part = 1 / 3 if word.startswith("r") else 1 / 2
        assert sum(word in str(query.predicate) for query in found) == pytest.approx(
            1024 * part, rel=0.2
        )
    for word in ("vol ", "price * vol ", "abs(price - cp) / cp "):
        count = sum(str(query.value).startswith(word) for query in found)
        assert count == pytest.approx(1024 / 3, rel=0.2)
    assert sum(str(query.member).startswith("NOT ") for query in found) == pytest.approx(
        512, rel=0.2
    )


def test_constants_of_volumes_are_volumes_that_occur():
    """Two different ones among them are told apart by at least one possible trade."""
    possible = {_volume_of(1.0, step / 100 / STEPS) for step in range(STEPS * 100)}
    possible |= {volume for volume, _ in COMMON}
    asked = {
        int(str(query.value).split()[-1])
        for query in trade_queries("B", 1024)
        if str(query.value).startswith("vol ")
    }
    assert asked <= possible
    # Nothing is below the smallest volume: `vol < 10` would say the same as `false`.
    assert min(asked) > SMALLEST


def test_the_sql_is_the_template_of_the_paper():
    query = TradeQuery("q", 720, 300, "listing.r1000", "vol > 500")
    assert query.sql == (
        "SELECT sum(price * vol) AS value FROM trades [RANGE '720 seconds' SLIDE '300 seconds'] "
        "JOIN close USING (symbol) JOIN listing USING (symbol) "
        "WHERE listing.r1000 AND vol > 500"
    )
    assert "WHERE" not in TradeQuery("q", 720, 300).sql
