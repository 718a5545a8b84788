"""The aggregates sum and avg, exact for integers, decimals and intervals of any size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from gingham.aggregates.base import INTERVAL, Aggregate, Partial, RowColumn
from gingham.aggregates.counts import ADD_INTEGERS, counted
from gingham.aggregates.monoid import (
    Capability,
    Elementwise,
    State,
    flat,
    from_numpy,
    to_numpy,
)
from gingham.core.arrays import Array, Bools
from gingham.core.decimals import as_longs, to_decimals
from gingham.core.errors import AnswerError, QueryError

ADD_DOUBLES = Elementwise(np.add, 0.0)
_SMALL = ("tinyint", "smallint", "int")
_FLOATS = ("float", "double")


@dataclass(frozen=True, slots=True)
class AddBigints(Elementwise):
    """States of sums of bigints: Spark sums the upper and lower 32 bits, which cannot overflow."""

    def load(self, columns: list[pa.Array]) -> State:
        """Put sums of upper and lower 32 bits together to integers of any size."""
        high, seen = to_numpy(columns[0], 0)
        low, _ = to_numpy(columns[1], 0)
        return State((high.astype(object) * (1 << 32) + low, seen))

    def store(self, state: State, types: list[pa.DataType]) -> list[pa.Array]:
        """Split integer sums of any size into upper and lower 32 bits."""
        values, seen = state.arrays
        halves = (values >> 32, values & 0xFFFFFFFF)
        return [from_numpy(h.astype(np.int64), seen, t) for h, t in zip(halves, types, strict=True)]


# Stands for a sum that overflows its type; it does so whatever is added to it.
_BEYOND = 10**100


@dataclass(frozen=True, slots=True)
class _AddOrOverflow(Elementwise):
    """States of sums of long decimals or intervals, which may overflow their type.

    Spark's try_sum then gives NULL although there were values. Such a sum stays an overflow
    whatever is added, and nothing can be subtracted from it: its capability is general.
    """

    limit: int  # sums are below it, and above its negative

    @property
    def capability(self) -> Capability:
        """General: nothing can be subtracted from a sum that overflows."""
        return "general"

    def load(self, columns: list[pa.Array]) -> State:
        """Read sums; one that is NULL though there were values overflows."""
        values, fits = _exact_numbers(columns[0])
        seen, _ = to_numpy(columns[1], identity=False)
        values[seen & ~fits] = _BEYOND
        return State((values, seen))

    def store(self, state: State, types: list[pa.DataType]) -> list[pa.Array]:
        """Write sums, NULL with a flag where they overflow."""
        values, seen = state.arrays
        fits = np.array([abs(v) < self.limit for v in values], dtype=bool)
        shown = np.where(fits, values, 0)
        if pa.types.is_duration(types[0]):
            shown = shown.astype(np.int64)
        return [from_numpy(shown, seen & fits, types[0]), pa.array(seen).cast(types[1])]


def _exact_numbers(column: pa.Array) -> tuple[Array, Bools]:
    """Convert decimals or intervals to Python integers, and tell where they are not NULL."""
    column = flat(column)
    if not pa.types.is_duration(column.type):
        return to_numpy(column, 0)
    values, seen = to_numpy(column.cast(pa.int64()), 0)
    return values.astype(object), seen


ADD_BIGINTS = AddBigints(np.add, 0)
ADD_DECIMALS = Elementwise(np.add, 0)
ADD_LONG_DECIMALS = _AddOrOverflow(np.add, 0, limit=10**38)
ADD_INTERVALS = _AddOrOverflow(np.add, 0, limit=1 << 63)
# Spark's sum has ten digits more than what is added, at most 38: up to 28 it cannot overflow.
_LONG_DECIMAL = 28
_MOST_DIVIDED = 1 << 61  # so that twice a rest is a long, too


@dataclass(frozen=True, slots=True)
class Sum(Aggregate):
    """sum and try_sum: of integers, decimals, floats or intervals.

    >>> from gingham.aggregates.base import Call
    >>> Sum(Call("sum", ("price",), ("double",), pa.float64())).partials[0].columns
    ('sum(price)',)
    """

    @property
    def partials(self) -> tuple[Partial, ...]:
        """The sum over each part of the rows."""
        return (summed(self),)

    def finalize(self, states: tuple[State, ...]) -> pa.Array:
        """The merged sums in the type of the answer, NULL where there was no value."""
        values, seen = states[0].arrays
        if pa.types.is_decimal(self.call.result):
            return decimals(self, values, seen)
        if pa.types.is_duration(self.call.result):
            return _intervals(self, values, seen)
        if values.dtype == object:
            values, fits = _within_bigint(self, values)
            seen = seen & fits
        return pa.array(values, type=self.call.result, mask=~seen)


@dataclass(frozen=True, slots=True)
class Avg(Aggregate):
    """avg and try_avg: the sum over the count, with partials that `sum` and `count` share."""

    @property
    def partials(self) -> tuple[Partial, ...]:
        """The sum and the count over each part of the rows."""
        return summed(self), counted(self.call.arguments[0])

    def finalize(self, states: tuple[State, ...]) -> pa.Array:
        """Divide merged sums by counts, decimals rounded as in Spark; NULL without values."""
        totals, seen = states[0].arrays
        counts = states[1].arrays[0]
        if pa.types.is_decimal(self.call.result):
            scale = _decimal_scale(self.call.types[0])
            shift = 10 ** (self.call.result.scale - scale)
            return decimals(self, _quotients(totals, counts, shift), seen)
        if pa.types.is_duration(self.call.result):
            # Spark divides a sum that fits; the quotient of one that does not fit is none.
            overflows = np.array([abs(t) >= ADD_INTERVALS.limit for t in totals], dtype=bool)
            # As objects: what stands for a sum that overflows is too large for 64 bits.
            quotients = np.where(overflows, _BEYOND, _quotients(totals, counts).astype(object))
            return _intervals(self, quotients, seen)
        with np.errstate(all="ignore"):
            means = totals.astype(np.float64) / counts
        return pa.array(means, type=pa.float64(), mask=~seen)


def summed(aggregate: Aggregate) -> Partial:
    """The partial of sum(x), which depends on the type of x; avg(x) shares it."""
    argument, kind = aggregate.call.arguments[0], aggregate.call.types[0]
    if kind in _FLOATS:
        double = argument if kind == "double" else f"CAST({argument} AS DOUBLE)"
        return Partial((f"sum({argument})",), ADD_DOUBLES, (RowColumn(double),))
    if kind in _SMALL:
        bigint = RowColumn(f"CAST({argument} AS BIGINT)")
        return Partial((f"sum({argument})",), ADD_INTEGERS, (bigint,))
    if kind == "bigint":
        columns = f"sum(shiftright({argument}, 32))", f"sum({argument} & 4294967295L)"
        halves = RowColumn(argument, "high"), RowColumn(argument, "low")
        return Partial(columns, ADD_BIGINTS, halves)
    if kind.startswith("decimal"):
        as_summed = RowColumn(argument, digits=min(_decimal_precision(kind) + 10, 38))
        if _decimal_precision(kind) <= _LONG_DECIMAL:
            return Partial((f"sum({argument})",), ADD_DECIMALS, (as_summed,))
        # In ANSI mode a sum that overflows would bring down all queries, not only its own.
        return _summed_or_overflow(argument, ADD_LONG_DECIMALS, as_summed)
    if kind == INTERVAL:
        return _summed_or_overflow(argument, ADD_INTERVALS, RowColumn(argument))
    raise QueryError(
        f"{aggregate.call.sql} cannot be shared",
        f"a sum over {kind} has no exact partial result here",
        "a cast of the argument to a number",
    )


def _summed_or_overflow(argument: str, monoid: _AddOrOverflow, of_one_row: RowColumn) -> Partial:
    """The partial of a sum that may overflow its type: the sum, and whether there were values."""
    known = f"{argument} IS NOT NULL"
    columns = f"try_sum({argument})", f"bool_or({known})"
    return Partial(columns, monoid, (of_one_row, RowColumn(known)))


def decimals(aggregate: Aggregate, values: Array, seen: Bools) -> pa.Array:
    """Convert integer sums to decimals of the type that Spark gives to the aggregate.

    What does not fit is NULL; in ANSI mode it is an error, as in Spark.
    """
    result = aggregate.call.result
    limit = 10**result.precision
    longs = as_longs(values)
    if longs is None:
        fits = np.array([abs(v) < limit for v in values], dtype=bool)
    else:
        fits = (longs < limit) & (longs > -limit)
    if aggregate.call.raises and not (fits | ~seen).all():
        raise overflow(aggregate)
    return to_decimals(values if longs is None else longs, seen & fits, result)


def overflow(aggregate: Aggregate) -> AnswerError:
    """The error of a sum that overflows in ANSI mode, where Spark would raise for it alone."""
    return AnswerError(
        f"{aggregate.call.sql} overflows",
        f"the result does not fit into {aggregate.call.result}, and Spark is in ANSI mode",
        f"{aggregate.call.function}(CAST(... AS DECIMAL(38, 0))) or a shorter window",
    )


def _within_bigint(aggregate: Aggregate, values: Array) -> tuple[Array, Bools]:
    """Fit integer sums of any size into bigints; gives which of them are not NULL.

    Those that do not fit are an error in ANSI mode, NULL for try_sum, else wrapped as in Java.
    """
    if (longs := as_longs(values)) is not None:
        return longs, np.ones(len(longs), dtype=bool)
    fits = np.array([-(1 << 63) <= v < (1 << 63) for v in values], dtype=bool)
    if aggregate.call.raises and not fits.all():
        raise overflow(aggregate)
    wrapped = [((int(v) + (1 << 63)) % (1 << 64)) - (1 << 63) for v in values]
    is_try = aggregate.call.is_try
    return np.array(wrapped, dtype=np.int64), fits if is_try else np.ones_like(fits)


def _intervals(aggregate: Aggregate, values: Array, seen: Bools) -> pa.Array:
    """Convert microseconds to intervals; what does not fit is an error, or NULL for try_sum."""
    fits = np.array([abs(v) < ADD_INTERVALS.limit for v in values], dtype=bool)
    # Spark raises without ANSI mode, too: intervals are never wrapped around.
    if not aggregate.call.is_try and not (fits | ~seen).all():
        raise overflow(aggregate)
    shown = np.where(fits, values, 0).astype(np.int64)
    return pa.array(shown, mask=~(seen & fits)).cast(aggregate.call.result)


def _quotients(totals: Array, counts: Array, scale: int = 1) -> Array:
    """Divide scaled sums by counts as exact integers, rounding as Spark does; 0 without values."""
    longs = as_longs(totals)
    most = _MOST_DIVIDED // scale
    if longs is not None and bool(((longs < most) & (longs > -most)).all()):
        divisors = np.maximum(counts, 1).astype(np.int64)
        quotients, rests = np.divmod(np.abs(longs) * scale, divisors)
        quotients += 2 * rests >= divisors
        return np.where(counts > 0, np.where(longs < 0, -quotients, quotients), 0)
    pairs = zip(totals, counts, strict=True)
    divided = [_divide_half_up(int(t) * scale, int(n)) if n else 0 for t, n in pairs]
    return np.array(divided, dtype=object)


def _decimal_precision(kind: str) -> int:
    """The number of digits of a decimal type that is summed."""
    return int(kind.removeprefix("decimal(").split(",")[0])


def _decimal_scale(kind: str) -> int:
    """The digits after the point of a decimal type that is summed."""
    return int(kind.removesuffix(")").split(",")[1])


def _divide_half_up(numerator: int, denominator: int) -> int:
    """Divide a decimal sum by a count, rounding half away from zero as Spark does."""
    quotient, rest = divmod(abs(numerator), denominator)
    quotient += 2 * rest >= denominator
    return quotient if numerator >= 0 else -quotient
