"""The figures of Krishnamurthy et al.: formulas on its example, counts against naive counting."""

from itertools import product
from math import gcd
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest

from benchmarks.krishnamurthy import _panes
from benchmarks.krishnamurthy_analysis import (
    FRAGMENTS,
    ROWS,
    SATISFIED,
    SHARED_PAIRED,
    SHARED_PANED,
    UNSHARED_PAIRED,
    UNSHARED_PANED,
    Windows,
    crossing,
    fragment_costs,
    window_sets,
)
from benchmarks.operations import TradeRows, count
from gingham.datasets.trades import TradeQuery

SECOND = 1_000_000


def test_the_composite_window_of_the_papers_figure_3_has_12_slices():
    # U(12, 3) and V(6, 3): a range of 18 every 15, and of 12 every 9. Edges in 45: 6, 9, 12, 15,
    # 18, 24, 27, 30, 33, 36, 42, 45. (The slices that the copy prints add up to 51.)
    both = Windows.of([(18, 15), (12, 9)])
    assert both.paired_edges * 45 == pytest.approx(12)
    # In panes of 3 there are 15.
    assert both.paned_edges * 45 == pytest.approx(15)
    costs = both.costs(2.0)
    assert costs[SHARED_PAIRED] == pytest.approx(2 + 12 / 45 * (18 / 15 + 12 / 9))
    assert costs[SHARED_PANED] == pytest.approx(2 + 15 / 45 * (18 / 15 + 12 / 9))
    assert costs[UNSHARED_PAIRED] == pytest.approx(4 + 3 / 15 + 3 / 9)
    assert costs[UNSHARED_PANED] == pytest.approx(4 + 6 / 15 + 4 / 9)


@pytest.mark.parametrize("windows", window_sets(16, 3))
def test_pairs_never_cost_more_than_panes_and_sharing_pays_above_the_least_rate(windows):
    for rate in (0.01, windows.least_rate * 1.1, 375.0):
        costs = windows.costs(rate)
        assert costs[SHARED_PAIRED] <= costs[SHARED_PANED]
        assert costs[UNSHARED_PAIRED] <= costs[UNSHARED_PANED]
        if rate > windows.least_rate:
            assert costs[SHARED_PAIRED] < costs[UNSHARED_PAIRED]


def test_not_sharing_is_better_from_about_83_queries_on_at_half_a_row_a_second():
    (queries,) = crossing(0.5, sets=1)
    assert 75 <= queries <= 95
    assert crossing(0.0005, sets=1) == [2]


def test_fragments_cost_as_table_5_has_it():
    unshared, shared = fragment_costs(FRAGMENTS, ROWS, SATISFIED)
    assert (unshared, shared) == (14_397_820, 1_106_613)


def test_panes_are_cut_by_the_fewest_queries():
    queries = [TradeQuery("a", 900, 600), TradeQuery("b", 750, 600), TradeQuery("c", 700, 300)]
    assert [query.window for query in _panes(queries)] == [(100, 100), (150, 150)]


@pytest.mark.parametrize("paned", [False, True])
def test_operations_are_those_that_are_counted_one_by_one(paned):
    rows = [(t * SECOND // 2, "AB"[t % 2], 1.0 + t % 3, 10 * (t % 7)) for t in range(100)]
    market: Any = SimpleNamespace(duck=_duck(rows))
    predicates = [("listing.r1000", "vol > 20"), ("NOT listing.r1000", "vol < 50")]
    windows = [(10, 6), (9, 4)]
    queries = [
        TradeQuery(f"q{i}", *window, *predicate)
        for i, (window, predicate) in enumerate(product(windows, predicates))
    ]
    found = count(TradeRows.of(market), queries, paned=paned)

    def wants(query, row):
        listed = (row[1] == "A") != query.member.startswith("NOT")
        return listed and (row[3] > 20 if ">" in query.value else row[3] < 50)

    def spans(query):
        return [
            (end - query.range_s, end)
            for end in range(-100, 200)
            if end % query.slide_s == 0 and end > 0 and end - query.range_s <= 49.5
        ]

    edges = {edge for query in queries for span in spans(query) for edge in span}
    if paned:
        edges |= {edge for edge in range(-50, 100) if edge % 2 == 0 or edge % 1 == 0}
    shards = {
        (max(e for e in edges if e * SECOND <= row[0]), tuple(wants(q, row) for q in queries))
        for row in rows
        if any(wants(q, row) for q in queries)
    }
    final = slices = 0
    for i, query in enumerate(queries):
        for start, end in spans(query):
            inside = [at for at, signature in shards if signature[i] and start <= at < end]
            final += len(inside)
            slices += len(set(inside))
    by_predicate = sum(sum(signature[i] for _, signature in shards) for i in (0, 1))
    assert found.partial == sum(any(wants(q, row) for q in queries) for row in rows)
    assert found.unshared_partial == sum(wants(q, row) for q in queries for row in rows)
    assert found.shards == len(shards)
    assert found.final == final
    assert found.merged_slices == slices
    assert found.merged_fragments == by_predicate
    unshared = 0
    for query in queries:
        own = {edge for span in spans(query) for edge in span}
        if paned:
            own |= {edge for edge in edges if edge % gcd(*query.window) == 0}
        at = {max(e for e in own if e * SECOND <= row[0]) for row in rows}
        of_windows = [len({e for e in at if s <= e < end}) for s, end in spans(query)]
        unshared += sum(slices for slices in of_windows if slices > 1)
    assert found.unshared_final == unshared


def _duck(rows):
    duck = duckdb.connect()
    duck.execute("CREATE TABLE trades (t BIGINT, symbol VARCHAR, price DOUBLE, vol INT)")
    duck.executemany("INSERT INTO trades VALUES (?, ?, ?, ?)", rows)
    duck.execute(
        "CREATE TABLE close AS SELECT * FROM (VALUES ('A', 1.0), ('B', 2.0)) t(symbol, cp)"
    )
    duck.execute(
        "CREATE TABLE listing AS SELECT * FROM (VALUES ('A', true, false), ('B', false, true)) "
        "t(symbol, r1000, r2000)"
    )
    return duck
