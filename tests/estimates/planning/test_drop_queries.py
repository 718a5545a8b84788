"""A plan goes on without queries that raise, and without nothing else."""

from __future__ import annotations

from dataclasses import replace

from gingham.estimates.planning.bound_join import BoundJoin, Measure
from gingham.estimates.planning.drop_queries import drop_queries
from gingham.estimates.planning.join_aggregate import JoinAggregate
from gingham.estimates.planning.share_sketches import share_sketches
from gingham.estimates.planning.sketch_plan import SketchPlan
from gingham.logical.domain import INTEGER
from gingham.logical.predicate import Attribute, Predicate, Span, opaque
from gingham.plan.bound import Condition

LARGE = Span(Attribute("x", INTEGER), low=5)
FRAGILE = opaque("f(y)")


def _query(name: str, condition: Predicate | None = None, measure: str | None = None) -> BoundJoin:
    """Join r and s on k, with a condition on r."""
    relations = {"r": "r", "s": "s"}
    joins = (("r", "k", "s", "k"),)
    return BoundJoin(
        JoinAggregate(name, name, relations, joins, {}, {}, None),
        joins,
        {"r": Measure(measure)} if measure else {},
        {"r": Condition(condition, str(condition))} if condition else {},
    )


def _plan(*queries: BoundJoin) -> SketchPlan:
    return share_sketches(queries, {"r": None, "s": None}, budget=60)


def test_nothing_of_a_query_that_raised_is_evaluated():
    bad = _query("bad", FRAGILE, "g(z)")
    left, gone = drop_queries(_plan(_query("all"), _query("large", LARGE), bad), {"bad"})
    assert not gone
    one = next(one for one in left.passes if one.relation == "r")
    assert [axis.attribute.sql for axis in one.fragments.axes] == ["x"]
    assert one.measures == ()


def test_sketches_that_are_left_keep_their_numbers_words_and_signs():
    plan = _plan(_query("bad", FRAGILE), _query("all"), _query("large", LARGE))
    left, _ = drop_queries(plan, {"bad"})
    assert set(left.sharing.vertices) < set(plan.sharing.vertices)
    assert left.sharing.words == plan.sharing.words
    used = {v for name in ("all", "large") for f in plan.sharing.factors[name] for v, _ in f}
    assert {vertex.number for vertex in left.sharing.vertices} == used


def test_an_average_that_is_left_keeps_the_sketches_of_its_sum_and_of_its_count():
    average = replace(_query("mean", LARGE, "x"), divisor={"r": Measure("known")})
    plan = _plan(_query("bad", FRAGILE, "g(z)"), average)
    left, gone = drop_queries(plan, {"bad"})
    assert not gone
    assert {measure for step in left.passes for measure in step.measures} == {"x", "known"}
    used = {v for part in average.parts for f in plan.sharing.factors[part] for v, _ in f}
    assert {vertex.number for vertex in left.sharing.vertices} == used


def test_a_query_goes_if_its_rows_cannot_be_told_without_what_raised():
    plan = _plan(_query("all"), _query("large", LARGE), _query("bad", FRAGILE))
    ((vertex, _),) = plan.sharing.factors["large"][0]
    # As if a sketch of some of the large rows, cut by f(y), were one of those that are added up.
    cut = replace(plan.sharing.vertices[vertex], coefficients=((0, 1),), otherwise=0)
    vertices = tuple(cut if v.number == vertex else v for v in plan.sharing.vertices)
    plan = replace(plan, sharing=replace(plan.sharing, vertices=vertices))
    left, gone = drop_queries(plan, {"bad"})
    assert gone == {"large"}
    assert vertex not in {v.number for v in left.sharing.vertices}
    assert drop_queries(plan, set())[1] == frozenset()
