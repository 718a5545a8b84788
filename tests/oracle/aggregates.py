"""Aggregates as their definitions say: over the whole list of values, exact where that is possible.

A result that depends on the order in which floats are added is a `Near`, with a tolerance that any
sound algorithm keeps and a careless one (a variance from sums of squares) does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from operator import and_, or_, xor
from typing import Any

from sqlglot import exp

from tests.oracle.expressions import Scalar
from tests.oracle.values import (
    BIGINT,
    DOUBLE,
    EXACT,
    INTEGERS,
    Near,
    Type,
    Unsupported,
    in_range,
    order,
    rounded,
)

_Compute = Callable[[list[tuple[Any, ...]], Type], Any]


def bind_aggregate(node: exp.Expression, sub: Callable[[exp.Expression], Scalar]) -> Scalar | None:
    """Make an aggregate call a function of a list of rows; None if it is no such call.

    `sub` binds what stands inside the call, over single rows.
    """
    if isinstance(node, exp.Filter):
        call, test = bind_aggregate(node.this, sub), sub(node.expression.this)
        if call is None:
            raise Unsupported(node.sql(dialect="spark"))
        return Scalar(call.type, lambda rows: call.of([r for r in rows if test.of(r) is True]))
    if isinstance(node, exp.Count) and isinstance(node.this, exp.Star):
        return Scalar(BIGINT, len)
    if isinstance(node, exp.Anonymous):
        name = _ANONYMOUS.get(node.name.lower())
    else:
        name = _NAMES.get(type(node))
    if name is None:
        return None
    arguments = [sub(child) for child in node.iter_expressions()]
    type_of_result, compute = _DEFINITIONS[name]
    result = type_of_result(arguments[0].type)

    def of(rows: list[Any]) -> Any:
        values = [tuple(a.of(row) for a in arguments) for row in rows]
        return compute([v for v in values if _counts(name, v)], result)

    return Scalar(result, of)


def _counts(name: str, values: tuple[Any, ...]) -> bool:
    """NULL takes no part; what min_by and max_by give back may well be NULL."""
    return None not in (values[1:] if name in ("min_by", "max_by") else values)


def _of_values(compute: Callable[[list[Any], Type], Any]) -> _Compute:
    """An aggregate of one argument that is NULL without values."""
    return lambda rows, result: compute([x for (x,) in rows], result) if rows else None


def _sum_type(own: Type) -> Type:
    if own.name == "decimal":
        return Type("decimal", min(38, own.precision + 10), own.scale)
    return BIGINT if own.name in INTEGERS else DOUBLE


def _sum(values: list[Any], result: Type) -> Any:
    if result == BIGINT:
        return in_range(sum(values), BIGINT)
    if result.name == "decimal":
        return rounded(reduce(EXACT.add, values), result)
    size = _add(abs(v) for v in values)
    return Near(_add(values), 1e-9 * max(1.0, size)) if math.isfinite(size) else _add(values)


def _add(values: Any) -> float:
    numbers = [float(v) for v in values]
    if all(map(math.isfinite, numbers)):
        return math.fsum(numbers)
    return sum(x for x in numbers if not math.isfinite(x))


def _average_type(own: Type) -> Type:
    if own.name == "decimal":
        return Type("decimal", min(38, own.precision + 4), min(38, own.scale + 4))
    return DOUBLE


def _average(values: list[Any], result: Type) -> Any:
    if result.name == "decimal":
        return rounded(EXACT.divide(reduce(EXACT.add, values), Decimal(len(values))), result)
    total = _sum(values, DOUBLE)  # integers too: Spark adds them as doubles
    tolerance = getattr(total, "tolerance", 0.0) / len(values)
    return Near(total / len(values), tolerance) if tolerance else total / len(values)


def _distinct(rows: list[tuple[Any, ...]]) -> float:
    exact = len({order(x) for (x,) in rows})
    # A sketch: three times its standard error of 5 %, and a collision among few.
    return Near(exact, 0.15 * exact + 1) if exact > 1 else exact


def _percentile(rows: list[tuple[Any, ...]]) -> Any:
    if not rows:
        return None
    values = sorted((x for x, _ in rows), key=order)
    rank = math.ceil(float(rows[0][1]) * len(values))
    return values[max(1, rank) - 1]


def _variance(rows: list[tuple[Any, ...]], free: int) -> float | None:
    return _covariance([(x, x) for (x,) in rows], free)


def _covariance(pairs: list[tuple[Any, ...]], free: int) -> float | None:
    """The mean product of deviations, in exact fractions; `free` is 1 for a sample."""
    count = len(pairs)
    if count <= free:
        return None
    if not all(math.isfinite(v) for pair in pairs for v in pair):
        return math.nan
    (xs, ys), (dxs, dys) = _columns(pairs)
    product, scale = _dot(dxs, dys), Fraction(count - free)
    # What rounding does when deviations from a running mean are added up.
    blur = math.sqrt(_dot(xs, xs) * _dot(dys, dys)) + math.sqrt(_dot(ys, ys) * _dot(dxs, dxs))
    floor = math.sqrt(_dot(xs, xs) * _dot(ys, ys))
    tolerance = 1e-9 * max(1.0, blur / scale) + 1e-26 * floor
    return Near(float(product / scale), tolerance)


def _correlation(pairs: list[tuple[Any, ...]]) -> float | None:
    if len(pairs) <= 1:
        return None
    if not all(math.isfinite(v) for pair in pairs for v in pair):
        return math.nan
    _, (dxs, dys) = _columns(pairs)
    spread = _dot(dxs, dxs) * _dot(dys, dys)
    if spread == 0:
        return None
    loss = sum(math.sqrt(_dot(v, v) / _dot(d, d)) for v, d in zip(*_columns(pairs), strict=True))
    return Near(float(_dot(dxs, dys)) / math.sqrt(spread), 1e-9 * max(1.0, loss))


def _columns(pairs: list[tuple[Any, ...]]) -> tuple[list[list[Fraction]], list[list[Fraction]]]:
    """Both columns as fractions, and their deviations from the mean."""
    # Spark takes doubles here: what a decimal or a bigint loses on the way is lost.
    columns = [[Fraction(float(v)) for v in column] for column in zip(*pairs, strict=True)]
    means = [sum(column, Fraction(0)) / len(column) for column in columns]
    return columns, [[v - mean for v in c] for c, mean in zip(columns, means, strict=True)]


def _dot(a: list[Fraction], b: list[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def _root(variance: float | None) -> float | None:
    if not isinstance(variance, Near):
        return variance
    root = math.sqrt(variance)
    lowest = math.sqrt(max(0.0, variance - variance.tolerance))
    highest = math.sqrt(variance + variance.tolerance)
    return Near(root, max(root - lowest, highest - root))


def _best(choose: Callable[..., Any]) -> _Compute:
    return lambda rows, _: choose(rows, key=lambda row: order(row[1]), default=(None,))[0]


def _bits(combine: Callable[[int, int], int]) -> _Compute:
    return _of_values(lambda values, _: reduce(combine, values))


def _same(own: Type) -> Type:
    return own


_DEFINITIONS: dict[str, tuple[Callable[[Type], Type], _Compute]] = {
    "count": (lambda _: BIGINT, lambda rows, _: len(rows)),
    "count_if": (lambda _: BIGINT, lambda rows, _: sum(x for (x,) in rows)),
    "sum": (_sum_type, _of_values(_sum)),
    "avg": (_average_type, _of_values(_average)),
    "min": (_same, _of_values(lambda values, _: min(values, key=order))),
    "max": (_same, _of_values(lambda values, _: max(values, key=order))),
    "bool_and": (_same, _of_values(lambda values, _: all(values))),
    "bool_or": (_same, _of_values(lambda values, _: any(values))),
    "bit_and": (_same, _bits(and_)),
    "bit_or": (_same, _bits(or_)),
    "bit_xor": (_same, _bits(xor)),
    "min_by": (_same, _best(min)),
    "max_by": (_same, _best(max)),
    "approx_count_distinct": (lambda _: BIGINT, lambda rows, _: _distinct(rows)),
    "approx_percentile": (_same, lambda rows, _: _percentile(rows)),
    "var_pop": (lambda _: DOUBLE, lambda rows, _: _variance(rows, 0)),
    "var_samp": (lambda _: DOUBLE, lambda rows, _: _variance(rows, 1)),
    "stddev_pop": (lambda _: DOUBLE, lambda rows, _: _root(_variance(rows, 0))),
    "stddev_samp": (lambda _: DOUBLE, lambda rows, _: _root(_variance(rows, 1))),
    "covar_pop": (lambda _: DOUBLE, lambda rows, _: _covariance(rows, 0)),
    "covar_samp": (lambda _: DOUBLE, lambda rows, _: _covariance(rows, 1)),
    "corr": (lambda _: DOUBLE, lambda rows, _: _correlation(rows)),
}
_NAMES: dict[type[exp.Expression], str] = {
    exp.Count: "count",
    exp.CountIf: "count_if",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
    exp.VariancePop: "var_pop",
    exp.Variance: "var_samp",
    exp.StddevPop: "stddev_pop",
    exp.StddevSamp: "stddev_samp",
    exp.Stddev: "stddev_samp",
    exp.CovarPop: "covar_pop",
    exp.CovarSamp: "covar_samp",
    exp.Corr: "corr",
    exp.LogicalAnd: "bool_and",
    exp.LogicalOr: "bool_or",
    exp.Any: "bool_or",
    exp.BitwiseAndAgg: "bit_and",
    exp.BitwiseOrAgg: "bit_or",
    exp.BitwiseXorAgg: "bit_xor",
    exp.ArgMin: "min_by",
    exp.ArgMax: "max_by",
    exp.ApproxDistinct: "approx_count_distinct",
    exp.ApproxQuantile: "approx_percentile",
}
# What sqlglot takes for functions of the user.
_ANONYMOUS = {"std": "stddev_samp", "every": "bool_and", "some": "bool_or"}
