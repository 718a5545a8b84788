"""Every table is joined once for all queries."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from gingham.core import names
from gingham.logical.domain import BOOLEAN
from gingham.logical.predicate import Attribute, Span, conjunction
from gingham.logical.query import Join, JoinUse
from gingham.plan.bound import BoundQuery, Condition, ConditionalAggregate


class SharedJoins(NamedTuple):
    """Queries over the shared joins, the joins themselves, and notices about them."""

    queries: tuple[BoundQuery, ...]
    joins: tuple[JoinUse, ...]
    notices: tuple[str, ...]


def share_joins(queries: tuple[BoundQuery, ...], outer_joins: frozenset[str]) -> SharedJoins:
    """Join each table once; the join drops rows without a match only if every query does.

    `outer_joins` are the roles of joins that must keep such rows, since they did so before.

    q1: trades JOIN listing, q2: trades             q1: trades LEFT JOIN listing, if it matched
                                               ->   q2: trades LEFT JOIN listing
    """
    joins = tuple(dict.fromkeys(use.join for q in queries for use in q.query.joins))
    inner = {
        join
        for join in joins
        if join.role not in outer_joins and all(_drops_unmatched(q, join) for q in queries)
    }
    outer = tuple(join for join in joins if join not in inner)
    notices = tuple(
        f"{join.role} is looked up for all rows: not every query drops rows without a match"
        for join in outer
        if any(_drops_unmatched(q, join) for q in queries)
    )
    return SharedJoins(
        queries=tuple(_with_matches(query, outer) for query in queries),
        joins=tuple(JoinUse(join, drops_unmatched=join in inner) for join in joins),
        notices=notices,
    )


def _drops_unmatched(query: BoundQuery, join: Join) -> bool:
    """Whether a query has this table as an inner join, so that it drops rows without a match."""
    return JoinUse(join, drops_unmatched=True) in query.query.joins


def _with_matches(query: BoundQuery, outer: tuple[Join, ...]) -> BoundQuery:
    """Make each condition of a query require a match in its inner joins among `outer`."""
    required = [join for join in outer if _drops_unmatched(query, join)]
    if not required:
        return query
    matches = [Span(Attribute(names.quoted(j.matched), BOOLEAN), low=True) for j in required]
    sql = " AND ".join(names.quoted(j.matched) for j in required)

    def matched(condition: Condition) -> Condition:
        """The condition, and that each inner join of the query has found a match."""
        return Condition(
            conjunction(*matches, condition.predicate), f"({sql}) AND ({condition.sql})"
        )

    def over_matches(aggregate: ConditionalAggregate) -> ConditionalAggregate:
        """The aggregate over those rows for which the inner joins have found a match."""
        return replace(aggregate, condition=matched(aggregate.condition))

    return query.rewritten(matched(query.where), over_matches)
