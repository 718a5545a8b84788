"""All attributes of some queries, with all their cuts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gingham.logical.domain import sort_key
from gingham.logical.predicate import Attribute, Axis
from gingham.plan.bound import BoundQuery, Condition


def all_axes(queries: Iterable[BoundQuery]) -> dict[Attribute, Axis]:
    """Every attribute once, cut wherever one of the queries cuts it."""
    return axes_of(dict.fromkeys(c for query in queries for c in query.conditions))


def axes_of(conditions: Iterable[Condition]) -> dict[Attribute, Axis]:
    """Every attribute once, cut wherever one of the conditions cuts it."""
    places: dict[Attribute, dict[Any, Any]] = {}
    for condition in conditions:
        for attribute in condition.attributes:
            places.setdefault(attribute, {})
        for attribute, cut in condition.cuts:
            places[attribute][sort_key(cut)] = cut
    return {
        attribute: Axis(attribute, tuple(found[k] for k in sorted(found)))
        for attribute, found in places.items()
    }
