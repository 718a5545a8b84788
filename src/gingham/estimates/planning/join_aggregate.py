"""A join aggregate: a query for COUNT, SUM or AVG over a join of relations, as parsed from SQL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gingham.logical.predicate import Predicate
from gingham.logical.window import Window

Equality = tuple[str, str, str, str]  # alias, expression, alias, expression


@dataclass(frozen=True, slots=True)
class Relation:
    """A stream or table to join: the Spark types of its columns, a stream's event time.

    `stand_in` is a view without rows and with the same columns, over which Spark analyses queries.
    """

    name: str
    columns: Mapping[str, str]
    time: str | None = None
    stand_in: str = ""


@dataclass(frozen=True, slots=True)
class Selection:
    """The rows of a relation that count in a join aggregate: as a predicate, and as SQL."""

    predicate: Predicate
    sql: str


@dataclass(frozen=True, slots=True)
class JoinAggregate:
    """SELECT count(*), sum(...) or avg(...) FROM relations WHERE joins AND ... GROUP BY window.

    Each SQL expression is over the columns of one relation, with names resolved. A relation without
    a measure counts its rows. An average is the sum of the product of `measures`, divided by that
    of `divisor`. The window cuts every stream of the query alike, and no table.
    """

    name: str
    text: str
    relations: Mapping[str, str]  # by alias
    joins: tuple[Equality, ...]
    measures: Mapping[str, str]  # by alias; the aggregate is the sum of their product
    selections: Mapping[str, Selection]  # by alias
    window: Window | None
    divisor: Mapping[str, str] | None = None  # by alias; None if nothing is divided
