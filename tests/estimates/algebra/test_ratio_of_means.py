"""Averages over joins are estimated from sums and counts, and intervals hold what they say."""

import numpy as np
import pytest

from gingham.core.errors import GinghamError
from gingham.datasets.regions import Table
from gingham.estimates.algebra import (
    JoinQuery,
    empty,
    median_of_means,
    plan_sharing,
    ratio_of_means,
    samples,
    sketch,
)
from gingham.estimates.algebra.median_of_means import fewest_copies
from gingham.estimates.algebra.weights import SCALE, ratio_weight_of
from tests.oracle.joins import join_size

SHAPES = {
    "pair": [("r", "a", "s", "a")],
    "chain": [("r", "a", "s", "a"), ("s", "b", "t", "b")],
    "self-join": [("s", "a", "s2", "a")],
}


def _tables(low, seed=1, rows=40):
    random = np.random.default_rng(seed)

    def table(*attributes):
        keys = {attribute: random.integers(0, 8, rows) for attribute in attributes}
        prices = random.integers(low, 50, rows)
        return Table(keys, np.ones(rows, dtype=np.int64), sums={"price": prices})

    return {"r": table("a"), "s": table("a", "b"), "t": table("b")}


def _samples(shape, tables, budget=400_000, seed=3):
    """Samples of the sum and of the count, and the true average."""
    relations = {"s2": "s"}
    queries = [
        JoinQuery(SHAPES[shape], "sum", relations, measures={"s": "price"}),
        JoinQuery(SHAPES[shape], "count", relations),
    ]
    plan = plan_sharing(queries, budget=budget, metric="maximum", seed=seed)
    total = empty(plan)
    for name, table in tables.items():
        total += sketch(plan, name, table.keys, counts=table.counts, sums=table.sums)
    size = min(plan.copies.values())
    sums, counts = (samples(plan, total, query.name)[:size] for query in queries)
    truth = join_size(queries[0], tables) / join_size(queries[1], tables)
    return sums, counts, truth


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("low", [-50, 10])
def test_the_average_of_many_copies_is_within_three_standard_errors_of_the_truth(shape, low):
    sums, counts, truth = _samples(shape, _tables(low))
    found = ratio_of_means(sums, counts)
    assert len(sums) > 30_000
    assert abs(found.value - truth) < 3 * np.sqrt(found.variance)
    assert found.lower < truth < found.upper


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("low", [-50, 10])
def test_intervals_of_averages_cover_at_least_their_level(shape, low, confidence):
    sums, counts, truth = _samples(shape, _tables(low))
    for copies in (2, fewest_copies(confidence), 1000):
        times = min(300, len(sums) // copies)
        parts = [x[: times * copies].reshape(times, copies) for x in (sums, counts)]
        found = [ratio_of_means(x, n, confidence) for x, n in zip(*parts, strict=True)]
        assert np.mean([one.lower <= truth <= one.upper for one in found]) >= confidence
        if copies == 2:
            assert not np.isfinite([one.upper for one in found]).any()
        assert all(one.lower <= one.value <= one.upper for one in found if not np.isnan(one.value))
    assert np.mean(np.isfinite([one.upper for one in found])) > 0.5


def test_sums_and_counts_that_err_together_make_a_short_interval():
    sums, counts, _ = _samples("pair", _tables(low=40))
    average = ratio_of_means(sums[:2000], counts[:2000])
    total = median_of_means(sums[:2000])
    widths = [(one.upper - one.lower) / one.value for one in (average, total)]
    assert widths[0] < widths[1] / 5


def test_the_interval_has_exactly_the_averages_that_chebyshev_cannot_exclude():
    random = np.random.default_rng(0)
    counts = random.normal(10, 30, 500)
    sums = 3 * counts + random.normal(0, 40, 500)
    found = ratio_of_means(sums, counts)

    def excluded(average):
        rest = sums - average * counts
        return abs(rest.mean()) > np.sqrt(rest.var(ddof=1) / 500 / 0.05)

    for bound, outwards in ((found.lower, -1), (found.upper, 1)):
        assert np.isfinite(bound)
        assert excluded(bound + outwards * 1e-6)
        assert not excluded(bound - outwards * 1e-6)


def test_where_the_count_may_be_zero_nothing_is_known_of_the_average():
    random = np.random.default_rng(0)
    found = ratio_of_means(random.normal(5, 1, 200), random.normal(0, 9, 200))
    assert (found.lower, found.upper) == (-np.inf, np.inf)


def test_an_average_of_no_rows_is_no_number():
    found = ratio_of_means(np.zeros(200), np.zeros(200))
    assert np.isnan(found.value)
    assert (found.lower, found.upper) == (-np.inf, np.inf)
    assert ratio_weight_of(np.zeros(200), np.zeros(200)) is None


def test_the_weight_of_an_average_is_its_relative_variance():
    sums, counts, truth = _samples("chain", _tables(low=10))
    found = ratio_of_means(sums, counts)
    relative = found.variance * found.copies / truth**2
    assert ratio_weight_of(sums, counts) == pytest.approx(SCALE * relative, rel=0.05)


def test_a_confidence_is_below_one():
    with pytest.raises(GinghamError, match="probability"):
        ratio_of_means(np.arange(5.0), np.ones(5), confidence=95)
