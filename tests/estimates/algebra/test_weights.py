"""Weights say how hard a query is."""

import numpy as np
import pytest

from gingham.core.errors import GinghamError
from gingham.estimates.algebra import (
    Histogram,
    JoinQuery,
    histogram_weights,
    plan_sharing,
    samples,
    sketch,
    sketch_weights,
)

QUERIES = {"easy": [("r", "a", "s", "a")], "hard": [("r", "a", "s", "a"), ("s", "b", "t", "b")]}


def _data(seed=0):
    random = np.random.default_rng(seed)
    return {
        "r": {"a": random.integers(0, 40, 3000)},
        "s": {"a": random.integers(0, 50, 3000), "b": random.integers(0, 30, 3000)},
        "t": {"b": random.integers(10, 40, 3000)},
    }


def _statistics(data):
    return {
        name: {attribute: Histogram.of(values) for attribute, values in columns.items()}
        for name, columns in data.items()
    }


def test_histograms_foresee_the_variance_where_attributes_are_independent():
    data = _data()
    guessed = histogram_weights(list(QUERIES.values()), _statistics(data))
    plan = plan_sharing(list(QUERIES.values()), budget=40_000)
    total = sum(
        (sketch(plan, name, columns) for name, columns in data.items() if name != "r"),
        start=sketch(plan, "r", data["r"]),
    )
    for name, weight in guessed.items():
        values = samples(plan, total, name)
        assert weight == pytest.approx(8 * values.var() / values.mean() ** 2, rel=0.2)
    assert sketch_weights(plan, total) == pytest.approx(guessed, rel=0.25)


def test_two_hundred_buckets_keep_all_rows():
    keys = np.arange(5000)
    found = Histogram.of(keys, np.ones(5000, dtype=np.int64))
    assert len(found.rows) == 200
    assert found.rows.sum() == 5000


def test_a_join_that_seems_empty_weighs_as_much_as_the_heaviest():
    data = _data()
    data["t"] = {"b": np.array([900])}
    found = histogram_weights(list(QUERIES.values()), _statistics(data))
    assert found["q1"] == found["q2"]


def test_histograms_regard_what_a_query_selects():
    random = np.random.default_rng(2)
    # Fragment 0 has one key in all rows, fragment 1 has many.
    fragments = np.repeat([0, 1], 3000)
    keys = np.where(fragments == 0, 7, random.integers(0, 40, 6000))
    other = random.integers(0, 40, 3000)
    queries = [
        JoinQuery([("r", "a", "s", "a")], name, selections={"r": frozenset(parts)})
        for name, parts in {"one": {0}, "many": {1}, "both": {0, 1}, "none": {2}}.items()
    ]
    known = {"r": {"a": Histogram.of(keys, fragments=fragments)}, "s": {"a": Histogram.of(other)}}
    found = histogram_weights(queries, known)
    alone = {
        name: histogram_weights(
            [JoinQuery([("r", "a", "s", "a")], name)],
            {"r": {"a": Histogram.of(keys[np.isin(fragments, parts)])}, "s": known["s"]},
        )[name]
        for name, parts in {"one": [0], "many": [1], "both": [0, 1]}.items()
    }
    assert {name: found[name] for name in alone} == pytest.approx(alone)
    assert len(set(alone.values())) == 3
    assert found["none"] == max(alone.values())


def test_without_histograms_of_fragments_a_selection_is_a_fair_sample():
    statistics = _statistics(_data())
    some = JoinQuery(QUERIES["easy"], "q", selections={"r": frozenset({1})})
    every = JoinQuery(QUERIES["easy"], "q")
    assert histogram_weights([some], statistics) == histogram_weights([every], statistics)


def test_a_missing_histogram_is_named():
    statistics = _statistics(_data())
    del statistics["t"]
    with pytest.raises(GinghamError, match=r"t\.b"):
        histogram_weights(list(QUERIES.values()), statistics)


def test_heavier_queries_get_more_words():
    plan = plan_sharing(QUERIES, budget=1000, weights={"easy": 1.0, "hard": 100.0})
    assert plan.copies["hard"] > 1000 / 4


def test_new_weights_change_sizes_and_nothing_else():
    queries = {"one": [("r", "a", "s", "a")], "two": [("t", "b", "u", "b")]}
    plan = plan_sharing(queries, budget=1000)
    other = plan.within(1000, {"one": 9.0, "two": 1.0})
    assert other.vertices == plan.vertices
    assert (other.copies["one"], other.copies["two"]) == (375, 125)


def test_as_many_weights_as_queries():
    with pytest.raises(GinghamError, match="1 weights for 2 queries"):
        plan_sharing(QUERIES, budget=100, weights=[1.0])
