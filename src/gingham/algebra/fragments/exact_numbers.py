"""Arrays of integers and decimals of any size, computed with without rounding."""

from __future__ import annotations

from decimal import Decimal

import numpy as np

from gingham.core.arrays import Array
from gingham.core.decimals import shifted
from gingham.core.errors import FragmentError

# Doubles hold every integer up to here.
EXACT_IN_DOUBLE = 1 << 53
_LARGEST_INT64 = (1 << 63) - 1


def integers(values: Array) -> tuple[Array, int | None]:
    """Convert partials to integers; decimals become multiples of the returned power of ten.

    >>> integers(np.array([Decimal("1.50"), 2], dtype=object))
    (array([150, 200], dtype=object), -2)
    """
    if values.dtype.kind == "i":
        return values.astype(np.int64, copy=False), None
    if values.dtype.kind == "u":
        return fitted(values.astype(object)), None
    given = values.ravel().tolist()
    decimals = [value for value in given if isinstance(value, Decimal)]
    if decimals:
        exponents = [value.as_tuple().exponent for value in decimals]
        if all(isinstance(exponent, int) for exponent in exponents):
            power_of_ten = min(0, *(int(exponent) for exponent in exponents))
            given = [int(shifted(value, -power_of_ten)) for value in given]
            return np.array([*given, None], dtype=object)[:-1].reshape(values.shape), power_of_ten
    elif all(isinstance(value, int | np.integer) for value in given):
        given = [int(value) for value in given]
        return np.array([*given, None], dtype=object)[:-1].reshape(values.shape), None
    wrong = next(v for v in given if not isinstance(v, int | np.integer | Decimal) or v != v)  # noqa: PLR0124
    raise FragmentError(
        f"{wrong!r} cannot be added, subtracted and scaled exactly",
        "a linear decomposition computes with its partials",
        'integers, decimals or doubles; kind="idempotent" or "general" only merge',
    )


def decimals(values: Array, power_of_ten: int | None) -> Array:
    """Convert integers back to decimal partials: the inverse of `integers`."""
    if power_of_ten is None:
        return values
    scaled = [shifted(int(value), power_of_ten) for value in values.ravel().tolist()]
    return np.array([*scaled, None], dtype=object)[:-1].reshape(values.shape)


def times(matrix: Array, values: Array) -> Array:
    """Multiply a decomposition's matrix of small integers with partials, integers of any size."""
    if not matrix.size or not values.size:
        return np.zeros((len(matrix), *values.shape[1:]), dtype=values.dtype)
    bound = int(np.abs(matrix).sum(axis=1).max()) * largest(values)
    if bound < EXACT_IN_DOUBLE:
        answer = matrix.astype(np.float64) @ values.astype(np.float64)
        return answer.astype(np.int64).astype(values.dtype)
    if bound <= _LARGEST_INT64:
        answer = matrix.astype(np.int64) @ values.astype(np.int64)
        return answer.astype(values.dtype)
    return matrix.astype(np.int64).astype(object) @ values.astype(object)


def largest(values: Array) -> int:
    """The largest absolute value of some integer partials."""
    return max(abs(int(values.max())), abs(int(values.min()))) if values.size else 0


def fitted(values: Array) -> Array:
    """Convert integer partials to 64 bits if all values fit."""
    return values.astype(np.int64) if largest(values) <= _LARGEST_INT64 else values
