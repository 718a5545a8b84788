"""Bound joins as JSON, so that an epoch can be planned again although Spark refuses one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gingham.estimates.planning.bound_join import BoundJoin, Measure
from gingham.estimates.planning.join_aggregate import JoinAggregate
from gingham.logical.domain import END, START, Bound
from gingham.logical.predicate import Always, And, Not, Or, Predicate, Span
from gingham.logical.window import Window
from gingham.plan.bound import Condition
from gingham.stream.codec import (
    attribute_from_json,
    attribute_to_json,
    cut_from_json,
    cut_to_json,
)

_BOUNDS = {"start": START, "end": END}


def join_to_json(join: BoundJoin) -> dict[str, Any]:
    """A bound join as JSON: what plans of sketches depend on, not what it was parsed to."""
    query, window = join.query, join.query.window
    return {
        "text": query.text,
        "relations": dict(query.relations),
        "window": None if window is None else [window.range, window.slide, window.start],
        "joins": [list(equality) for equality in join.joins],
        "measures": _measures_to_json(join.measures),
        "divisor": None if join.divisor is None else _measures_to_json(join.divisor),
        "conditions": {
            a: [_predicate_to_json(c.predicate), c.sql] for a, c in join.conditions.items()
        },
        "fragile": join.fragile,
    }


def join_from_json(name: str, found: dict[str, Any]) -> BoundJoin:
    """A bound join from JSON: the inverse of `join_to_json`."""
    query = JoinAggregate(
        name=name,
        text=found["text"],
        relations=found["relations"],
        joins=(),
        measures={},
        selections={},
        window=None if found["window"] is None else Window(*found["window"]),
    )
    return BoundJoin(
        query=query,
        joins=tuple((a, b, c, d) for a, b, c, d in found["joins"]),
        measures=_measures_from_json(found["measures"]),
        conditions={
            a: Condition(_predicate_from_json(predicate), sql)
            for a, (predicate, sql) in found["conditions"].items()
        },
        fragile=found["fragile"],
        # Logs from before there were averages have none.
        divisor=None if found.get("divisor") is None else _measures_from_json(found["divisor"]),
    )


def _measures_to_json(measures: Mapping[str, Measure]) -> dict[str, list[str | int]]:
    """The measures of a bound join, by alias, as JSON."""
    return {alias: [m.sql, m.zero, m.scale] for alias, m in measures.items()}


def _measures_from_json(found: dict[str, Any]) -> dict[str, Measure]:
    """The measures of a bound join from JSON: the inverse of `_measures_to_json`."""
    return {alias: Measure(*measure) for alias, measure in found.items()}


def _predicate_to_json(predicate: Predicate) -> dict[str, Any]:
    """A typed predicate of a condition as JSON."""
    match predicate:
        case Always(value):
            return {"always": value}
        case Not(term):
            return {"not": _predicate_to_json(term)}
        case And(terms):
            return {"and": [_predicate_to_json(term) for term in terms]}
        case Or(terms):
            return {"or": [_predicate_to_json(term) for term in terms]}
        case Span(attribute, low, high, on_null):
            return {
                "span": attribute_to_json(attribute),
                "low": _end_to_json(low),
                "high": _end_to_json(high),
                "on_null": on_null,
            }
        case _:
            raise TypeError(f"{predicate} has no type yet")


def _predicate_from_json(found: dict[str, Any]) -> Predicate:
    """A typed predicate of a condition from JSON: the inverse of `_predicate_to_json`."""
    match found:
        case {"always": value}:
            return Always(value)
        case {"not": term}:
            return Not(_predicate_from_json(term))
        case {"and": terms}:
            return And(tuple(_predicate_from_json(term) for term in terms))
        case {"or": terms}:
            return Or(tuple(_predicate_from_json(term) for term in terms))
        case _:
            low, high = _end_from_json(found["low"]), _end_from_json(found["high"])
            return Span(attribute_from_json(found["span"]), low, high, found["on_null"])


def _end_to_json(end: Any) -> Any:
    """One end of a span as JSON: a cut, or that of the whole domain."""
    return {"bound": end.name.lower()} if isinstance(end, Bound) else cut_to_json(end)


def _end_from_json(found: Any) -> Any:
    """One end of a span from JSON: the inverse of `_end_to_json`."""
    if isinstance(found, dict) and "bound" in found:
        return _BOUNDS[found["bound"]]
    return cut_from_json(found)
