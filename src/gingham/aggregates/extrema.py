"""The aggregates min, max, min_by, max_by, bool_and and bool_or: each is the extreme of an order.

Values of any type are replaced by their rank among the values that were loaded, so that merging is
always a minimum or a maximum of integers, whatever the type's order is (NaN above all numbers).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from gingham.aggregates.base import Aggregate, Call, Partial, RowColumn
from gingham.aggregates.monoid import Elementwise, State, flat
from gingham.core.arrays import Array, Ints
from gingham.core.errors import QueryError

_ODD_FIELDS = re.compile(r"[^\w<>,:() ]")
_LOWEST = np.iinfo(np.int64).min
_HIGHEST = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class _Extreme(Elementwise):
    """States of minima or maxima: ranks, and the loaded values in the order of these ranks.

    The first column decides the order, the last one (the same for min and max) is the answer.
    """

    def load(self, columns: list[pa.Array]) -> State:
        """Read minima or maxima, and rank them in the order of Spark."""
        ranks, ordered = self._ranks(columns[0])
        return State(ranks.arrays, flat(columns[-1]).take(pa.array(ordered)))

    def store(self, state: State, types: list[pa.DataType]) -> list[pa.Array]:
        """Write the values at the ranks of minima or maxima, NULL where there was no value."""
        ranks, seen = state.arrays
        if state.values is None:  # no value was loaded
            return [pa.nulls(len(seen), kind) for kind in types]
        return [state.values.take(pa.array(np.where(seen, ranks, 0), mask=~seen))]

    def condense(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        """Merge runs of rows to their minimum or maximum, with the answer beside it."""
        # The extreme is the value at one of the positions, and the answer stands beside it.
        state, ordered = self._ranks(columns[0])
        ranks, seen = self.runs(state, starts).arrays
        positions = np.zeros(len(starts), dtype=np.int64)
        positions[seen] = ordered[ranks[seen]]
        index = pa.array(positions, mask=~seen)
        return [flat(column).take(index) for column in columns]

    def _ranks(self, order: pa.Array) -> tuple[State, Ints]:
        """Rank minima or maxima: the rank of each position, and the positions by rank."""
        order = flat(order)
        seen = np.asarray(order.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
        ranks = np.full(len(order), self.identity, dtype=np.int64)
        index = np.flatnonzero(seen)
        # Equal values have different ranks, so that each leads to the answer that stands beside it.
        ordered = index[np.argsort(_sortable_column(order.take(pa.array(index))), kind="stable")]
        ranks[ordered] = np.arange(len(ordered))
        return State((ranks, seen)), ordered


MINIMUM = _Extreme(np.minimum, _HIGHEST)
MAXIMUM = _Extreme(np.maximum, _LOWEST)


@dataclass(frozen=True, slots=True)
class Min(Aggregate):
    """min: the least value.

    >>> from gingham.aggregates.base import Call
    >>> least = Min(Call("min", ("x",), ("double",), pa.float64()))
    >>> state = MINIMUM.load([pa.array([2.5, None, float("nan"), 1.5])])
    >>> merged = MINIMUM.ranges(state, np.array([0, 2, 1]), np.array([4, 3, 2]))
    >>> least.finalize((merged,)).to_pylist()
    [1.5, nan, None]
    """

    monoid: ClassVar[Elementwise] = MINIMUM

    @property
    def partials(self) -> tuple[Partial, ...]:
        """The minimum (or maximum) over each part of the rows."""
        of_one_row = (RowColumn(self.call.arguments[0]),)
        return (Partial((self.call.sql,), self.monoid, of_one_row),)

    def finalize(self, states: tuple[State, ...]) -> pa.Array:
        """The values at the merged ranks, NULL where there was no value."""
        (ranks, seen), values = states[0].arrays, states[0].values
        index = pa.array(np.where(seen, ranks, 0), mask=~seen)
        if values is None:  # no value was loaded
            return pa.nulls(len(seen), self.call.result)
        return values.take(index).cast(self.call.result)


@dataclass(frozen=True, slots=True)
class Max(Min):
    """max: the greatest value."""

    monoid: ClassVar[Elementwise] = MAXIMUM


@dataclass(frozen=True, slots=True)
class BoolAnd(Min):
    """bool_and: true unless some value is false, because false comes before true."""


@dataclass(frozen=True, slots=True)
class BoolOr(Max):
    """bool_or: true if some value is true."""


@dataclass(frozen=True, slots=True)
class MinBy(Min):
    """min_by: the first argument where the second is least."""

    order: ClassVar[str] = "min"

    @property
    def partials(self) -> tuple[Partial, ...]:
        """The extreme of the second argument, and the first argument where it is."""
        value, by = self.call.arguments
        columns = f"{self.order}({by})", _nullable_sql(self.call, self.call.sql)
        of_one_row = RowColumn(by), RowColumn(_nullable_sql(self.call, value))
        return (Partial(columns, self.monoid, of_one_row),)


@dataclass(frozen=True, slots=True)
class MaxBy(MinBy):
    """max_by: the first argument where the second is greatest."""

    order: ClassVar[str] = "max"
    monoid: ClassVar[Elementwise] = MAXIMUM


def _nullable_sql(call: Call, value: str) -> str:
    """Spark SQL of a value of min_by or max_by, in whose structs every field may be NULL."""
    # PySpark cannot fetch a NULL struct with a field inside a field that is never NULL.
    kind = call.types[0]
    if "struct<" not in kind:
        return value
    if _ODD_FIELDS.search(kind):
        raise QueryError(
            f"{call.sql} cannot be shared",
            f"{kind} has fields whose names must be quoted",
            "a field of it, or its text: to_json(...)",
        )
    return f"CAST({value} AS {kind})"


def _sortable_column(column: pa.Array) -> Array:
    """Convert a column of min or max values to what numpy sorts as Spark does, NaN last."""
    kind = column.type
    if pa.types.is_date(kind):
        column = column.cast(pa.int32())
    elif pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        column = column.cast(pa.int64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        # Strings by code point, which is the order of their UTF-8 bytes; decimals, binary.
        return np.array(column.to_pylist(), dtype=object)
    return column.to_numpy(zero_copy_only=False)
