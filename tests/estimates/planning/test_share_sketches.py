"""A later query reads the sketches of a plan, if they are what it needs."""

from __future__ import annotations

from gingham.estimates.planning.bound_join import BoundJoin, Measure
from gingham.estimates.planning.join_aggregate import JoinAggregate
from gingham.estimates.planning.share_sketches import adopt_query, share_sketches

JOINS = (("r", "k", "s", "k"),)


def _query(name: str, measure: str | None = None, divisor: str | None = None) -> BoundJoin:
    """Join r and s on k, with a measure of r."""
    return BoundJoin(
        JoinAggregate(name, name, {"r": "r", "s": "s"}, JOINS, {}, {}, None),
        JOINS,
        {"r": Measure(measure)} if measure else {},
        {},
        divisor={"r": Measure(divisor)} if divisor else None,
    )


def _plan(*queries: BoundJoin):
    return share_sketches(queries, {"r": None, "s": None}, budget=60)


def test_an_average_shares_the_sketches_of_equal_sums_and_counts():
    alone = _plan(_query("sum", "x"), _query("known", "known"))
    plan = _plan(_query("sum", "x"), _query("known", "known"), _query("mean", "x", "known"))
    assert len(plan.sharing.vertices) == len(alone.sharing.vertices) == 3
    assert plan.sharing.factors["mean"] == plan.sharing.factors["sum"]
    assert plan.sharing.factors["mean / count"] == plan.sharing.factors["known"]


def test_a_later_average_needs_the_sketches_of_its_sum_and_of_its_count():
    mean = _query("mean", "x", "known")
    assert adopt_query(_plan(_query("sum", "x")), mean) is None
    assert adopt_query(_plan(_query("known", "known")), mean) is None
    adopted = adopt_query(_plan(_query("sum", "x"), _query("known", "known")), mean)
    assert adopted is not None
    assert adopted.queries[-1] == mean
    assert adopted.sharing.factors["mean"] == adopted.sharing.factors["sum"]
    assert adopted.sharing.factors["mean / count"] == adopted.sharing.factors["known"]
