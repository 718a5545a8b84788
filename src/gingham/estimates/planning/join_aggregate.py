"""COUNT or SUM over a join: what one user asks of several relations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gingham.logical.predicate import Predicate
from gingham.logical.window import Window

Equality = tuple[str, str, str, str]  # alias, expression, alias, expression


@dataclass(frozen=True, slots=True)
class Relation:
    """Rows that may be joined, with the Spark types of their columns; a stream has a time."""

    name: str
    columns: Mapping[str, str]
    time: str | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """Which rows of a relation count."""

    predicate: Predicate
    sql: str


@dataclass(frozen=True, slots=True)
class JoinAggregate:
    """SELECT count(*) or sum(...) FROM relations WHERE joins AND selections GROUP BY window.

    All SQL in it is over the columns of one relation, fully resolved. An alias without a measure
    counts its rows. A window cuts every stream of the query alike, and no table.
    """

    name: str
    text: str
    relations: Mapping[str, str]  # by alias
    joins: tuple[Equality, ...]
    measures: Mapping[str, str]  # by alias; the aggregate is the sum of their product
    selections: Mapping[str, Selection]  # by alias
    window: Window | None
