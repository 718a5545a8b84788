"""Windows of joins share slices where the same memory then has a smaller error."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gingham.algebra.edges import edges_between, normalized
from gingham.core.errors import GinghamError
from gingham.estimates.planning.bound_join import BoundJoin
from gingham.estimates.planning.join_aggregate import JoinAggregate
from gingham.estimates.planning.share_sketches import adopt_query, share_sketches
from gingham.estimates.planning.sketch_plan import SketchPlan
from gingham.estimates.planning.weave_sketches import most_slices
from gingham.logical.window import Window

TIMES = {"r": "ts", "s": "ts", "t": None}
RS = (("r", "k", "s", "k"),)


def _query(name: str, window: Window | None, joins=RS) -> BoundJoin:
    relations = {alias: alias for join in joins for alias in (join[0], join[2])}
    return BoundJoin(JoinAggregate(name, name, relations, joins, {}, {}, window), joins, {}, {})


def _plan(*windows: Window | None, budget: int = 6000, **options: Any) -> SketchPlan:
    queries = [_query(f"q{i}", window) for i, window in enumerate(windows)]
    return share_sketches(queries, TIMES, budget=budget, **options)


def _trees(plan: SketchPlan) -> set[tuple[str, ...]]:
    return {tree.queries for tree in plan.trees}


def test_a_window_shares_slices_that_another_has_anyway():
    # q0 [0--2)[2--4)[4--6)
    # q1 [0--------6)
    #       [2--------8)
    plan = _plan(Window(2, 2), Window(6, 2))
    assert _trees(plan) == {("q0", "q1")}
    assert plan.sharing.slices == (3, 3)
    assert plan.sharing.words == (1000, 1000)


def test_a_long_window_does_not_share_the_slices_of_a_short_one():
    plan = _plan(Window(10, 10), Window(3600, 600))
    assert _trees(plan) == {("q0",), ("q1",)}
    assert plan.sharing.slices == (1, 1, 6, 6)
    # One tree would hold 2 x 360 slices: 8 words each.
    assert min(plan.sharing.words) > 300


def test_queries_without_a_window_have_one_slice():
    plan = _plan(None, Window(10, 10))
    assert _trees(plan) == {("q0",), ("q1",)}
    assert plan.sharing.slices == (1, 1, 1, 1)


def test_a_table_is_held_once_whatever_the_windows():
    joins = (("r", "k", "t", "k"),)
    plan = share_sketches([_query("q", Window(100, 10), joins)], TIMES, budget=1100)
    held = {v.relation: plan.sharing.slices[v.number] for v in plan.sharing.vertices}
    assert held == {"r": 10, "t": 1}
    assert plan.sharing.words == (100, 100)


def test_rows_that_may_come_late_keep_windows_open():
    assert _plan(Window(10, 10), delays={"s": 25}).sharing.slices == (4, 4)


def test_a_query_that_needs_many_words_does_not_pay_for_the_slices_of_others():
    # The same edges: but in one tree every word of q0 would be paid for in 60 slices.
    heavy = _plan(Window(1, 1), Window(60, 1), weights={"q0": 1000.0, "q1": 1.0})
    assert len(heavy.sharing.vertices) == 4
    light = _plan(Window(1, 1), Window(60, 1), weights={"q0": 0.001, "q1": 1.0})
    assert len(light.sharing.vertices) == 2


def test_a_budget_of_less_than_a_word_for_each_slice_is_refused():
    with pytest.raises(GinghamError, match="19 words for 2 sketches held in 20 slices"):
        _plan(Window(10, 1), budget=19)
    assert _plan(Window(10, 1), budget=20).sharing.words == (1, 1)


def test_a_later_query_reads_the_tree_whose_slices_it_needs():
    plan = _plan(Window(10, 10), Window(3600, 600))
    adopted = adopt_query(plan, _query("later", Window(1800, 600)))
    assert adopted is not None
    assert _trees(adopted) == {("q0",), ("q1", "later")}
    assert adopted.sharing.factors["later"] == plan.sharing.factors["q1"]
    assert adopt_query(plan, _query("other", Window(7, 7))) is None


WINDOWS = st.builds(
    lambda slide, times, more: Window(slide * times + more % slide, slide),
    st.integers(1, 30),
    st.integers(1, 8),
    st.integers(0, 29),
)


@given(
    st.lists(WINDOWS, min_size=1, max_size=5),
    st.integers(0, 20),
    st.sampled_from(["average", "maximum"]),
)
def test_woven_sketches_fit_the_budget_and_are_no_worse_than_other_trees(windows, delay, metric):
    options: dict[str, Any] = {"delays": {"r": delay}, "metric": metric, "budget": 20_000}
    plan = _plan(*windows, **options)
    assert plan.sharing.held <= 20_000
    assert sorted(name for names in _trees(plan) for name in names) == sorted(
        query.name for query in plan.queries
    )
    own = {name: tree for tree in plan.trees for name in tree.queries}
    apart = 0.0
    for query in plan.queries:
        window = query.query.window
        assert window is not None
        tree = own[query.name]
        assert normalized([*tree.edges, *window.classes]) == tree.edges
        for factor in plan.sharing.factors[query.name]:
            assert all(vertex in tree.vertices for vertex, _ in factor)
        alone = share_sketches([query], TIMES, **options)
        apart += alone.sharing.least_error ** (0.5 if metric == "average" else 1)
    together = plan.sharing.least_error ** (0.5 if metric == "average" else 1)
    assert together <= apart * (1 + 1e-6)


@given(st.lists(WINDOWS, min_size=1, max_size=3), st.integers(1, 60), st.integers(-200, 200))
def test_no_span_of_time_has_more_slices_than_are_held(windows, span, start):
    edges = normalized(c for window in windows for c in window.classes)
    listed = edges_between(edges, start - 100, start + 100 + span)
    first = next(edge for edge in listed.tolist() if edge >= start)
    assert sum(first <= edge < first + span for edge in listed.tolist()) <= most_slices(edges, span)


@given(st.lists(WINDOWS, min_size=1, max_size=3), st.lists(st.integers(-500, 500), min_size=1))
def test_an_instant_is_in_the_slice_between_the_edges_around_it(windows, instants):
    tree = _plan(*windows, per_slice=True).trees[0]
    edges = edges_between(tree.edges, -600, 600).tolist()
    expected = [next(a for a, b in pairwise(edges) if a <= at < b) for at in instants]
    assert tree.starts(np.array(instants)).tolist() == expected


def test_a_budget_for_each_slice_is_that_of_one_tree():
    plan = _plan(Window(10, 10), Window(3600, 600), budget=600, per_slice=True)
    assert _trees(plan) == {("q0", "q1")}
    assert plan.sharing.words == (300, 300)
    assert plan.sharing.held == 600
