"""min, max, min_by, max_by, bool_and, bool_or: all of them the extreme of an order.

Values of any type are replaced by their rank among the values at hand, so that merging is always
a minimum or a maximum of integers, whatever the type's own order is (NaN above all numbers).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from gingham.aggregates.base import Aggregate, Partial
from gingham.aggregates.monoid import Elementwise, State, flat
from gingham.core.arrays import Array, Ints

_LOWEST = np.iinfo(np.int64).min
_HIGHEST = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class _Extreme(Elementwise):
    """The extreme position of an order; the last column holds the values that answer."""

    def load(self, columns: list[pa.Array]) -> State:
        ranks, ordered = self._ranks(columns[0])
        return State(ranks.arrays, flat(columns[-1]).take(pa.array(ordered)))

    def store(self, state: State, types: list[pa.DataType]) -> list[pa.Array]:
        positions, seen = state.arrays
        if state.values is None:  # nothing was seen at all
            return [pa.nulls(len(seen), kind) for kind in types]
        return [state.values.take(pa.array(np.where(seen, positions, 0), mask=~seen))]

    def condense(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        # The extreme stands in one of the positions, with whatever is answered beside it.
        ranks, ordered = self._ranks(columns[0])
        places, seen = self.runs(ranks, starts).arrays
        taken = np.zeros(len(starts), dtype=np.int64)
        taken[seen] = ordered[places[seen]]
        index = pa.array(taken, mask=~seen)
        return [flat(column).take(index) for column in columns]

    def _ranks(self, order: pa.Array) -> tuple[State, Ints]:
        """Each position's place in the order, and the positions in that order."""
        order = flat(order)
        seen = np.asarray(order.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
        ranks = np.full(len(order), self.identity, dtype=np.int64)
        index = np.flatnonzero(seen)
        # Equal values have places of their own, so that each leads to what stands beside it.
        ordered = index[np.argsort(_sortable(order.take(pa.array(index))), kind="stable")]
        ranks[ordered] = np.arange(len(ordered))
        return State((ranks, seen)), ordered


MINIMUM = _Extreme(np.minimum, _HIGHEST)
MAXIMUM = _Extreme(np.maximum, _LOWEST)


@dataclass(frozen=True, slots=True)
class Min(Aggregate):
    """The least value.

    >>> from gingham.aggregates.base import Call
    >>> least = Min(Call("min", ("x",), ("double",), pa.float64()))
    >>> state = MINIMUM.load([pa.array([2.5, None, float("nan"), 1.5])])
    >>> merged = MINIMUM.ranges(state, np.array([0, 2, 1]), np.array([4, 3, 2]))
    >>> least.finalize((merged,)).to_pylist()
    [1.5, nan, None]
    """

    idempotent: ClassVar[bool] = True
    monoid: ClassVar[Elementwise] = MINIMUM

    @property
    def partials(self) -> tuple[Partial, ...]:
        return (Partial((self.call.sql,), self.monoid),)

    def finalize(self, states: tuple[State, ...]) -> pa.Array:
        (positions, seen), values = states[0].arrays, states[0].values
        index = pa.array(np.where(seen, positions, 0), mask=~seen)
        if values is None:  # nothing was seen at all
            return pa.nulls(len(seen), self.call.result)
        return values.take(index).cast(self.call.result)


@dataclass(frozen=True, slots=True)
class Max(Min):
    """The greatest value."""

    monoid: ClassVar[Elementwise] = MAXIMUM


@dataclass(frozen=True, slots=True)
class BoolAnd(Min):
    """True unless some value is false: false comes before true."""


@dataclass(frozen=True, slots=True)
class BoolOr(Max):
    """True if some value is true."""


@dataclass(frozen=True, slots=True)
class MinBy(Min):
    """The first argument where the second is least."""

    order: ClassVar[str] = "min"

    @property
    def partials(self) -> tuple[Partial, ...]:
        by = f"{self.order}({self.call.arguments[1]})"
        return (Partial((by, self.call.sql), self.monoid),)


@dataclass(frozen=True, slots=True)
class MaxBy(MinBy):
    """The first argument where the second is greatest."""

    order: ClassVar[str] = "max"
    monoid: ClassVar[Elementwise] = MAXIMUM


def _sortable(column: pa.Array) -> Array:
    """An array that numpy sorts as Spark orders the column; numpy puts NaN last, as Spark does."""
    kind = column.type
    if pa.types.is_date(kind):
        column = column.cast(pa.int32())
    elif pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        column = column.cast(pa.int64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        # Strings by code point, which is the order of their UTF-8 bytes; decimals, binary.
        return np.array(column.to_pylist(), dtype=object)
    return column.to_numpy(zero_copy_only=False)
