"""Plans against brute force: a greedy and an exhaustive search that nobody could get wrong."""

import math
import random
from collections import Counter
from functools import cache, reduce
from operator import or_

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gingham.algebra.edges.published.bit_loop import count_marked
from gingham.datasets.windows import TEMPLATES, zipf_windows
from gingham.optimizer.weave import weaveability
from gingham.optimizer.weave.published import METHODS, weave
from gingham.optimizer.weave.woven_plan import window_classes

PERIOD = 720


@cache
def edges_of(window):
    return sum(1 << t for slide, a in window_classes(window) for t in range(a, PERIOD, slide))


def edges(windows):
    """The edges of one period, as bits."""
    return reduce(or_, map(edges_of, windows), 0)


def cost(trees, rate):
    return sum(
        rate + edges(tree).bit_count() / PERIOD * sum(r / s for r, s in tree) for tree in trees
    )


def naive_greedy(windows, rate):
    """Merge the pair that saves most, of equal ones the first, while one saves something."""
    trees = [[window] for window in windows]

    def price(tree):
        return rate + edges(tree).bit_count() / PERIOD * sum(r / s for r, s in tree)

    prices = {}

    def saving(i, j):
        one, other = tuple(trees[i]), tuple(trees[j])
        for tree in (one, other, one + other):
            if tree not in prices:
                prices[tree] = price(tree)
        return round((prices[one] + prices[other] - prices[one + other]) / rate, 10)

    while len(trees) > 1:
        pairs = [(i, j) for j in range(len(trees)) for i in range(j)]
        i, j = max(pairs, key=lambda pair: (saving(*pair), -pair[0], -pair[1]))
        if saving(i, j) <= 1e-10:
            break
        trees[i] += trees.pop(j)
    return trees


def workload(seed, most=22):
    chance = random.Random(seed)
    slides = [d for d in range(2, 181) if PERIOD % d == 0]
    windows = []
    for _ in range(chance.randint(2, most)):
        slide = chance.choice(slides)
        windows.append((chance.randint(slide, 9 * slide), slide))
    return windows, 10 ** chance.uniform(-2, 2)


@pytest.mark.parametrize("seeds", [range(i, i + 50) for i in range(0, 250, 50)])
def test_the_scalable_weaver_finds_the_plan_of_the_naive_greedy(seeds):
    for seed in seeds:
        windows, rate = workload(seed)
        # Or one tree, where that costs less.
        naive = min(naive_greedy(windows, rate), [windows], key=lambda trees: cost(trees, rate))
        woven = weave(windows, rate=rate)
        found = Counter(frozenset(Counter(tree.windows).items()) for tree in woven.trees)
        assert found == Counter(frozenset(Counter(tree).items()) for tree in naive), seed
        assert woven.cost == pytest.approx(cost(naive, rate))


@pytest.mark.parametrize("seeds", [range(2000, 2060), range(2060, 2120)])
def test_weave_share_that_only_counts_finds_the_plan_of_the_naive_greedy(seeds):
    for seed in seeds:
        windows, rate = workload(seed, most=16)
        naive = naive_greedy(windows, rate)
        woven = weave(windows, rate=rate, method="counted_share", count=count_marked)
        found = Counter(frozenset(Counter(tree.windows).items()) for tree in woven.trees)
        assert found == Counter(frozenset(Counter(tree).items()) for tree in naive), seed
        assert woven.cost == pytest.approx(cost(naive, rate))


@pytest.mark.parametrize("seeds", [range(1000 + i, 1050 + i) for i in range(0, 200, 50)])
def test_the_scalable_weaver_is_never_costlier_than_weave_share(seeds):
    for seed in seeds:
        windows, rate = workload(seed, most=25)
        share = weave(windows, rate=rate, method="weave_share")
        assert weave(windows, rate=rate).cost <= share.cost * (1 + 1e-9), seed


@pytest.mark.parametrize(("n", "rate"), [(500, 1e3), (500, 1e4), (2000, 1e4)])
def test_the_scalable_weaver_is_never_costlier_than_one_tree(n, rate):
    windows = zipf_windows(n, TEMPLATES, skew=0.6, overlap=50, seed=1)
    shared = weave(windows, rate=rate, method="shared")
    assert weave(windows, rate=rate).cost <= shared.cost * (1 + 1e-9)


@pytest.mark.parametrize("seed", [1, 20])
def test_more_trees_than_the_weaver_keeps_partners_of_give_the_plan_of_weave_share(seed):
    windows = zipf_windows(80, range(1, 200), skew=0.3, overlap=10, fragments=True, seed=seed)
    share = weave(windows, rate=50.0, method="weave_share")
    assert weave(windows, rate=50.0).cost == pytest.approx(share.cost)


@pytest.mark.parametrize(("rate", "n"), [(200, 5), (300, 10), (400, 15)])
def test_plans_are_within_three_percent_of_the_best_at_the_published_sizes(rate, n):
    for seed in range(5):
        windows = zipf_windows(n, TEMPLATES, skew=0.6, overlap=50, seed=seed)
        best = weave(windows, rate=rate, method="exhaustive").cost
        assert best * (1 - 1e-9) <= weave(windows, rate=rate).cost <= 1.03 * best, seed


WINDOW = st.builds(
    lambda slide, factor, rest: (slide * factor + rest % slide, slide),
    st.sampled_from([2, 3, 4, 5, 6, 8, 9, 10, 12, 15, 16, 18, 20, 24, 30, 36, 40, 45, 60]),
    st.integers(1, 6),
    st.integers(0, 59),
)


def partitions(items):
    if not items:
        yield []
        return
    first, *rest = items
    for found in partitions(rest):
        yield [[first], *found]
        for i, tree in enumerate(found):
            yield [*found[:i], [first, *tree], *found[i + 1 :]]


@given(st.lists(WINDOW, min_size=1, max_size=6), st.floats(0.01, 30))
def test_the_exhaustive_search_finds_the_cheapest_partition(windows, rate):
    best = min(cost(trees, rate) for trees in partitions(windows))
    assert weave(windows, rate=rate, method="exhaustive").cost == pytest.approx(best)


@given(st.lists(WINDOW, min_size=1, max_size=14), st.floats(0.001, 100), st.data())
def test_a_plan_is_a_partition_that_costs_what_it_says(windows, rate, data):
    method = data.draw(st.sampled_from([m for m in METHODS if m != "exhaustive"]))
    plan = weave(windows, rate=rate, method=method)
    assert Counter(plan.windows) == Counter(windows)
    assert plan.cost == pytest.approx(cost([tree.windows for tree in plan.trees], rate))


@given(
    st.lists(WINDOW, min_size=2, max_size=10),
    st.floats(0.01, 30),
    st.lists(st.tuples(st.booleans(), WINDOW), max_size=12),
)
def test_changes_keep_the_windows_and_the_cost_right(windows, rate, changes):
    plan = weave(windows, rate=rate, method="incremental", tolerance=math.inf)
    there = list(windows)
    for adding, window in changes:
        if adding:
            plan = plan.add(window)
            there.append(window)
        elif len(there) > 1:
            plan = plan.remove(there.pop(0))
    assert Counter(plan.windows) == Counter(there)
    assert plan.cost == pytest.approx(cost([tree.windows for tree in plan.trees], rate))


@given(st.lists(WINDOW, min_size=2, max_size=8))
def test_weaveability_is_common_edges_by_all_edges(windows):
    half = len(windows) // 2
    plans = [weave(part, rate=1, method="shared") for part in (windows[:half], windows[half:])]
    trees = tuple(plan.trees[0] for plan in plans)
    one, other = edges(windows[:half]), edges(windows[half:])
    expected = (one & other).bit_count() / (one | other).bit_count()
    assert weaveability(*trees) == pytest.approx(expected)
