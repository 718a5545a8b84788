"""A query over one stream, as parsed from its SQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from gingham.core import names
from gingham.logical.predicate import Predicate
from gingham.logical.window import Window


@dataclass(frozen=True, slots=True)
class Join:
    """A table looked up by its unique key; its columns appear as `table.column`."""

    table: str
    on: tuple[str, ...]  # expressions over the stream, one for each key column of the table
    role: str  # the table's name, with the lookup expressions where one table plays two roles

    def column(self, name: str) -> str:
        """The name `table.column` that a column of the joined table has in the enriched stream."""
        return f"{self.role}.{name}"

    @property
    def matched(self) -> str:
        """The name of the column that is true where the table lookup found a row, else NULL."""
        return f"{self.role}.{names.MATCHED}"


class JoinUse(NamedTuple):
    """A join as a query or a plan makes it: inner if `drops_unmatched`, left outer otherwise."""

    join: Join
    drops_unmatched: bool  # whether rows of the stream without a match are dropped


@dataclass(frozen=True, slots=True)
class Selected:
    """An aggregate call in a query; `where` is the query's predicate and the call's own filter."""

    function: str
    arguments: tuple[str, ...]
    where: Predicate
    where_sql: str
    filter_sql: str | None = None

    @property
    def sql(self) -> str:
        """The aggregate call as it was written in the query's SELECT, with its FILTER."""
        call = f"{self.function}({', '.join(self.arguments)})"
        return f"{call} FILTER (WHERE {self.filter_sql})" if self.filter_sql else call


@dataclass(frozen=True, slots=True)
class Output:
    """A column of the answer: SQL over `__key_0`, `__aggregate_0`, `window_start`, ..."""

    name: str
    sql: str


@dataclass(frozen=True, slots=True)
class Query:
    """SELECT outputs FROM stream JOIN joins WHERE where GROUP BY keys, window HAVING having.

    All SQL in it is over the columns of the enriched stream, fully resolved.
    """

    name: str
    text: str
    stream: str
    joins: tuple[JoinUse, ...]
    where: Predicate
    where_sql: str
    keys: tuple[str, ...]
    window: Window
    aggregates: tuple[Selected, ...]
    outputs: tuple[Output, ...]
    having: str | None
    columns: frozenset[str]  # of the enriched stream, that the query reads

    @property
    def slot_names(self) -> frozenset[str]:
        """The columns of its aggregates by window and keys, of which outputs are made."""
        keys = (names.key(i) for i in range(len(self.keys)))
        aggregates = (names.aggregate(i) for i in range(len(self.aggregates)))
        return frozenset((names.WINDOW_START, names.WINDOW_END, *keys, *aggregates))

    @property
    def computed(self) -> tuple[str, ...]:
        """The SQL of the outputs that are not simply a key, an aggregate or a window bound."""
        slots = self.slot_names
        return tuple(output.sql for output in self.outputs if output.sql not in slots)

    @property
    def plain(self) -> bool:
        """True if every output is a key, an aggregate or a window bound, and there is no HAVING."""
        return self.having is None and not self.computed
