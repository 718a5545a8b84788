"""Integers and decimals as numpy arrays, of any length and without rounding."""

from __future__ import annotations

from decimal import Decimal

import numpy as np

from gingham.core.arrays import Array
from gingham.core.decimals import shifted
from gingham.core.errors import FragmentError

# Doubles hold every integer up to here.
EXACT = 1 << 53
_LONGEST = (1 << 63) - 1


def integers(values: Array) -> tuple[Array, int | None]:
    """Whole numbers, and the power of ten that they count if decimals were given.

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
            places = min(0, *(int(exponent) for exponent in exponents))
            given = [int(shifted(value, -places)) for value in given]
            return np.array([*given, None], dtype=object)[:-1].reshape(values.shape), places
    elif all(isinstance(value, int | np.integer) for value in given):
        given = [int(value) for value in given]
        return np.array([*given, None], dtype=object)[:-1].reshape(values.shape), None
    wrong = next(v for v in given if not isinstance(v, int | np.integer | Decimal) or v != v)  # noqa: PLR0124
    raise FragmentError(
        f"{wrong!r} cannot be added, subtracted and scaled exactly",
        "a linear decomposition computes with its partials",
        'integers, decimals or doubles; kind="idempotent" or "general" only merge',
    )


def decimals(values: Array, places: int | None) -> Array:
    """The inverse of `integers`."""
    if places is None:
        return values
    found = [shifted(int(value), places) for value in values.ravel().tolist()]
    return np.array([*found, None], dtype=object)[:-1].reshape(values.shape)


def times(matrix: Array, values: Array) -> Array:
    """The product of a matrix of small integers with integers of any size."""
    if not matrix.size or not values.size:
        return np.zeros((len(matrix), *values.shape[1:]), dtype=values.dtype)
    bound = int(np.abs(matrix).sum(axis=1).max()) * largest(values)
    if bound < EXACT:
        answer = matrix.astype(np.float64) @ values.astype(np.float64)
        return answer.astype(np.int64).astype(values.dtype)
    if bound <= _LONGEST:
        answer = matrix.astype(np.int64) @ values.astype(np.int64)
        return answer.astype(values.dtype)
    return matrix.astype(np.int64).astype(object) @ values.astype(object)


def largest(values: Array) -> int:
    """The largest absolute value."""
    return max(abs(int(values.max())), abs(int(values.min()))) if values.size else 0


def fitted(values: Array) -> Array:
    """As 64-bit integers if they fit."""
    return values.astype(np.int64) if largest(values) <= _LONGEST else values
