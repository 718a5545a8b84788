"""Rows become sketches exactly, or not at all."""

import pickle

import numpy as np
import pytest

from gingham.core.errors import AnswerError, GinghamError
from gingham.estimates.algebra import JoinQuery, empty, estimate, plan_sharing, sketch

PLAN = plan_sharing({"q": [("r", "a", "s", "b")]}, budget=200)


def objects(values):
    return np.array(values, dtype=object)


def _counters(sketches):
    return {number: counters.tolist() for number, counters in sketches.counters.items()}


def test_a_null_key_joins_nothing():
    masked = np.ma.MaskedArray([1, 2, 3], mask=[False, True, False])
    found = sketch(PLAN, "r", {"a": masked})
    assert _counters(found) == _counters(sketch(PLAN, "r", {"a": [1, 3]}))
    named = sketch(PLAN, "r", {"a": np.array(["x", None, "y"], dtype=object)})
    assert _counters(named) == _counters(sketch(PLAN, "r", {"a": ["x", "y"]}))


def test_keys_that_are_all_null_are_of_any_type():
    nothing = sketch(PLAN, "s", {"b": objects([None, None])})
    total = (
        sketch(PLAN, "r", {"a": [1, 2]}) + nothing + sketch(PLAN, "s", {"b": objects([2, None])})
    )
    assert _counters(total) == _counters(
        sketch(PLAN, "r", {"a": [1, 2]}) + sketch(PLAN, "s", {"b": [2]})
    )


def test_a_whole_number_of_any_size_is_refused_beyond_63_bits():
    with pytest.raises(AnswerError, match="beyond 63 bits"):
        sketch(PLAN, "r", {"a": objects([2**70, None])})


def test_a_null_in_an_attribute_that_a_query_does_not_join_on_is_no_matter():
    queries = {"one": [("r", "a", "s", "b")], "two": [("r", "a", "s", "b"), ("r", "c", "t", "c")]}
    plan = plan_sharing(queries, budget=400)
    rows = {"a": [1, 2], "c": np.ma.MaskedArray([5, 6], mask=[True, False])}
    total = sketch(plan, "r", rows) + sketch(plan, "s", {"b": [1, 2]})
    total += sketch(plan, "t", {"c": [5, 6]})
    assert estimate(plan, total, "one").value == pytest.approx(2, abs=2)
    only = [v.number for v in plan.vertices if v.relation == "r" and "c" in v.attributes]
    alone = sketch(plan, "r", {"a": [2], "c": [6]})
    assert _counters(total)[only[0]] == _counters(alone)[only[0]]


def test_as_in_spark_nan_equals_nan_and_the_zeros_are_equal():
    one = sketch(PLAN, "r", {"a": [np.nan, 0.0]})
    other = sketch(PLAN, "r", {"a": [-np.nan, -0.0]})
    assert _counters(one) == _counters(other)


@pytest.mark.parametrize(
    "other",
    [[1.0], ["1"], np.array(["2020-01-01"], dtype="datetime64[D]"), [b"1"]],
    ids=["float", "text", "date", "bytes"],
)
def test_keys_of_different_types_are_refused(other):
    with pytest.raises(AnswerError, match="is joined with a") as error:
        _ = sketch(PLAN, "r", {"a": [1]}) + sketch(PLAN, "s", {"b": other})
    assert "cast" in error.value.instead


def test_no_rows_of_a_relation_join_nothing():
    total = sketch(PLAN, "r", {"a": [1, 2]}) + sketch(PLAN, "s", {"b": []})
    assert estimate(PLAN, total, "q").value == 0
    assert estimate(PLAN, empty(PLAN), "q").value == 0


@pytest.mark.parametrize("values", [[2**62, 2**62], [2**62, -(2**62)], [-(2**63)]])
def test_counters_that_could_overflow_are_refused(values):
    with pytest.raises(AnswerError, match="overflows"):
        sketch(PLAN, "r", {"a": list(range(len(values)))}, counts=values)


def test_large_counters_are_exact_and_their_sum_is_checked():
    large = sketch(PLAN, "r", {"a": [7]}, counts=[2**62 + 1])
    assert {abs(value) for value in large.counters[0].tolist()} == {2**62 + 1}
    with pytest.raises(AnswerError, match="overflows"):
        _ = large + large


def test_deleting_what_was_inserted_leaves_nothing():
    rows = {"a": [1, 2, 2, 9]}
    gone = sketch(PLAN, "r", rows) + sketch(PLAN, "r", rows, counts=[-1, -1, -1, -1])
    assert not any(counters.any() for counters in gone.counters.values())
    again = sketch(PLAN, "r", rows) - sketch(PLAN, "r", rows)
    assert not any(counters.any() for counters in again.counters.values())


def test_sums_are_of_whole_numbers():
    plan = plan_sharing([JoinQuery([("r", "a", "s", "b")], measures={"r": "x"})], budget=10)
    with pytest.raises(AnswerError, match="float64"):
        sketch(plan, "r", {"a": [1]}, sums={"x": [0.5]})
    with pytest.raises(GinghamError, match="measure x"):
        sketch(plan, "r", {"a": [1]})


def test_what_is_missing_is_named():
    with pytest.raises(GinghamError, match="join attribute a"):
        sketch(PLAN, "r", {"b": [1]})
    plan = plan_sharing(
        [JoinQuery([("r", "a", "s", "b")], selections={"r": frozenset({1})})], budget=10
    )
    with pytest.raises(GinghamError, match="without fragments"):
        sketch(plan, "r", {"a": [1]})


def test_sketches_of_different_plans_do_not_add_up():
    other = plan_sharing({"q": [("r", "a", "s", "b")]}, budget=200, seed=1)
    with pytest.raises(GinghamError, match="different plans"):
        _ = empty(PLAN) + empty(other)


def test_plans_and_sketches_travel():
    plan = pickle.loads(pickle.dumps(PLAN))  # noqa: S301
    found = pickle.loads(pickle.dumps(sketch(plan, "r", {"a": [1]})))  # noqa: S301
    assert _counters(found + sketch(PLAN, "r", {"a": [2]})) == _counters(
        sketch(PLAN, "r", {"a": [1, 2]})
    )
