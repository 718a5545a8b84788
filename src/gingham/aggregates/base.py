"""The interface of an aggregate: a call in a query, its partials, and its final value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from gingham.aggregates.monoid import Monoid, State


@dataclass(frozen=True, slots=True)
class Call:
    """An aggregate function call as a query has it, with the types that Spark gives to it."""

    function: str
    arguments: tuple[str, ...]
    types: tuple[str, ...]  # of the arguments, as Spark names them
    result: pa.DataType
    ansi: bool = True  # does Spark raise on overflow?

    @property
    def sql(self) -> str:
        """The aggregate function call as Spark SQL."""
        return f"{self.function}({', '.join(self.arguments)})"

    @property
    def is_try(self) -> bool:
        """Whether an overflow is NULL in any mode: try_sum, try_avg."""
        return self.function.startswith("try_")

    @property
    def raises(self) -> bool:
        """Whether an overflow of a number is an error."""
        return self.ansi and not self.is_try


INTERVAL = "interval day to second"  # of those that Arrow knows, the one it does not change
_PLAIN = frozenset({
    "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "date",
    "timestamp", "timestamp_ntz", "binary", "void",
})  # fmt: skip


def is_plain(kind: str) -> bool:
    """Whether values of a Spark type are ordered and told apart here as in Spark.

    >>> is_plain("decimal(10,2)"), is_plain("array<int>"), is_plain("string collate UTF8_LCASE")
    (True, False, False)
    """
    return kind in _PLAIN or kind.startswith(("decimal", "char", "varchar"))


@dataclass(frozen=True, slots=True)
class RowColumn:
    """A column of a partial for a single row: what is made of an expression over the row.

    - value: the expression itself; as a decimal of so many `digits`, if they are given
    - known: one, or zero where it is NULL
    - zero: zero, or NULL where it is NULL
    - high, low: its upper and lower 32 bits
    """

    sql: str
    how: Literal["value", "known", "zero", "high", "low"] = "value"
    digits: int = 0


# What every row adds to count(*).
ONE = RowColumn("1L")


@dataclass(frozen=True, slots=True)
class Partial:
    """Spark aggregate expressions that a shard stores, and the monoid that merges their values.

    Equal partials of different queries are computed and stored once. `of_one_row` are the same
    columns for a shard of a single row; None if only Spark can make them.
    """

    columns: tuple[str, ...]
    monoid: Monoid
    of_one_row: tuple[RowColumn, ...] | None = None

    @property
    def witness(self) -> str | None:
        """The count that belongs to a sum: it tells NULL from zero once sums are subtracted."""
        column = self.columns[0]
        return column.replace("sum(", "count(", 1) if column.startswith("sum(") else None


@dataclass(frozen=True, slots=True)
class Aggregate(ABC):
    """An aggregate that shards can be merged for: one subclass for each family of functions."""

    call: Call

    @property
    @abstractmethod
    def partials(self) -> tuple[Partial, ...]:
        """The partials that every shard has to store for this aggregate."""

    @abstractmethod
    def finalize(self, states: tuple[State, ...]) -> pa.Array:
        """Compute the aggregate's answers from merged states, one state for each of `partials`.

        Each state has one position for each answer, and so has the array that is returned.
        """
