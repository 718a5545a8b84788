from functools import partial

import pytest
from pyspark.sql import functions as sf

from gingham.datasets.trades import close, listing, trades

SYMBOLS = 6000


@pytest.fixture(scope="module")
def some(spark):
    cached = trades(spark, rows=300_000).cache()
    yield cached
    cached.unpersist()


def test_the_columns_are_those_of_the_paper(some):
    assert dict(some.dtypes) == {
        "ts": "timestamp",
        "symbol": "string",
        "price": "double",
        "vol": "int",
    }
    assert some.dropna().count() == 300_000


def test_half_of_all_trades_are_a_hundred_shares_and_fifteen_volumes_are_most(some):
    counts = sorted((row["count"] for row in some.groupBy("vol").count().collect()), reverse=True)
    assert counts[0] == pytest.approx(150_000, rel=0.02)
    assert some.where("vol = 100").count() == counts[0]
    assert sum(counts[:15]) >= 0.9 * 300_000


def test_volumes_stay_within_bounds_and_under_two_thousand_in_ten_minutes(some):
    [(low, high)] = some.agg(sf.min("vol"), sf.max("vol")).collect()
    assert low >= 10
    assert 100_000 < high <= 1_600_000
    per_window = some.groupBy(sf.window("ts", "10 minutes")).agg(sf.countDistinct("vol").alias("n"))
    assert all(500 < row.n < 2000 for row in per_window.collect())


def test_trades_come_at_the_rate_asked_for_and_almost_in_order(some):
    [(first, last)] = some.selectExpr("unix_micros(min(ts))", "unix_micros(max(ts))").collect()
    assert 300_000 / (last - first) * 1e6 == pytest.approx(328, rel=0.01)
    assert first >= 1_101_902_400_000_000  # 2004-12-01 12:00 UTC
    assert first < 1_101_902_401_000_000


def test_some_symbols_trade_far_more_than_others(some):
    counts = sorted(
        (row["count"] for row in some.groupBy("symbol").count().collect()), reverse=True
    )
    assert SYMBOLS / 2 < len(counts) <= SYMBOLS
    assert counts[0] > 300_000 / SYMBOLS * 100


def test_a_price_is_in_cents_and_a_few_percent_off_the_close(spark, some):
    change = "abs(price - cp) / cp"
    joined = some.join(close(spark), "symbol")
    [(off, whole)] = joined.selectExpr(
        f"max({change})", "max(abs(price * 100 - round(price * 100)))"
    ).collect()
    assert 0.03 < off < 0.05
    assert whole < 1e-6


def test_every_trade_has_its_symbol_in_both_tables_once(spark, some):
    for table in (close(spark), listing(spark)):
        assert table.count() == table.select("symbol").distinct().count() == SYMBOLS
        assert some.join(table, "symbol").count() == 300_000


@pytest.mark.parametrize("symbols", [6000, 100])
def test_r3000_is_r1000_and_r2000_which_do_not_overlap(spark, symbols):
    [(r1000, r2000, r3000, both, union)] = (
        listing(spark, symbols=symbols)
        .selectExpr(
            "count_if(r1000)",
            "count_if(r2000)",
            "count_if(r3000)",
            "count_if(r1000 AND r2000)",
            "count_if(r3000 = (r1000 OR r2000))",
        )
        .collect()
    )
    assert (r1000, r3000) == (symbols // 6, symbols // 2)
    assert r1000 + r2000 == r3000
    assert (both, union) == (0, symbols)


def test_the_seed_decides_every_row(spark):
    def digest(frame):
        return frame.selectExpr("sum(hash(*))", "count(*)").collect()

    for make in (
        lambda seed: trades(spark, 5000, seed),
        partial(close, spark),
        partial(listing, spark),
    ):
        assert digest(make(1)) == digest(make(1))
        assert digest(make(1)) != digest(make(2))
