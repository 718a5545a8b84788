"""Reducing runs of consecutive rows, or shards, to one shard each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from gingham.aggregates.extrema import MAXIMUM, MINIMUM
from gingham.aggregates.moments import MOMENTS
from gingham.aggregates.monoid import Elementwise, Monoid
from gingham.aggregates.sums import AddBigints
from gingham.columns.vectors import (
    Decimals,
    Numbers,
    Vector,
    normalized,
    numbers,
    split_decimals,
    vector,
)
from gingham.core.arrays import Array, Bools, Ints


def reduce_runs(monoid: Monoid, columns: Sequence[Vector], starts: Ints) -> list[Vector]:
    """Merge runs of consecutive rows of a partial's columns; `starts` has their first rows.

    Where a column is NULL, its row adds nothing. Common partials are reduced by numpy at once, all
    others by their monoid.
    """
    plain = [column for column in columns if isinstance(column, Numbers)]
    if len(plain) == len(columns):
        if type(monoid) is Elementwise or isinstance(monoid, AddBigints):
            return [_by_ufunc(monoid.ufunc, monoid.identity, c, starts) for c in plain]
        if monoid in (MINIMUM, MAXIMUM) and len(columns) == 1:
            return [_extreme(plain[0], starts, largest=monoid == MAXIMUM)]
        if monoid == MOMENTS:
            return _moments(plain, starts)
    elif type(monoid) is Elementwise and isinstance(columns[0], Decimals):
        return [_added_decimals(columns[0], starts)]
    merged = monoid.condense([column.to_arrow() for column in columns], starts)
    return [vector(column) for column in merged]


def moments_of_rows(column: Numbers, starts: Ints, counts: Ints) -> list[Vector]:
    """Count, mean and variance of runs of rows, in two passes so that nothing cancels out.

    `counts` are the lengths of the runs.
    """
    values, known = column.values.astype(np.float64, copy=False), column.valid
    total = counts if known is None else np.add.reduceat(known, starts, dtype=np.int64)
    with np.errstate(all="ignore"):
        mean = np.add.reduceat(values, starts) / total
        distance = values - np.repeat(mean, counts)
        if known is not None:
            distance = np.where(known, distance, 0.0)
        variance = np.add.reduceat(distance * distance, starts) / total
    some = None if known is None else total > 0
    kinds = (pa.int64(), pa.float64(), pa.float64())
    return [
        numbers(found, valid, kind)
        for found, valid, kind in zip(
            (total, mean, variance), (None, some, some), kinds, strict=True
        )
    ]


def _by_ufunc(ufunc: np.ufunc, identity: float, column: Numbers, starts: Ints) -> Vector:
    """Merge runs of numbers by a ufunc, NULL where a run has no value."""
    values = _filled(column, identity)
    # A column of flags counts them.
    dtype = np.int64 if values.dtype == np.bool_ and pa.types.is_integer(column.type) else None
    with np.errstate(all="ignore"):
        merged = ufunc.reduceat(values, starts, dtype=dtype)
    valid = _any_valid(column.valid, starts)
    if pa.types.is_decimal(column.type):
        return split_decimals(merged, valid, column.type)
    return (
        Numbers(merged, valid, column.type)
        if identity == 0
        else numbers(merged, valid, column.type)
    )


def _extreme(column: Numbers, starts: Ints, *, largest: bool) -> Numbers:
    """The least or the greatest number of each run, where NaN is above all numbers."""
    kind = column.values.dtype
    if kind.kind == "f":
        # Minima skip NaN unless there is nothing else; maxima are NaN as soon as there is one.
        ufunc, identity = (np.maximum, -np.inf) if largest else (np.fmin, np.nan)
    elif kind == np.bool_:
        ufunc, identity = (np.logical_or, False) if largest else (np.logical_and, True)
    else:
        limits = np.iinfo(kind)
        ufunc, identity = (np.maximum, limits.min) if largest else (np.minimum, limits.max)
    with np.errstate(all="ignore"):
        merged = ufunc.reduceat(_filled(column, identity), starts)
    return numbers(merged, _any_valid(column.valid, starts), column.type)


def _added_decimals(column: Decimals, starts: Ints) -> Decimals:
    """The sum of each run of decimals, as halves that do not overflow."""
    high, low = column.high, column.low
    if column.valid is not None:
        high, low = np.where(column.valid, high, 0), np.where(column.valid, low, 0)
    halves = normalized(np.add.reduceat(high, starts), np.add.reduceat(low, starts))
    return Decimals(*halves, _any_valid(column.valid, starts), column.type)


def _moments(columns: Sequence[Numbers], starts: Ints) -> list[Vector]:
    """Merge runs of counts, means and variances, in two passes so that nothing cancels out."""
    counts, means, variances = (column.values.astype(np.float64) for column in columns)
    lengths = np.diff(np.append(starts, len(counts)))
    with np.errstate(all="ignore"):
        total = np.add.reduceat(counts, starts)
        mean = np.add.reduceat(counts * means, starts) / total
        distance = np.where(counts > 0, means - np.repeat(mean, lengths), 0.0)
        squares = np.add.reduceat(counts * (variances + distance * distance), starts)
        variance = squares / total
    some = total > 0
    kinds = [column.type for column in columns]
    whole = Numbers(total.astype(np.int64), None, kinds[0])
    return [whole, numbers(mean, some, kinds[1]), numbers(variance, some, kinds[2])]


def _filled(column: Numbers, identity: float) -> Array:
    """The values of a column, what changes nothing in place of NULL."""
    if column.valid is None or identity == 0:
        return column.values
    return np.where(column.valid, column.values, column.values.dtype.type(identity))


def _any_valid(valid: Bools | None, starts: Ints) -> Bools | None:
    """Which runs have a value; None if all have, because there is no NULL."""
    return None if valid is None else np.logical_or.reduceat(valid, starts)
