"""Vectors: columns of rows or shards in the form in which they are reduced fastest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from gingham.aggregates.monoid import from_numpy
from gingham.core.arrays import Array, Bools, Ints
from gingham.core.decimals import longs_to_decimals

_DTYPES: dict[pa.DataType, np.dtype[np.generic]] = {
    pa.int8(): np.dtype(np.int8),
    pa.int16(): np.dtype(np.int16),
    pa.int32(): np.dtype(np.int32),
    pa.int64(): np.dtype(np.int64),
    pa.float32(): np.dtype(np.float32),
    pa.float64(): np.dtype(np.float64),
    pa.date32(): np.dtype(np.int32),
}
_LOW_BITS = 32
_LOW_MASK = (1 << _LOW_BITS) - 1
DIGITS_OF_A_LONG = 18
_FEW_DIGITS = 13  # a hundred thousand numbers of so many digits add up to a long


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers, instants, days or booleans; where `valid` is false they are NULL, and stored as 0.

    Decimals of few digits are integers without their scale.
    """

    values: Array
    valid: Bools | None
    type: pa.DataType

    def __len__(self) -> int:
        return len(self.values)

    def take(self, index: Array) -> Numbers:
        """The values at some positions."""
        valid = None if self.valid is None else gathered(self.valid, index)
        return Numbers(gathered(self.values, index), valid, self.type)

    def only(self, kept: Bools) -> Numbers:
        """The same values, NULL where they are not kept."""
        valid = kept if self.valid is None else self.valid & kept
        return numbers(self.values, valid, self.type)

    def to_arrow(self) -> pa.Array:
        """The values as an Arrow array of their type."""
        if pa.types.is_decimal(self.type):
            return longs_to_decimals(self.values, self.valid, self.type)
        mask = None if self.valid is None else ~self.valid
        if pa.types.is_boolean(self.type):
            return pa.array(self.values.astype(bool), self.type, mask=mask)
        kind = self.type if self.type in _DTYPES else pa.int64()
        array = pa.array(self.values.astype(_dtype(self.type), copy=False), mask=mask)
        # A view, not a cast: days and instants are stored as integers.
        return array.view(self.type) if kind != self.type or pa.types.is_date(kind) else array


@dataclass(frozen=True, slots=True)
class Decimals:
    """Decimals as integers without their scale: high * 2^32 + low, so that sums do not overflow."""

    high: Ints
    low: Ints
    valid: Bools | None
    type: pa.DataType

    def __len__(self) -> int:
        return len(self.high)

    def take(self, index: Array) -> Decimals:
        """The decimals at some positions."""
        valid = None if self.valid is None else gathered(self.valid, index)
        return Decimals(gathered(self.high, index), gathered(self.low, index), valid, self.type)

    def only(self, kept: Bools) -> Decimals:
        """The same decimals, NULL where they are not kept."""
        return replace(self, valid=kept if self.valid is None else self.valid & kept)

    def to_arrow(self) -> pa.Array:
        """The decimals as an Arrow array of their type."""
        valid = np.ones(len(self), dtype=bool) if self.valid is None else self.valid
        if len(self) and (np.abs(self.high) >= 1 << 30).any():
            whole = self.high.astype(object) * (1 << _LOW_BITS) + self.low
            return from_numpy(whole, valid, self.type)
        return longs_to_decimals((self.high << _LOW_BITS) + self.low, self.valid, self.type)


@dataclass(frozen=True, slots=True)
class Objects:
    """Values of any other type, as an Arrow array."""

    array: pa.Array

    def __len__(self) -> int:
        return len(self.array)

    @property
    def type(self) -> pa.DataType:
        """The Arrow type of the values."""
        return self.array.type

    def take(self, index: Array) -> Objects:
        """The values at some positions."""
        return Objects(self.array.take(pa.array(index)))

    def only(self, kept: Bools) -> Objects:
        """The same values, NULL where they are not kept."""
        index = np.arange(len(self.array), dtype=np.int64)
        return Objects(self.array.take(pa.array(index, mask=~kept)))

    def to_arrow(self) -> pa.Array:
        """The values themselves."""
        return self.array


Vector = Numbers | Decimals | Objects


def numbers(values: Array, valid: Bools | None, kind: pa.DataType) -> Numbers:
    """Numbers with anything where they are NULL."""
    if valid is None:
        return Numbers(values, None, kind)
    return Numbers(np.where(valid, values, values.dtype.type(0)), valid, kind)


def split_decimals(whole: Ints, valid: Bools | None, kind: pa.DataType) -> Decimals:
    """Decimals from integers without their scale."""
    return Decimals(whole >> _LOW_BITS, whole & _LOW_MASK, valid, kind)


def vector(array: pa.Array) -> Vector:
    """The vector of an Arrow array."""
    kind = array.type
    if pa.types.is_boolean(kind):
        filled = array.fill_null(False) if array.null_count else array
        return Numbers(filled.to_numpy(zero_copy_only=False), _valid(array), kind)
    if kind in _DTYPES or pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return numbers(_values(array, _dtype(kind)), _valid(array), kind)
    if pa.types.is_decimal128(kind) and kind.precision <= _FEW_DIGITS:
        return numbers(np.ascontiguousarray(decimal_words(array)[:, 0]), _valid(array), kind)
    # What Spark sums has ten digits more than what it was made of.
    if pa.types.is_decimal128(kind) and kind.precision <= DIGITS_OF_A_LONG + 10:
        valid, words = _valid(array), decimal_words(array)
        low, sign = words[:, 0], words[:, 1]
        if valid is not None:
            low, sign = np.where(valid, low, 0), np.where(valid, sign, 0)
        if ((low >> 63) == sign).all():
            return split_decimals(low, valid, kind)
    return Objects(array)


def derived(column: Vector, how: str, digits: int) -> Vector:
    """What a `RowColumn` makes of the values of its expression."""
    match how:
        case "known":
            return Numbers(_known(column), None, pa.int64())
        case "zero":
            return Numbers(np.zeros(len(column)), _known(column), pa.float64())
        case "high" | "low":
            assert isinstance(column, Numbers)
            return halves(column)[0 if how == "high" else 1]
        case _ if digits:
            wider = pa.decimal128(digits, column.type.scale)
            if not isinstance(column, Objects):
                return replace(column, type=wider)
            return Objects(column.to_arrow().cast(wider))
        case _:
            return column


def halves(column: Numbers) -> list[Numbers]:
    """The upper and the lower 32 bits of integers."""
    values = column.values
    return [
        Numbers(half, column.valid, column.type)
        for half in (values >> _LOW_BITS, values & _LOW_MASK)
    ]


def _known(column: Vector) -> Bools:
    """Where the values of a vector are not NULL."""
    if isinstance(column, Objects):
        return np.asarray(column.array.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
    return np.ones(len(column), dtype=bool) if column.valid is None else column.valid


def joined(vectors: list[Vector]) -> Vector:
    """Several vectors of one type as one, one after the other."""
    if len(vectors) == 1:
        return vectors[0]
    numbers = [v for v in vectors if isinstance(v, Numbers)]
    if len(numbers) == len(vectors):
        values = np.concatenate([v.values for v in numbers])
        return Numbers(values, _joined_valid(numbers), numbers[0].type)
    decimals = [v for v in vectors if isinstance(v, Decimals)]
    if len(decimals) == len(vectors):
        high, low = (
            np.concatenate(h) for h in zip(*((v.high, v.low) for v in decimals), strict=True)
        )
        return Decimals(high, low, _joined_valid(decimals), decimals[0].type)
    return Objects(pa.concat_arrays([v.to_arrow() for v in vectors]))


def gathered(values: Array, index: Array) -> Array:
    """The values at some positions, all of which there are: they are not looked at one by one."""
    return values.take(index, mode="clip")


def normalized(high: Ints, low: Ints) -> tuple[Ints, Ints]:
    """Carry what is too large for the lower half of decimals to the upper half."""
    return high + (low >> _LOW_BITS), low & _LOW_MASK


def decimal_words(array: pa.Array) -> Ints:
    """The lower and the upper 64 bits of each decimal, in two columns; anything for NULL."""
    data = array.buffers()[1]
    if data is None or not len(array):
        return np.zeros((len(array), 2), dtype=np.int64)
    words = np.frombuffer(data, dtype=np.int64).reshape(-1, 2)
    return words[array.offset : array.offset + len(array)]


def _joined_valid(vectors: Sequence[Numbers | Decimals]) -> Bools | None:
    """Where the values of several vectors, one after the other, are not NULL."""
    if all(v.valid is None for v in vectors):
        return None
    flags = [np.ones(len(v), dtype=bool) if v.valid is None else v.valid for v in vectors]
    return np.concatenate(flags)


def _dtype(kind: pa.DataType) -> np.dtype[np.generic]:
    """The numpy type of the numbers that an Arrow type is stored as."""
    return _DTYPES.get(kind, np.dtype(np.int64))


def _values(array: pa.Array, dtype: np.dtype[np.generic]) -> Array:
    """The numbers of an Arrow array; anything where it is NULL."""
    data = array.buffers()[1]
    if data is None or not len(array):
        return np.zeros(len(array), dtype=dtype)
    return np.frombuffer(data, dtype=dtype)[array.offset : array.offset + len(array)]


def _valid(array: pa.Array) -> Bools | None:
    """Where an Arrow array is not NULL; None if it is so nowhere."""
    if not array.null_count:
        return None
    return np.asarray(array.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
