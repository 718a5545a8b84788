"""The axes of queries: all their attributes, with all their cuts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gingham.logical.domain import sort_key
from gingham.logical.predicate import Attribute, Axis
from gingham.plan.bound import BoundQuery, Condition


def all_axes(queries: Iterable[BoundQuery]) -> dict[Attribute, Axis]:
    """The axes of all queries: for each attribute, the cuts that any of them makes."""
    return axes_of(dict.fromkeys(c for query in queries for c in query.conditions))


def axes_of(conditions: Iterable[Condition]) -> dict[Attribute, Axis]:
    """The axes of some conditions: for each attribute, the cuts that any of them makes."""
    cuts_of: dict[Attribute, dict[Any, Any]] = {}
    for condition in conditions:
        for attribute in condition.attributes:
            cuts_of.setdefault(attribute, {})
        for attribute, cut in condition.cuts:
            cuts_of[attribute][sort_key(cut)] = cut
    return {
        attribute: Axis(attribute, tuple(cuts[key] for key in sorted(cuts)))
        for attribute, cuts in cuts_of.items()
    }
