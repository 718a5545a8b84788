"""What an aggregate is: a call in a query, its partials, its final value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from gingham.aggregates.monoid import Monoid, State


@dataclass(frozen=True, slots=True)
class Call:
    """An aggregate as a query wrote it, with the types that Spark gave to it."""

    function: str
    arguments: tuple[str, ...]
    types: tuple[str, ...]  # of the arguments, as Spark names them
    result: pa.DataType
    ansi: bool = True  # does Spark raise on overflow?

    @property
    def sql(self) -> str:
        return f"{self.function}({', '.join(self.arguments)})"


@dataclass(frozen=True, slots=True)
class Partial:
    """Spark aggregate expressions over the rows of a shard, and how their values merge.

    Equal partials of different queries are one column.
    """

    columns: tuple[str, ...]
    monoid: Monoid

    @property
    def witness(self) -> str | None:
        """How many values a sum is made of: tells NULL from zero once sums are subtracted."""
        column = self.columns[0]
        return column.replace("sum(", "count(", 1) if column.startswith("sum(") else None


@dataclass(frozen=True, slots=True)
class Aggregate(ABC):
    """An aggregate call that can be shared."""

    call: Call

    # A linear merge has an inverse and scales; an idempotent merge may see a value twice.
    linear: ClassVar[bool] = False
    idempotent: ClassVar[bool] = False

    @property
    @abstractmethod
    def partials(self) -> tuple[Partial, ...]:
        """What must be known of every shard."""

    @abstractmethod
    def finalize(self, states: tuple[State, ...]) -> pa.Array:
        """The aggregate's values, from the merged states of its partials."""
