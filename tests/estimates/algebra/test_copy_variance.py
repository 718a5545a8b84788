"""The copies of an estimate have the mean and the variance that their definition gives."""

import numpy as np
import pytest

from gingham.datasets.regions import Regions, Table, workload
from gingham.estimates.algebra import JoinQuery, empty, plan_sharing, samples, sketch
from tests.oracle.copy_variance import copy_moments
from tests.oracle.joins import join_size

QUERIES = [
    JoinQuery([("r", "a", "s", "a")], "pair"),
    JoinQuery([("r", "a", "s", "a"), ("s", "b", "t", "b")], "chain"),
    JoinQuery([("r", "a", "r", "a")], "self-join"),
    JoinQuery([("s", "a", "s2", "a"), ("s", "b", "s2", "b")], "two keys", relations={"s2": "s"}),
]


def _sketched(plan, tables):
    total = empty(plan)
    for name, table in tables.items():
        total += sketch(plan, name, table.keys, counts=table.counts)
    return total


@pytest.mark.parametrize("seed", [0, 1])
def test_copies_spread_as_all_pairs_of_joined_rows_say(seed):
    random = np.random.default_rng(seed)

    def table(*attributes):
        keys = {attribute: random.integers(0, 3, 5) for attribute in attributes}
        return Table(keys, random.integers(1, 5, 5))

    tables = {"r": table("a"), "s": table("a", "b"), "t": table("b")}
    plan = plan_sharing(QUERIES, budget=400_000, metric="maximum", seed=seed)
    total = _sketched(plan, tables)
    for query in QUERIES:
        mean, variance = copy_moments(query, tables)
        values = samples(plan, total, query.name)
        assert mean == join_size(query, tables)
        assert values.mean() == pytest.approx(mean, abs=5 * np.sqrt(variance / len(values)))
        assert values.var() == pytest.approx(variance, rel=0.1)


@pytest.mark.parametrize("number", [1, 2])
def test_with_regions_as_wide_wherever_they_are_joined_errors_are_those_of_the_paper(number):
    # Its Figures 15 and 17: less than 10 % in most cases, up to 20,000 words.
    tables = Regions().tables()
    queries = [JoinQuery(joins, name) for name, joins in workload(number).items()]
    plan = plan_sharing(queries, budget=60_000)
    total = _sketched(plan, {v.relation: tables[v.relation] for v in plan.vertices})
    smaller = plan.within(20_000)
    squared = {
        query.name: np.mean((samples(plan, total, query.name) / truth - 1) ** 2)
        / smaller.copies[query.name]
        for query in queries
        for truth in [join_size(query, tables)]
    }
    assert np.mean(list(squared.values())) < 0.03
    assert np.median(list(squared.values())) < 0.02
