"""Bound queries: queries whose expressions Spark has checked and typed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from gingham.aggregates import Aggregate, Partial
from gingham.logical.predicate import Attribute, Predicate, attributes, cuts
from gingham.logical.query import Query
from gingham.logical.window import Window


@dataclass(frozen=True)  # no slots: cached properties need a __dict__
class Condition:
    """A condition of a query: as a typed predicate, and as SQL that Spark evaluates by itself."""

    predicate: Predicate
    sql: str

    def __hash__(self) -> int:
        return hash(self.sql)  # predicates are deep

    @cached_property
    def attributes(self) -> tuple[Attribute, ...]:
        """The attributes that the condition compares with constants."""
        return attributes(self.predicate)

    @cached_property
    def cuts(self) -> tuple[tuple[Attribute, Any], ...]:
        """The pairs of attribute and cut that the condition needs, each once."""
        return tuple(dict.fromkeys(cuts(self.predicate)))


@dataclass(frozen=True, slots=True)
class ConditionalAggregate:
    """An aggregate over the rows that meet a condition.

    A FILTER clause of the aggregate is part of the condition, so that cells tell its rows apart.
    With `filter_in_partials` it is part of the partials' SQL instead; other queries cannot share
    such partials.
    """

    aggregate: Aggregate
    condition: Condition
    filter: str | None = None
    filter_in_partials: bool = False

    @property
    def partials(self) -> tuple[Partial, ...]:
        """The partials that shards must hold for this aggregate."""
        if not self.filter_in_partials:
            return self.aggregate.partials
        return tuple(
            replace(p, columns=tuple(f"{c} FILTER (WHERE {self.filter})" for c in p.columns))
            for p in self.aggregate.partials
        )


@dataclass(frozen=True)
class BoundQuery:
    """A query with types: its condition, keys and aggregates, ready to be shared."""

    query: Query
    where: Condition
    keys: tuple[str, ...]
    aggregates: tuple[ConditionalAggregate, ...]
    slots: pa.Schema  # window_start, window_end, __key_0, ..., __aggregate_0, ...
    # May it raise in the middle of a run, where it takes all queries down with it?
    fragile: bool = False
    # Over a stream: is it answered for the time before it was added, as far as shards allow?
    backfill: bool = False

    @property
    def name(self) -> str:
        """The name that the query was added under."""
        return self.query.name

    @property
    def window(self) -> Window:
        """The windows that the query is answered for."""
        return self.query.window

    @property
    def key_set(self) -> tuple[str, ...]:
        """The keys of the query, each once and in one order: queries with the same share groups."""
        return tuple(sorted(set(self.keys)))

    def rewritten(
        self,
        where: Condition,
        rewrite: Callable[[ConditionalAggregate], ConditionalAggregate],
    ) -> BoundQuery:
        """The same query with another condition, and with each of its aggregates rewritten."""
        return replace(
            self,
            where=where,
            aggregates=tuple(map(rewrite, self.aggregates)),
        )

    def __hash__(self) -> int:
        return hash(self.name)

    @cached_property
    def attributes(self) -> frozenset[Attribute]:
        """The attributes of all conditions of the query, each once."""
        return frozenset(a for condition in self.conditions for a in condition.attributes)

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """The WHERE of the query, and the conditions of its aggregates, each once."""
        of_aggregates = (aggregate.condition for aggregate in self.aggregates)
        return tuple(dict.fromkeys((self.where, *of_aggregates)))
