import math
from collections import Counter

import pytest

from gingham.algebra.edges.published.bit_loop import count_marked, count_tested
from gingham.algebra.edges.published.f1 import count_by_groups
from gingham.core.errors import BudgetError, QueryError
from gingham.core.time import CENTURY, SECOND
from gingham.datasets.windows import TEMPLATES, stock_windows, zipf_windows
from gingham.logical.window import Window
from gingham.optimizer.weave import weaveability
from gingham.optimizer.weave.published import METHODS, weave

# Weave Share, Example 3, with the rate that gives its printed costs.
THREE = [(16, 4), (10, 5), (8, 4)]
RATE = 1.2


def windows_of(plan):
    return sorted(sorted(tree.windows, key=str) for tree in plan.trees)


@pytest.mark.parametrize(
    ("method", "cost"),
    [("no_share", 5.5), ("shared", 4.4), ("weave_share", 4.3), ("scalable", 4.3)],
)
def test_the_published_example_costs_what_was_published(method, cost):
    assert weave(THREE, rate=RATE, method=method).cost == pytest.approx(cost)


@pytest.mark.parametrize("method", ["weave_share", "scalable", "exhaustive", "incremental"])
def test_the_published_example_has_two_trees(method):
    plan = weave(THREE, rate=RATE, method=method)
    assert windows_of(plan) == [[(10, 5)], [(16, 4), (8, 4)]]
    large = max(plan.trees, key=lambda tree: len(tree.windows))
    assert (large.edge_rate, large.overlap_factor) == (0.25, 6.0)
    assert large.cost == pytest.approx(2.7)


def test_the_published_example_of_weaveability():
    # q1 3 . . . . . 9 . . 12 . . . . . 18     q2 . 4 . 6 . 10 . 12 . 16 . 18
    plan = weave([(12, 9), (10, 6)], rate=1, method="no_share")
    assert [tree.edge_rate for tree in plan.trees] == pytest.approx([2 / 9, 1 / 3])
    assert plan.weaveability(0, 1) == pytest.approx(0.25)
    assert weaveability(plan.trees[0], plan.trees[0]) == pytest.approx(1)
    shared = weave([(12, 9), (10, 6)], rate=1, method="shared")
    assert shared.trees[0].edge_rate == pytest.approx(8 / 18)


@pytest.mark.parametrize("method", [*METHODS, "incremental"])
def test_every_method_puts_every_window_into_one_tree(method):
    windows = zipf_windows(12, TEMPLATES, skew=0.5, overlap=9, seed=3)
    plan = weave(windows, rate=2, method=method)
    assert Counter(plan.windows) == Counter(windows)
    assert plan.cost == pytest.approx(
        sum(2 + tree.edge_rate * tree.overlap_factor for tree in plan.trees)
    )
    assert plan.cost >= weave(windows, rate=2, method="exhaustive").cost * (1 - 1e-12)


@pytest.mark.parametrize(
    "options",
    [
        {"lookup": False},
        {"bitmap": False},
        {"probe_smaller": False},
        {"lookup": False, "bitmap": False, "probe_smaller": False},
    ],
)
def test_optimizations_of_weave_share_change_the_work_and_not_the_plan(options):
    windows = zipf_windows(14, [4, 6, 9, 10, 12, 15], skew=0.3, overlap=6, seed=5)
    whole = weave(windows, rate=4, method="weave_share")
    part = weave(windows, rate=4, method="weave_share", **options)
    assert windows_of(part) == windows_of(whole)
    assert part.operations > whole.operations


@pytest.mark.parametrize("count", [count_by_groups, count_marked, count_tested])
def test_weave_share_finds_its_plan_however_edges_are_counted(count):
    windows = zipf_windows(14, [4, 6, 9, 10, 12, 15], skew=0.3, overlap=6, seed=5)
    whole = weave(windows, rate=4, method="weave_share")
    counted = weave(windows, rate=4, method="counted_share", count=count)
    assert windows_of(counted) == windows_of(whole)
    assert counted.cost == pytest.approx(whole.cost)


def test_weave_share_that_counts_goes_on_after_its_time():
    windows = zipf_windows(60, range(1, 100), skew=0.5, overlap=10, seed=2)
    patient, hurried = (
        weave(windows, rate=5, method="counted_share", budget=budget) for budget in (60, 0)
    )
    assert windows_of(hurried) == windows_of(patient)
    assert hurried.notices == ()


def test_one_tree_is_known_without_looking_at_pairs():
    windows = stock_windows(300)
    plan = weave(windows, rate=1e6)
    assert len(plan.trees) == 1
    assert plan.operations == 0
    assert "one tree" in plan.notices[0]


def test_windows_of_queries_are_measured_in_seconds():
    pairs = weave(THREE, rate=RATE)
    plan = weave([Window.starting_at(r * SECOND, s * SECOND) for r, s in THREE], rate=RATE)
    assert plan.cost == pytest.approx(pairs.cost)
    assert [t.edge_rate for t in plan.trees] == pytest.approx([t.edge_rate for t in pairs.trees])


def test_both_alignments_of_a_window_are_woven():
    starting = [Window.starting_at(r * SECOND, s * SECOND) for r, s in ((7, 5), (9, 5))]
    ending = [Window.ending_at(r * SECOND, s * SECOND) for r, s in ((7, 5), (9, 5))]
    # Starting: edges at 0, 2 and 0, 4 modulo 5; ending: at 3, 0 and 1, 0.
    for windows in (starting, ending):
        assert weave(windows, rate=1, method="shared").trees[0].edge_rate == pytest.approx(3 / 5)


@pytest.mark.parametrize(
    "windows",
    [
        [],
        [(0, 5)],
        [(5, 0)],
        [(-5, 5)],
        [(5, -5)],
        [(1.5, 1)],
        [(math.nan, 1)],
        [(10, 5), (10, 5, 5)],
        [(1 << 70, 5)],
        [(10, 1 << 70)],
        [7],
        ["ab"],
        [("10", "5")],
        [(10, 5), Window(10, 5)],
    ],
)
@pytest.mark.parametrize("method", ["scalable", "shared", "incremental"])
def test_bad_windows_are_refused_with_a_reason(windows, method):
    with pytest.raises(QueryError) as refused:
        weave(windows, rate=1, method=method)
    assert refused.value.why
    assert refused.value.instead


@pytest.mark.parametrize("rate", [-1, math.nan, math.inf, "fast", None, True])
def test_a_bad_rate_is_refused(rate):
    with pytest.raises(QueryError):
        weave(THREE, rate=rate)


@pytest.mark.parametrize("method", [*METHODS, "incremental"])
def test_without_rows_nobody_gains_by_sharing(method):
    plan = weave(THREE, rate=0, method=method)
    assert Counter(plan.windows) == Counter(THREE)
    if method not in ("shared", "random"):
        assert plan.cost == pytest.approx(1.9)


def test_an_unknown_method_is_told_the_names():
    with pytest.raises(QueryError, match="weave_share"):
        weave(THREE, rate=1, method="magic")


def test_slides_that_differ_by_microseconds_and_huge_ones_are_woven():
    hour = 3600 * SECOND
    windows = [Window.starting_at(2 * hour, hour + i) for i in range(30)]
    windows += [Window.starting_at(CENTURY, CENTURY - i) for i in range(3)]
    for rate in (1e-5, 1e-3, 1.0):
        woven = weave(windows, rate=rate)
        assert sum(len(tree.windows) for tree in woven.trees) == 33
        assert woven.cost <= weave(windows, rate=rate, method="no_share").cost * (1 + 1e-9)


def test_a_search_out_of_time_says_so():
    windows = stock_windows(300)
    for method in ("scalable", "weave_share", "local_search"):
        plan = weave(windows, rate=2, method=method, budget=0)
        assert any("stopped early" in notice for notice in plan.notices), method
        assert Counter(plan.windows) == Counter(windows)


def test_too_many_windows_for_a_search_are_refused():
    with pytest.raises(BudgetError):
        weave([(i, i) for i in range(1, 40)], rate=1, method="exhaustive")
    with pytest.raises(BudgetError):
        weave([(i, i) for i in range(1, 6000)], rate=1, method="weave_share")


def test_a_plan_made_on_a_sample_says_so():
    windows = zipf_windows(900, range(1, 400), skew=0.2, overlap=10, seed=1)
    plan = weave(windows, rate=20, budget=20)
    assert any("random blocks" in notice for notice in plan.notices)
    assert plan.cost < weave(windows, rate=20, method="no_share").cost
    assert plan.cost < weave(windows, rate=20, method="shared").cost


def test_a_cost_of_ones_own_decides():
    class Trees:
        """Every tree costs a fortune."""

        def tree(self, edge_rate, overlap_factor, rate):
            return 1000 * rate + edge_rate * overlap_factor

    assert len(weave(THREE, rate=RATE, cost=Trees()).trees) == 1
    assert len(weave(THREE, rate=RATE, cost=Trees(), method="weave_share").trees) == 1
