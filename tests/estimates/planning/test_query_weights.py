"""Memory is divided by weights: those that are given, that were measured, or that are guessed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gingham.core.errors import QueryError
from gingham.estimates.algebra import Histogram, JoinQuery, histogram_weights
from gingham.estimates.planning.bound_join import BoundJoin, Measure
from gingham.estimates.planning.join_aggregate import JoinAggregate
from gingham.estimates.planning.query_weights import PriorWeights
from gingham.estimates.planning.share_sketches import share_sketches

EVEN = Histogram.of(np.arange(100))
SKEWED = Histogram.of(np.repeat(np.arange(100), 100 - np.arange(100)))
HISTOGRAMS = {"r": {"a": EVEN}, "s": {"a": SKEWED, "b": EVEN}, "t": {"b": EVEN}}


def _query(name: str, *joins: tuple[str, str, str, str], **relations: str) -> BoundJoin:
    """A join whose keys are hashed, so that plans know them by other words than its text."""
    named = {alias: relations.get(alias, alias) for j in joins for alias in (j[0], j[2])}
    words = tuple((left, f"xxhash64({a})", right, f"xxhash64({b})") for left, a, right, b in joins)
    return BoundJoin(JoinAggregate(name, name, named, joins, {}, {}, None), words, {}, {})


PAIR = _query("pair", ("r", "a", "s", "a"))
CHAIN = _query("chain", ("r", "a", "s", "a"), ("s", "b", "t", "b"))


def test_given_weights_go_before_measured_ones_and_these_before_guesses():
    prior = PriorWeights({"pair": 5.0}, HISTOGRAMS)
    guessed = histogram_weights([JoinQuery(CHAIN.query.joins, "chain")], HISTOGRAMS)
    assert prior.of([PAIR, CHAIN], {}).weights == {"pair": 5.0, **guessed}
    measured = {"pair": 70.0, "chain": 80.0}
    assert prior.of([PAIR, CHAIN], measured).weights == {"pair": 5.0, "chain": 80.0}


def test_without_prior_knowledge_weights_are_those_that_were_measured():
    assert PriorWeights().of([PAIR, CHAIN], {"pair": 3.0}) == ({"pair": 3.0}, ())


def test_names_of_histograms_are_found_as_sql_finds_them():
    renamed = PriorWeights(histograms={"R": {"A": EVEN}, "S": {"a": SKEWED}})
    other = _query("pair", ("x", "a", "y", "A"), x="r", y="s")
    assert renamed.of([other], {}) == PriorWeights(histograms=HISTOGRAMS).of([PAIR], {})


def test_a_query_without_a_histogram_is_weighed_like_the_others_and_this_is_said():
    prior = PriorWeights(histograms={"r": {"a": EVEN}, "s": {"a": SKEWED}})
    found = prior.of([PAIR, CHAIN], {})
    assert found.weights.keys() == {"pair"}
    assert found.notices == ("chain: weighed like the others, no histogram of s.b, t.b",)
    plan = share_sketches([PAIR, CHAIN], dict.fromkeys("rst"), budget=90, weights=found.weights)
    assert plan.sharing.weights["chain"] == plan.sharing.weights["pair"] == found.weights["pair"]


def test_a_weight_of_no_query_is_told():
    assert PriorWeights({"piar": 2.0}).of([PAIR], {}) == ({}, ("a weight of 'piar': no query",))


@pytest.mark.parametrize("weight", [0.0, -1.0, math.nan, math.inf])
def test_a_weight_is_a_positive_number(weight: float):
    with pytest.raises(QueryError, match="weight"):
        PriorWeights({"pair": weight})


def test_a_heavy_query_gets_more_words_and_an_average_gets_them_for_both_parts():
    average = BoundJoin(
        CHAIN.query, CHAIN.joins, {"t": Measure("x")}, {}, divisor={"t": Measure("known")}
    )
    weights = PriorWeights({"pair": 1.0, "chain": 100.0}).of([PAIR, average], {}).weights
    plan = share_sketches([PAIR, average], dict.fromkeys("rst"), budget=900, weights=weights)
    assert plan.sharing.weights == {"pair": 1.0, "chain": 100.0, "chain / count": 100.0}
    copies = plan.sharing.copies
    assert copies["chain"] == copies["chain / count"] > copies["pair"]
