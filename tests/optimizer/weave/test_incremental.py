import math
from collections import Counter
from typing import Any

import pytest

from gingham.core.errors import QueryError
from gingham.core.time import SECOND
from gingham.datasets.windows import TEMPLATES, stock_windows, zipf_windows
from gingham.logical.window import Window
from gingham.optimizer.weave.published import weave

WINDOWS = zipf_windows(60, TEMPLATES, skew=0.6, overlap=20, seed=2)
RATE = 5.0


def start(n, tolerance=0.2):
    return weave(WINDOWS[:n], rate=RATE, method="incremental", tolerance=tolerance)


def test_adding_gives_a_new_plan_and_leaves_the_old_one_alone():
    old = start(20)
    before = old.cost, tuple(old.windows)
    new = old.add(WINDOWS[20])
    assert (old.cost, tuple(old.windows)) == before
    assert Counter(new.windows) == Counter(WINDOWS[:21])


def test_what_was_added_can_be_removed():
    plan = start(20, tolerance=math.inf)
    again = plan.add((4321, 1234)).remove((4321, 1234))
    assert Counter(again.windows) == Counter(WINDOWS[:20])
    assert again.cost == pytest.approx(plan.cost, rel=1e-6)


def test_costs_stay_those_of_the_trees_through_many_changes():
    plan = start(10, tolerance=math.inf)
    for window in WINDOWS[10:]:
        plan = plan.add(window)
    for window in WINDOWS[5:40]:
        plan = plan.remove(window)
    assert plan.rebuilds == 0
    for tree in plan.trees:
        alone = weave(tree.windows, rate=RATE, method="shared")
        assert tree.edge_rate == pytest.approx(alone.trees[0].edge_rate)
        assert tree.overlap_factor == pytest.approx(alone.trees[0].overlap_factor)


def test_a_window_like_another_joins_its_tree():
    plan = start(20)
    twin = plan.trees[0].windows[0]
    grown = plan.add(twin)
    assert len(grown.trees) == len(plan.trees)


def test_without_tolerance_every_change_weaves_anew():
    plan = start(20, tolerance=0)
    for window in WINDOWS[20:25]:
        plan = plan.add(window)
    assert plan.rebuilds == 5
    assert plan.cost == pytest.approx(weave(WINDOWS[:25], rate=RATE).cost)


@pytest.mark.parametrize("tolerance", [0.1, 0.2, 0.5])
def test_a_plan_never_costs_more_than_one_from_scratch_by_more_than_the_tolerance(tolerance):
    windows = zipf_windows(60, TEMPLATES, skew=0.6, overlap=10, seed=1)
    first = windows[:6]
    plan: Any = weave(first, rate=100.0, method="incremental", tolerance=tolerance)
    for n, window in enumerate(windows[6:], 7):
        plan = plan.add(window)
        assert plan.cost <= weave(windows[:n], rate=100.0).cost * (1 + tolerance)
    assert 0 < plan.rebuilds < 54


def test_slides_that_fit_no_period_before_are_woven_in():
    plan = start(20, tolerance=math.inf)
    for window in stock_windows(5):
        plan = plan.add(window)
    assert len(list(plan.windows)) == 25
    exact = sum(weave(tree.windows, rate=RATE, method="shared").cost for tree in plan.trees)
    assert plan.cost == pytest.approx(exact, rel=0.02)


def test_windows_of_queries_come_and_go():
    windows = [Window.starting_at(r * SECOND, s * SECOND) for r, s in WINDOWS[:8]]
    plan = weave(windows[:7], rate=RATE, method="incremental", tolerance=math.inf)
    pairs = weave(WINDOWS[:7], rate=RATE, method="incremental", tolerance=math.inf)
    assert plan.add(windows[7]).cost == pytest.approx(pairs.add(WINDOWS[7]).cost)
    assert plan.remove(windows[0]).cost == pytest.approx(pairs.remove(WINDOWS[0]).cost)


def test_bad_changes_are_refused():
    plan = start(3)
    bad: list[Any] = [(0, 1), (1.5, 1), Window(10, 5)]
    for window in bad:
        with pytest.raises(QueryError):
            plan.add(window)
    with pytest.raises(QueryError, match="in no tree"):
        plan.remove((12_345, 6_789))
    with pytest.raises(QueryError, match="last one"):
        weave([(10, 5)], rate=1, method="incremental").remove((10, 5))
    with pytest.raises(QueryError, match="tolerance"):
        start(3, tolerance=-1)


def test_a_window_within_the_edges_of_another_tree_keeps_its_own_period():
    plan = weave([(3, 2), (3, 3), (8, 8)], rate=1.0, method="incremental", tolerance=math.inf)
    plan = plan.add((3, 3))
    assert float(plan.trees[1].edge_rate) == pytest.approx(10 / 24)
