"""The aggregates count and count_if."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from gingham.aggregates.base import ONE, Aggregate, Partial, RowColumn
from gingham.aggregates.monoid import Elementwise, State

ADD_INTEGERS = Elementwise(np.add, 0)


@dataclass(frozen=True, slots=True)
class Count(Aggregate):
    """count: the number of rows, or of rows without NULL in the arguments.

    >>> from gingham.aggregates.base import Call
    >>> count = Count(Call("count", ("vol",), ("int",), pa.int64()))
    >>> partial, = count.partials
    >>> partial.columns
    ('count(vol)',)
    """

    @property
    def partials(self) -> tuple[Partial, ...]:
        """The count over each part of the rows."""
        return (counted(*self.call.arguments),)

    def finalize(self, states: tuple[State, ...]) -> pa.Array:
        """The counts as bigints; zero where there were no rows."""
        return pa.array(states[0].arrays[0], type=pa.int64())


@dataclass(frozen=True, slots=True)
class CountIf(Count):
    """count_if: the number of rows that make the argument true."""

    @property
    def partials(self) -> tuple[Partial, ...]:
        """The count of true rows over each part of the rows."""
        (argument,) = self.call.arguments
        true = f"CAST(coalesce({argument}, FALSE) AS BIGINT)"
        return (Partial((f"count_if({argument})",), ADD_INTEGERS, (RowColumn(true),)),)


def counted(*arguments: str) -> Partial:
    """The partial of count(...); aggregates that divide by a count share it."""
    return Partial((f"count({', '.join(arguments)})",), ADD_INTEGERS, (_one_if_known(arguments),))


def _one_if_known(arguments: tuple[str, ...]) -> RowColumn:
    """What a row adds to the count of rows without NULL in the arguments."""
    if len(arguments) == 1:
        return ONE if arguments == ("*",) else RowColumn(arguments[0], "known")
    known = " AND ".join(f"({argument}) IS NOT NULL" for argument in arguments)
    return RowColumn(f"CAST({known} AS BIGINT)")
