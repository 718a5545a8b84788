"""Queries whose conditions would make too many cells are simplified until they make few."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import prod

from gingham.logical.predicate import Attribute, attributes, cuts, whole
from gingham.optimizer.cost import MOST_CELLS
from gingham.plan.bound import BoundQuery, Condition, Reading


def take_whole(
    queries: tuple[BoundQuery, ...],
) -> tuple[tuple[BoundQuery, ...], tuple[str, ...]]:
    """Let Spark evaluate what has too many intervals: first filters, then the predicate itself.

    sum(x) FILTER (WHERE f)            ->     the filter is part of the partial sum
    a > 1 AND b > 2 AND ... z > 26     ->     one boolean attribute: (a > 1 AND ... z > 26)
    """
    notices: list[str] = []
    # In this order: once filters are gone, every condition of a query is its predicate.
    for simplify, what in ((_filters_in_partials, "filters"), (_predicate_whole, "predicate")):
        sizes = _axis_sizes(queries)
        large = {q.name: cells for q in queries if (cells := _cells(q, sizes)) > MOST_CELLS}
        queries = tuple(simplify(q) if q.name in large else q for q in queries)
        notices += [
            f"{what} of {name} evaluated by Spark as a whole: {cells:,} cells otherwise"
            for name, cells in large.items()
        ]
    return queries, tuple(notices)


def _cells(query: BoundQuery, sizes: dict[Attribute, int]) -> int:
    return prod(sizes[a] for a in {a for c in query.conditions for a in attributes(c.predicate)})


def _axis_sizes(queries: Iterable[BoundQuery]) -> dict[Attribute, int]:
    places: dict[Attribute, set[object]] = {}
    for query in queries:
        for condition in query.conditions:
            for attribute in attributes(condition.predicate):
                places.setdefault(attribute, set())
            for attribute, cut in cuts(condition.predicate):
                places[attribute].add(cut)
    return {attribute: len(found) + 2 for attribute, found in places.items()}


def _filters_in_partials(query: BoundQuery) -> BoundQuery:
    def read(reading: Reading) -> Reading:
        if reading.filter is None:
            return reading
        return replace(reading, condition=query.where, in_partials=True)

    return query.rewritten(query.where, read)


def _predicate_whole(query: BoundQuery) -> BoundQuery:
    simple = Condition(whole(query.where.sql), query.where.sql)
    return query.rewritten(simple, lambda reading: replace(reading, condition=simple))
