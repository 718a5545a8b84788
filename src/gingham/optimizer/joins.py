"""Every table is looked up once for all queries."""

from __future__ import annotations

from dataclasses import replace

from gingham.core import names
from gingham.logical.domain import BOOLEAN
from gingham.logical.predicate import Attribute, Span, conjunction
from gingham.logical.query import Join
from gingham.plan.bound import BoundQuery, Condition, Reading

Joined = tuple[tuple[Join, bool], ...]


def share_joins(
    queries: tuple[BoundQuery, ...], outer: frozenset[str]
) -> tuple[tuple[BoundQuery, ...], Joined, tuple[str, ...]]:
    """Drop unmatched rows in the join itself only if every query drops them.

    Lookups that are outer already, by role, stay so.

    q1: trades JOIN listing, q2: trades             q1: trades LEFT JOIN listing, if it matched
                                               ->   q2: trades LEFT JOIN listing
    """
    joins = tuple(dict.fromkeys(join for q in queries for join, _ in q.query.joins))
    inner = {
        j for j in joins if j.role not in outer and all((j, True) in q.query.joins for q in queries)
    }
    notices = tuple(
        f"{join.role} is looked up for all rows: not every query drops rows without a match"
        for join in joins
        if join not in inner and any((join, True) in q.query.joins for q in queries)
    )
    shared = tuple(_with_matches(q, tuple(j for j in joins if j not in inner)) for q in queries)
    return shared, tuple((j, j in inner) for j in joins), notices


def _with_matches(query: BoundQuery, outer: tuple[Join, ...]) -> BoundQuery:
    required = [j for j in outer if (j, True) in query.query.joins]
    if not required:
        return query
    matches = [Span(Attribute(names.quoted(j.matched), BOOLEAN), low=True) for j in required]
    sql = " AND ".join(names.quoted(j.matched) for j in required)

    def matched(condition: Condition) -> Condition:
        return Condition(
            conjunction(*matches, condition.predicate), f"({sql}) AND ({condition.sql})"
        )

    def read(reading: Reading) -> Reading:
        return replace(reading, condition=matched(reading.condition))

    return query.rewritten(matched(query.where), read)
