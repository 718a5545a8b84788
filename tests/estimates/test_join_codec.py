"""Bound joins survive being stored as JSON."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from gingham.estimates.join_codec import join_from_json, join_to_json
from gingham.estimates.planning.bound_join import BoundJoin, Measure
from gingham.estimates.planning.join_aggregate import JoinAggregate
from gingham.logical.domain import BOOLEAN, DOUBLE, STRING, Domain
from gingham.logical.predicate import TRUE, Always, And, Attribute, Not, Or, Predicate, Span
from gingham.logical.window import Window
from gingham.plan.bound import Condition

PRICE = Attribute("price", Domain("decimal", 2, 12))


@pytest.mark.parametrize(
    "predicate",
    [
        TRUE,
        Always(None),
        Span(Attribute("f(x)", BOOLEAN), low=True),
        Span(Attribute("d", DOUBLE), low=-math.inf, high=0.1, on_null=False),
        Not(Span(Attribute("s", STRING), low="it's", high="it's\x00")),
        And((Or((Span(PRICE, low=10**20), Always(value=False))), Span(PRICE, on_null=True))),
    ],
)
@pytest.mark.parametrize("window", [None, Window(10, 5, 2)])
def test_a_bound_join_comes_back_from_json(predicate: Predicate, window: Window | None):
    query = JoinAggregate("q", "SELECT ...", {"o": "orders", "i": "items"}, (), {}, {}, window)
    join = BoundJoin(
        query=query,
        joins=(("o", "id", "i", "order_id"),),
        measures={"i": Measure("coalesce(price, 0)", "CAST(0 AS DECIMAL(12, 2))", 2)},
        conditions={"i": Condition(predicate, "a condition")},
        fragile=True,
    )
    for stored in (join, replace(join, divisor={"i": Measure("coalesce(known, 0)")})):
        assert join_from_json("q", json.loads(json.dumps(join_to_json(stored)))) == stored


def test_a_join_of_a_log_from_before_there_were_averages_divides_nothing():
    query = JoinAggregate("q", "SELECT ...", {"o": "orders", "i": "items"}, (), {}, {}, None)
    join = BoundJoin(query, (("o", "id", "i", "order_id"),), {}, {})
    stored = join_to_json(join)
    del stored["divisor"]
    assert join_from_json("q", stored) == join
