"""Queries whose types Spark has checked."""

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


@dataclass(frozen=True)  # no slots: what is derived is kept once computed
class Condition:
    """Which rows count: as a typed predicate, and as SQL that Spark may evaluate whole."""

    predicate: Predicate
    sql: str

    def __hash__(self) -> int:
        return hash(self.sql)  # predicates are deep

    @cached_property
    def attributes(self) -> tuple[Attribute, ...]:
        """What it looks at."""
        return attributes(self.predicate)

    @cached_property
    def cuts(self) -> tuple[tuple[Attribute, Any], ...]:
        """Where it cuts that."""
        return tuple(dict.fromkeys(cuts(self.predicate)))


@dataclass(frozen=True, slots=True)
class Reading:
    """An aggregate over the rows that meet a condition.

    A filter of the aggregate's own is part of the condition, so that its cells tell its rows; or
    it is part of the partials, which then are of no use to anybody else.
    """

    aggregate: Aggregate
    condition: Condition
    filter: str | None = None
    in_partials: bool = False

    @property
    def partials(self) -> tuple[Partial, ...]:
        """What must be known of every shard."""
        if not self.in_partials:
            return self.aggregate.partials
        return tuple(
            replace(p, columns=tuple(f"{c} FILTER (WHERE {self.filter})" for c in p.columns))
            for p in self.aggregate.partials
        )


@dataclass(frozen=True)
class BoundQuery:
    """A query with types: its condition, keys and aggregates as they can be shared."""

    query: Query
    where: Condition
    keys: tuple[str, ...]
    readings: tuple[Reading, ...]
    # Counts of rows for which an argument or a key would raise; any such row fails the query.
    guards: tuple[Reading, ...]
    slots: pa.Schema  # window_start, window_end, __key_0, ..., __aggregate_0, ...
    # May it raise in the middle of a run, where it takes all queries down with it?
    fragile: bool = False
    # Over a stream: is it to be answered for the time before it came, as far as shards allow?
    backfill: bool = False

    @property
    def name(self) -> str:
        return self.query.name

    @property
    def window(self) -> Window:
        return self.query.window

    def rewritten(self, where: Condition, read: Callable[[Reading], Reading]) -> BoundQuery:
        """The same query over other conditions."""
        return replace(
            self,
            where=where,
            readings=tuple(read(r) for r in self.readings),
            guards=tuple(read(r) for r in self.guards),
        )

    def __hash__(self) -> int:
        return hash(self.name)

    @cached_property
    def attributes(self) -> frozenset[Attribute]:
        """What its conditions look at."""
        return frozenset(a for condition in self.conditions for a in condition.attributes)

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """Every condition that the query reads shards by."""
        read = (r.condition for r in (*self.readings, *self.guards))
        return tuple(dict.fromkeys((self.where, *read)))
