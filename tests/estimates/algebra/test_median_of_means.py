"""Estimates are right on average, and intervals hold what they say."""

import numpy as np
import pytest

from gingham.core.errors import GinghamError
from gingham.datasets.regions import Table
from gingham.estimates.algebra import (
    JoinQuery,
    empty,
    estimate,
    median_of_means,
    plan_sharing,
    samples,
    sketch,
)
from gingham.estimates.algebra.median_of_means import fewest_copies
from tests.oracle.joins import join_size

A, B, C = "a", "b", "c"
SHAPES = {
    "pair": JoinQuery([("r", A, "s", A)]),
    "chain": JoinQuery([("r", A, "s", A), ("s", B, "t", B)]),
    "long chain": JoinQuery([("r", A, "s", A), ("s", B, "t", B), ("t", C, "u", C)]),
    "star": JoinQuery([("t", A, "r", A), ("t", B, "s", B), ("t", C, "u", C)]),
    "two attributes": JoinQuery([("s", A, "t", A), ("s", B, "t", B)]),
    "self-join": JoinQuery([("r", A, "r", A)]),
    "self-join of two attributes": JoinQuery(
        [("s", A, "s2", A), ("s", B, "s2", B)], relations={"s2": "s"}
    ),
    "one attribute of three": JoinQuery([("r", A, "s", A), ("s", A, "t", A)]),
    "different names": JoinQuery([("r", A, "u", C)]),
    "renamed": JoinQuery([("s", A, "s2", B)], relations={"s2": "s"}),
    "sum": JoinQuery([("r", A, "s", A)], measures={"s": "price"}),
    "selection": JoinQuery([("r", A, "s", A)], selections={"s": frozenset({0, 2})}),
    "other selection": JoinQuery([("r", A, "s", A)], selections={"s": frozenset({1, 2})}),
    "both selections": JoinQuery([("r", A, "s", A)], selections={"s": frozenset({0, 1})}),
    "wider selection": JoinQuery([("r", A, "s", A)], selections={"s": frozenset({0, 1, 2})}),
    "narrow selection": JoinQuery([("r", A, "s", A)], selections={"s": frozenset({0})}),
    "product": JoinQuery([("r", A, "s", A), ("t", B, "u", C)]),
}
QUERIES = [
    JoinQuery(q.joins, name, q.relations, q.measures, q.selections) for name, q in SHAPES.items()
]


def _tables(seed, domain=6, rows=12):
    random = np.random.default_rng(seed)

    def table(*attributes):
        return Table(
            {attribute: random.integers(-2, domain, rows) for attribute in attributes},
            random.integers(1, 9, rows),
            random.integers(0, 3, rows),
            {"price": random.integers(-5, 50, rows)},
        )

    return {"r": table(A), "s": table(A, B), "t": table(A, B, C), "u": table(C)}


def sketched(plan, tables):
    total = empty(plan)
    for name, table in tables.items():
        total += sketch(
            plan,
            name,
            table.keys,
            counts=table.counts,
            sums=table.sums,
            fragments=table.fragments,
        )
    return total


@pytest.fixture(scope="module", params=[False, True], ids=["unfolded", "folded"])
def many(request):
    """Forty thousand independent copies for each query, all shared."""
    tables = _tables(1)
    plan = plan_sharing(QUERIES, budget=10**6, metric="maximum", fold=request.param, seed=5)
    return plan, sketched(plan, tables), tables


@pytest.mark.parametrize("name", SHAPES)
def test_the_mean_of_many_copies_is_within_three_standard_errors_of_the_truth(many, name):
    plan, sketches, tables = many
    values = samples(plan, sketches, name)
    assert len(values) > 30_000
    error = values.std() / np.sqrt(len(values))
    assert abs(values.mean() - join_size(SHAPES[name], tables)) < 3 * error


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
@pytest.mark.parametrize("name", SHAPES)
def test_intervals_cover_at_least_their_level(many, name, confidence):
    plan, sketches, tables = many
    truth = join_size(SHAPES[name], tables)
    values = samples(plan, sketches, name)
    enough = fewest_copies(confidence)
    for copies in (2, 20, enough):
        times = min(300, len(values) // copies)
        parts = values[: times * copies].reshape(times, copies)
        found = [median_of_means(part, confidence) for part in parts]
        covered = np.mean([one.lower <= truth <= one.upper for one in found])
        assert covered >= confidence
        assert np.isfinite(found[0].upper) == (copies == enough)


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
@pytest.mark.parametrize(("relations", "skew"), [(2, 1.0), (5, 1.0), (5, 1.5), (7, 1.5)])
def test_intervals_cover_their_level_where_tails_are_long(relations, skew, confidence):
    random, domain, rows = np.random.default_rng(1), 100, 200
    odds = (1 + np.arange(domain)) ** -skew
    chain = [(f"r{i}", B, f"r{i + 1}", A) for i in range(relations - 1)]
    copies = fewest_copies(confidence)
    plan = plan_sharing({"q": chain}, budget=relations * 300 * copies)
    total, pairs = empty(plan), np.ones(domain)
    for number in range(relations):
        a, b = random.choice(domain, (2, rows), p=odds / odds.sum())
        total += sketch(plan, f"r{number}", {A: a, B: b})
        counts = np.zeros((domain, domain))
        np.add.at(counts, (a, b), 1)
        pairs = counts.sum(axis=0) if number == 0 else pairs @ counts
    truth = pairs.sum()
    parts = samples(plan, total, "q").reshape(300, copies)
    found = [median_of_means(part, confidence) for part in parts]
    assert np.mean([one.lower <= truth <= one.upper for one in found]) >= confidence


@pytest.mark.parametrize("confidence", [0.9, 0.99, 0.999])
def test_the_estimate_is_the_mean_whatever_the_confidence(confidence):
    skewed = np.exp(np.random.default_rng(0).normal(size=4000))
    found = median_of_means(skewed, confidence)
    assert found.value == pytest.approx(skewed.mean())
    assert found.lower < found.value < found.upper


def test_different_queries_may_be_estimated_from_one_sketch():
    plan = plan_sharing(QUERIES, budget=4000)
    alone = plan_sharing(QUERIES, budget=4000, share="none")
    assert len(plan.vertices) < len(alone.vertices) / 2


def test_the_variance_of_a_pair_is_that_of_theory():
    tables = _tables(3)
    plan = plan_sharing({"q": [("r", A, "s", A)]}, budget=80_000)
    values = samples(plan, sketched(plan, tables), "q")
    f, g = (np.bincount(tables[n].keys[A] + 2, weights=tables[n].counts, minlength=8) for n in "rs")
    truth = (f * f).sum() * (g * g).sum() + (f * g).sum() ** 2 - 2 * (f * f * g * g).sum()
    assert values.var() == pytest.approx(truth, rel=0.05)


def test_an_estimate_says_what_it_is_made_from():
    plan = plan_sharing({"q": [("r", A, "s", A)]}, budget=200)
    found = estimate(plan, sketched(plan, _tables(4)), "q")
    assert (found.copies, found.words) == (100, 200)
    assert found.lower < found.value < found.upper
    assert found.variance > 0


def test_one_copy_knows_no_interval():
    found = median_of_means(np.array([7.0]))
    assert (found.value, found.lower, found.upper) == (7.0, -np.inf, np.inf)


def test_a_confidence_is_below_one():
    with pytest.raises(GinghamError, match="probability"):
        median_of_means(np.arange(5.0), confidence=95)
