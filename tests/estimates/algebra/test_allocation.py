"""Words are divided as well as they can be."""

import itertools
import math
import random

import pytest

from gingham.core.errors import GinghamError
from gingham.estimates.algebra import allocate
from gingham.estimates.algebra.allocation import METRICS, components, least_error
from tests.oracle.convex import convex_optimum, random_graph

# Example 6 of Dobra et al.
USES = {"q1": ["v1", "v2", "v4"], "q2": ["v2", "v3"], "q3": ["v4", "v5"]}
WEIGHTS = {"q1": 3.0, "q2": 3.0, "q3": 9.0}


def test_example_6_gives_a_sixth_a_sixth_and_a_quarter():
    found = allocate(USES, budget=120, weights=WEIGHTS)
    assert dict(found.words) == {"v1": 20, "v2": 20, "v3": 20, "v4": 30, "v5": 30}
    assert dict(found.copies) == {"q1": 20, "q2": 20, "q3": 30}
    assert found.error == pytest.approx(3 / 20 + 3 / 20 + 9 / 30)


def test_the_optimum_equals_that_of_a_general_convex_solver():
    for seed in range(200):
        uses, weights = random_graph(seed)
        expected = convex_optimum(uses, weights)
        assert least_error("average", uses, weights) == pytest.approx(expected, rel=1e-6), seed


def _prices(seed, uses, most=9):
    chance = random.Random(seed)
    return [chance.randint(1, most) for _ in range(1 + max(v for query in uses for v in query))]


def test_the_optimum_with_prices_equals_that_of_a_general_convex_solver():
    for seed in range(100):
        uses, weights = random_graph(seed)
        prices = _prices(seed, uses)
        expected = convex_optimum(uses, weights, prices)
        found = least_error("average", uses, weights, prices)
        assert found == pytest.approx(expected, rel=1e-5), seed


@pytest.mark.parametrize("metric", ["average", "maximum"])
def test_sketches_that_cost_the_same_are_divided_like_those_without_a_price(metric):
    prices = {vertex: 7 for used in USES.values() for vertex in used}
    found = allocate(USES, budget=840, weights=WEIGHTS, prices=prices, metric=metric)
    assert found.words == allocate(USES, budget=120, weights=WEIGHTS, metric=metric).words


@pytest.mark.parametrize("seed", range(40))
def test_budgets_with_prices_are_divided_as_by_brute_force(seed):
    uses, weights = random_graph(seed)
    uses = [[v % 4 for v in query] for query in uses]
    vertices = 1 + max(v for query in uses for v in query)
    uses += [[v] for v in range(vertices) if not any(v in query for query in uses)]
    weights += [0.1] * (len(uses) - len(weights))
    prices = _prices(seed, uses, most=4)
    budget = sum(prices) + random.Random(seed).randint(0, 18)
    named, weighed = dict(enumerate(uses)), dict(enumerate(weights))
    most = [1 + (budget - sum(prices)) // price for price in prices]
    divisions = [
        _errors(uses, weights, words)
        for words in itertools.product(*(range(1, 1 + m) for m in most))
        if sum(map(math.prod, zip(words, prices, strict=True))) <= budget
    ]
    costs = dict(enumerate(prices))
    combined = {"maximum": max, "average": sum}
    for metric in METRICS:
        combine = combined[metric]
        found = allocate(named, budget=budget, weights=weighed, metric=metric, prices=costs)
        assert sum(found.words[v] * costs[v] for v in costs) <= budget
        best = min(combine(errors) for errors in divisions)
        assert found.error >= best * (1 - 1e-9)
        if metric == "maximum":
            assert found.error == pytest.approx(best)
        else:
            assert found.error <= best * (1 + 2 * sum(prices) / budget)


def test_a_dear_sketch_leaves_what_it_cannot_use_to_cheap_ones():
    uses, prices = {"hour": ["h"], "minute": ["m"]}, {"h": 3600, "m": 1}
    found = allocate(uses, budget=5000, prices=prices)
    assert found.words == {"h": 1, "m": 1400}


def test_every_query_of_a_component_gets_what_its_scarcest_sketch_has():
    for seed in range(50):
        uses, weights = random_graph(seed)
        shares = {}
        for component in components(uses, weights):
            shares |= dict.fromkeys(component.vertices, component.share)
        for component in components(uses, weights):
            for query in component.queries:
                scarcest = min(shares[v] for v in uses[query])
                assert scarcest == pytest.approx(component.share, rel=1e-6)


def test_weights_of_very_different_size_are_kept_apart():
    uses = {i: [f"a{i}", f"b{i}"] for i in range(6)}
    weights = {i: 100.0**i for i in range(6)}
    words = allocate(uses, budget=10**7, weights=weights).continuous
    assert words["a5"] / words["a0"] == pytest.approx(1e5)


@pytest.mark.parametrize("seed", range(100))
def test_rounding_stays_within_the_bound_of_theorem_7(seed):
    uses, weights = random_graph(seed)
    vertices = len({v for query in uses for v in query})
    for budget in (vertices, 2 * vertices + 1, 10 * vertices + 3):
        found = allocate(dict(enumerate(uses)), budget=budget, weights=dict(enumerate(weights)))
        assert sum(found.words.values()) <= budget
        assert min(found.words.values()) >= 1
        continuous = sum(
            weight / min(found.continuous[v] for v in used)
            for used, weight in zip(uses, weights, strict=True)
        )
        assert found.error <= (1 + 2 * vertices / budget) * continuous * (1 + 1e-9)


def _all_divisions(vertices, budget):
    for cuts in itertools.combinations(range(1, budget), vertices - 1):
        yield [b - a for a, b in itertools.pairwise((0, *cuts, budget))]


def _errors(uses, weights, words):
    return [w / min(words[v] for v in used) for used, w in zip(uses, weights, strict=True)]


@pytest.mark.parametrize("seed", range(60))
def test_small_budgets_are_divided_as_by_brute_force(seed):
    uses, weights = random_graph(seed)
    vertices = 1 + max(v for query in uses for v in query)
    if vertices > 5:
        uses = [[v % 5 for v in query] for query in uses]
        vertices = 5
    budget = vertices + random.Random(seed).randint(0, 9)
    named = dict(enumerate(uses))
    weighed = dict(enumerate(weights))
    divisions = [_errors(uses, weights, words) for words in _all_divisions(vertices, budget)]
    exact = allocate(named, budget=budget, weights=weighed, metric="maximum")
    assert exact.error == pytest.approx(min(max(errors) for errors in divisions))
    near = allocate(named, budget=budget, weights=weighed).error
    best = min(sum(errors) for errors in divisions)
    assert best * (1 - 1e-9) <= near <= best * (1 + 2 * vertices / budget)


def _least_maximum(need, budget):
    """The least error of which everybody's words can be paid."""
    errors = {n / words for n in need for words in range(1, budget + 1)}
    return min(
        error for error in errors if sum(math.ceil(n / error * (1 - 1e-12)) for n in need) <= budget
    )


@pytest.mark.parametrize("seed", range(60))
def test_no_division_of_larger_budgets_has_a_smaller_maximum(seed):
    chance = random.Random(seed)
    weights = [1.3 ** chance.randint(0, 12) for _ in range(chance.randint(2, 5))]
    apart = {number: [number] for number in range(len(weights))}
    budget = len(weights) + chance.randint(0, 40)
    found = allocate(apart, budget=budget, metric="maximum", weights=dict(enumerate(weights)))
    assert found.error == pytest.approx(_least_maximum(weights, budget))
    assert sum(found.words.values()) <= budget


def test_the_maximum_may_take_fewer_words_than_the_continuous_optimum_rounded_down():
    uses = {0: ["a"], 1: ["b"], 2: ["c"]}
    found = allocate(uses, budget=13, metric="maximum", weights={0: 10.4, 1: 1.3, 2: 1.3})
    assert found.words == {"a": 9, "b": 2, "c": 2}


def test_a_budget_below_one_word_per_vertex_is_refused():
    with pytest.raises(GinghamError, match="4 words for 5 sketches"):
        allocate(USES, budget=4)
    assert set(allocate(USES, budget=5).words.values()) == {1}


@pytest.mark.parametrize("weight", [0.0, -1.0, float("nan"), float("inf")])
def test_weights_are_positive_numbers(weight):
    with pytest.raises(GinghamError, match="q2"):
        allocate(USES, budget=50, weights={**WEIGHTS, "q2": weight})
