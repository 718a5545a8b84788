"""Queries share slices where that is cheaper, and their answers do not depend on it."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from gingham import Loom
from gingham.datasets.trades import trades
from gingham.logical.domain import INTEGER
from gingham.logical.predicate import Attribute, Axis
from gingham.optimizer import optimize
from gingham.optimizer.cost import Cost
from gingham.plan.forest import FixedDecisions, Plan
from gingham.plan.row_statistics import RowStatistics

# Rows cost nothing, so that even few of them are worth a tree.
ONLY_SHARDS = Cost(opening=0.0, row=0.0, tree=1e-12, grid=1e-12, shard=1.0, final=0.0)
LONG = RowStatistics(rows=1e7, seconds=1e5, counted=True)


def _sql(slide: int, where: str, times: int = 2) -> str:
    window = f"window(ts, '{slide * times} seconds', '{slide} seconds')"
    return f"SELECT sum(vol) AS v, count(*) AS n FROM trades WHERE {where} GROUP BY {window}"


ALERTS = {f"alert{i}": _sql(i + 1, f"vol > {500 * i}") for i in range(2)}
REPORTS = {
    f"report{i}": _sql(120 * (1 + i % 3), f"vol > {100 * i} AND price < {9 * i}") for i in range(9)
}


@pytest.fixture
def loom(spark: SparkSession) -> Loom:
    return Loom(spark, cost=ONLY_SHARDS).stream("trades", trades(spark, 3_000), time="ts")


def _planned(
    loom: Loom, cost: Cost, load: RowStatistics, fixed: FixedDecisions | None = None
) -> Plan:
    return optimize("trades", loom._queries_of("trades"), cost, load, fixed)


def _trees(plan: Plan) -> set[frozenset[str]]:
    found: dict[int, set[str]] = {}
    for query in plan.forest.queries:
        found.setdefault(plan.forest.grid_of(query).tree, set()).add(query.name)
    return {frozenset(names) for names in found.values()}


def test_alerts_and_reports_have_trees_of_their_own(loom: Loom):
    for name, sql in (ALERTS | REPORTS).items():
        loom.add(sql, name=name)
    woven = _planned(loom, Cost(), LONG)
    assert _trees(woven) == {frozenset(ALERTS), frozenset(REPORTS)}
    one = optimize(
        "trades", woven.forest.queries, Cost(), LONG, trees=dict.fromkeys(loom.queries, 0)
    )
    assert woven.seconds < one.seconds
    assert any("stay apart" in notice for notice in woven.notices)


def test_one_tree_where_rows_are_dear_or_few(loom: Loom):
    for name, sql in (ALERTS | REPORTS).items():
        loom.add(sql, name=name)
    assert len(_trees(_planned(loom, Cost(tree=1.0), LONG))) == 1
    assert len(_trees(_planned(loom, Cost(), RowStatistics(rows=60, seconds=60)))) == 1


def test_woven_answers_are_those_of_each_query_alone(loom: Loom):
    for name, sql in (ALERTS | REPORTS).items():
        loom.add(sql, name=name)
    assert len(loom.plan().forest.trees) > 1
    assert "trees, one pass over the rows" in loom.explain()
    answers = loom.run()
    for name in loom.queries:
        ours = answers[name].orderBy("window_start").collect()
        assert ours == loom.alone(name).orderBy("window_start").collect()


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_grids_that_stand_are_never_torn_apart(loom: Loom, data: st.DataObject):
    """Whatever comes and goes and however it is weighed: one grid, one tree."""
    fresh = Loom(loom.spark).stream("trades", loom._sources.stream(None).rows, time="ts")
    pool = list((ALERTS | REPORTS).items())
    plan: Plan | None = None
    for turn in range(3):
        for name, sql in data.draw(st.lists(st.sampled_from(pool), max_size=5), label="added"):
            if name not in fresh.queries:
                fresh.add(sql, name=name)
        if not fresh.queries:
            continue
        load = data.draw(
            st.sampled_from([RowStatistics(), LONG, RowStatistics(10.0, 1e5)]), label="load"
        )
        cost = data.draw(st.sampled_from([Cost(), ONLY_SHARDS]), label="cost")
        before = plan.fixed if plan else FixedDecisions()
        plan = optimize(
            "trades", fresh._queries_of("trades"), cost, load, before, reweave=turn == 2
        )
        numbers = [grid.number for grid in plan.forest.grids]
        assert len(set(numbers)) == len(numbers)
        for name, grid in before.grid_of_query.items():
            assert plan.fixed.grid_of_query[name] == grid


def test_attributes_that_the_sample_has_not_seen_are_taken_to_spread(loom: Loom):
    loom.add(ALERTS["alert0"], name="a")
    loom.add(ALERTS["alert1"], name="b")
    load = loom.plan().statistics
    assert load.sample is not None
    (seen,) = load.sample.axes.values()
    unseen = Axis(Attribute("price", INTEGER), (1, 2, 3))
    few = load.shards(100, [seen], [])
    more = load.shards(100, [seen, unseen], ["symbol"])
    assert few < more <= load.rows
    assert load.bins([seen, unseen], []) == pytest.approx(4 * load.bins([seen], []))
