"""Variances, covariances, correlation and linear regression, from merged central moments.

A state is (count, mean, sum of squared deviations, ...). States merge without cancellation by the
formulas of Chan, Golub and LeVeque, which Spark uses too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from gingham.aggregates.base import Aggregate, Partial, RowColumn
from gingham.aggregates.monoid import Monoid, State, to_numpy
from gingham.core.arrays import Array

_Formula = Callable[..., Array]


@dataclass(frozen=True, slots=True)
class _Moments(Monoid):
    """States of one variable: count, mean, sum of squared deviations from the mean."""

    def load(self, columns: list[pa.Array]) -> State:
        """Read count, mean and variance of each partial."""
        count, mean, variance = (to_numpy(c, 0)[0].astype(np.float64) for c in columns)
        return State((count, mean, variance * count))

    def store(self, state: State, types: list[pa.DataType]) -> list[pa.Array]:
        """Write count, mean and variance as columns."""
        count, mean, squares = state.arrays
        with np.errstate(all="ignore"):
            variance = squares / count
        return _store_moments((count, mean, variance), types)

    def empty(self, count: int) -> State:
        """Make the moments of no values: zeros."""
        return State(tuple(np.zeros(count) for _ in range(3)))

    def merge(self, left: State, right: State) -> State:
        """Merge counts, means and squared deviations of two states, as Spark does."""
        n, mean, squares = left.arrays
        m, other_mean, other_squares = right.arrays
        share, weight = _merge_weights(n, m)
        with np.errstate(all="ignore"):  # Infinities minus infinities are NaN, as in Spark.
            delta = np.where((n > 0) & (m > 0), other_mean - mean, 0.0)
            return State(
                (
                    n + m,
                    np.where(n == 0, other_mean, mean + delta * share),
                    squares + other_squares + delta * delta * weight,
                )
            )


@dataclass(frozen=True, slots=True)
class _Comoments(Monoid):
    """States of two variables x and y, over pairs without NULL.

    They are: count, mean of x, mean of y, sums of squared deviations of x and of y, sum of the
    products of deviations.
    """

    def load(self, columns: list[pa.Array]) -> State:
        """Read the counts, means and squared deviations of two variables."""
        return State(tuple(to_numpy(c, 0)[0].astype(np.float64) for c in columns))

    def store(self, state: State, types: list[pa.DataType]) -> list[pa.Array]:
        """Write the counts, means and squared deviations of two variables as columns."""
        return _store_moments(state.arrays, types)

    def empty(self, count: int) -> State:
        """Make the comoments of no pairs: zeros."""
        return State(tuple(np.zeros(count) for _ in range(6)))

    def merge(self, left: State, right: State) -> State:
        """Merge counts, means and squared deviations of two variables, as Spark does."""
        n, x, y, xx, yy, xy = left.arrays
        m, u, v, uu, vv, uv = right.arrays
        share, weight = _merge_weights(n, m)
        both = (n > 0) & (m > 0)
        with np.errstate(all="ignore"):
            dx, dy = np.where(both, u - x, 0.0), np.where(both, v - y, 0.0)
            return State(
                (
                    n + m,
                    np.where(n == 0, u, x + dx * share),
                    np.where(n == 0, v, y + dy * share),
                    xx + uu + dx * dx * weight,
                    yy + vv + dy * dy * weight,
                    xy + uv + dx * dy * weight,
                )
            )


MOMENTS = _Moments()
COMOMENTS = _Comoments()


@dataclass(frozen=True, slots=True)
class Moment(Aggregate):
    """var_pop, var_samp, stddev_pop, stddev_samp and their other names.

    >>> from gingham.aggregates.base import Call
    >>> spread = Moment(Call("var_samp", ("x",), ("double",), pa.float64()))
    >>> state = MOMENTS.load([pa.array([1, 1]), pa.array([2.0, 4.0]), pa.array([0.0, 0.0])])
    >>> spread.finalize((MOMENTS.ranges(state, np.array([0]), np.array([2])),)).to_pylist()
    [2.0]
    """

    FUNCTIONS: ClassVar[dict[str, _Formula]] = {
        "var_pop": lambda n, s: s / n,
        "var_samp": lambda n, s: s / (n - 1),
        "variance": lambda n, s: s / (n - 1),
        "stddev_pop": lambda n, s: np.sqrt(s / n),
        "stddev_samp": lambda n, s: np.sqrt(s / (n - 1)),
        "stddev": lambda n, s: np.sqrt(s / (n - 1)),
        "std": lambda n, s: np.sqrt(s / (n - 1)),
    }

    @property
    def partials(self) -> tuple[Partial, ...]:
        """Count, mean and variance over each part of the rows; equal for all these functions."""
        x = _double_sql(self.call.arguments[0], self.call.types[0])
        of_one_row = RowColumn(x, "known"), RowColumn(x), RowColumn(x, "zero")
        return (Partial((f"count({x})", f"avg({x})", f"var_pop({x})"), MOMENTS, of_one_row),)

    def finalize(self, states: tuple[State, ...]) -> pa.Array:
        """Variances or standard deviations from merged moments, NULL with too few values."""
        count, _, squares = states[0].arrays
        with np.errstate(all="ignore"):
            values = self.FUNCTIONS[self.call.function](count, squares)
        needed = 1 if self.call.function.endswith("_pop") else 2
        return pa.array(values, type=pa.float64(), mask=count < needed)


@dataclass(frozen=True, slots=True)
class Comoment(Aggregate):
    """covar_pop, covar_samp, corr and regressions of the first argument on the second."""

    # Of the count, the means and squared deviations of both arguments, and the products of
    # deviations.
    FUNCTIONS: ClassVar[dict[str, _Formula]] = {
        "covar_pop": lambda n, _a, _b, _aa, _bb, ab: ab / n,
        "covar_samp": lambda n, _a, _b, _aa, _bb, ab: ab / (n - 1),
        "corr": lambda _n, _a, _b, aa, bb, ab: ab / (np.sqrt(aa) * np.sqrt(bb)),
        "regr_slope": lambda _n, _a, _b, _aa, bb, ab: ab / bb,
        "regr_intercept": lambda _n, a, b, _aa, bb, ab: a - ab / bb * b,
        # A line through points of the same height explains all of them.
        "regr_r2": lambda _n, _a, _b, aa, bb, ab: np.where(aa == 0, 1.0, ab / bb * (ab / aa)),
        "regr_sxx": lambda _n, _a, _b, _aa, bb, _ab: bb,
        "regr_syy": lambda _n, _a, _b, aa, _bb, _ab: aa,
        "regr_sxy": lambda _n, _a, _b, _aa, _bb, ab: ab,
    }
    # Functions that are NULL where one of the arguments does not vary: both, or the second.
    _DIVIDE_BY_BOTH: ClassVar = ("corr",)
    _DIVIDE_BY_SECOND: ClassVar = ("regr_slope", "regr_intercept", "regr_r2")
    _OF_TWO_PAIRS: ClassVar = ("covar_samp", "corr")

    @property
    def partials(self) -> tuple[Partial, ...]:
        """Count, means and squared deviations of pairs, equal for all these functions."""
        a, b = (
            _double_sql(*pair) for pair in zip(self.call.arguments, self.call.types, strict=True)
        )
        # Spark's regressions count pairs without NULL only, as covariances do.
        columns = (
            f"regr_count({a}, {b})",
            f"regr_avgy({a}, {b})",
            f"regr_avgx({a}, {b})",
            f"regr_syy({a}, {b})",
            f"regr_sxx({a}, {b})",
            f"regr_sxy({a}, {b})",
        )
        both = f"({a}) IS NOT NULL AND ({b}) IS NOT NULL"
        of_a, of_b = f"IF({both}, {a}, NULL)", f"IF({both}, {b}, NULL)"
        of_one_row = (
            RowColumn(of_a, "known"),
            RowColumn(of_a),
            RowColumn(of_b),
            *[RowColumn(of_a, "zero")] * 3,
        )
        return (Partial(columns, COMOMENTS, of_one_row),)

    def finalize(self, states: tuple[State, ...]) -> pa.Array:
        """Covariances, correlations or regressions from merged comoments, NULL if undefined."""
        function = self.call.function
        count, _, _, squares_a, squares_b, _ = states[0].arrays
        with np.errstate(all="ignore"):
            values = self.FUNCTIONS[function](*states[0].arrays)
        undefined = count < (2 if function in self._OF_TWO_PAIRS else 1)
        # Spark divides by zero to NULL.
        if function in self._DIVIDE_BY_BOTH:
            undefined |= (squares_a == 0) | (squares_b == 0)
        elif function in self._DIVIDE_BY_SECOND:
            undefined |= squares_b == 0
        return pa.array(values, type=pa.float64(), mask=undefined)


def _store_moments(arrays: tuple[Array, ...], types: list[pa.DataType]) -> list[pa.Array]:
    """Write moments as columns of a partial; where the count is zero, all others are NULL."""
    count, *rest = arrays
    return [
        pa.array(count).cast(types[0]),
        *(pa.array(a, mask=count == 0).cast(t) for a, t in zip(rest, types[1:], strict=True)),
    ]


def _double_sql(argument: str, kind: str) -> str:
    """SQL of an argument of a variance or covariance as a double."""
    # Spark computes all of these in doubles; the mean of decimals would be a decimal.
    return argument if kind == "double" else f"CAST({argument} AS DOUBLE)"


def _merge_weights(n: Array, m: Array) -> tuple[Array, Array]:
    """The right side's share of n + m values, and the weight of two means' squared distance."""
    total = np.where(n + m > 0, n + m, 1.0)
    return m / total, n * m / total
