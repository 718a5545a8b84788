"""Interval numbers: where each value of an attribute lies among its cuts, found in the JVM.

A few cuts become nested IFs, which Spark compiles into the loop over the rows. Where there are
many, numbers that a double holds exactly go through Spark ML's Bucketizer, a binary search in
compiled code; everything else (long strings of digits, strings, infinities) goes through a binary
search that is unrolled into expressions, which is slower and exact for whatever Spark can compare.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.ml.feature import Bucketizer

from gingham.core import names
from gingham.core.decimals import shifted
from gingham.core.names import quoted
from gingham.logical.domain import Domain
from gingham.logical.predicate import Axis
from gingham.spark.draft import Draft

# Spark's generated method stays small enough for the JIT compiler with so many IFs in it.
MOST_BRANCHES = 96
_EXACT = 1 << 53  # integers below this are doubles
_EXACT_DIGITS = 15  # decimals of up to so many digits are different doubles


@dataclass(frozen=True, slots=True)
class Search:
    """Numbers the intervals of one column: how many of the sorted cuts are <= its value."""

    column: str
    output: str
    domain: Domain
    cuts: tuple[Any, ...]

    @property
    def in_doubles(self) -> bool:
        """True if the search is exact in doubles."""
        match self.domain.kind:
            case "integer":
                return all(abs(c) < _EXACT for c in self.cuts)
            case "decimal":
                return self.domain.precision <= _EXACT_DIGITS
            case "double":
                return not any(math.isinf(c) for c in self.cuts)
            case "date":
                return True
            case _:
                return False


def values(axes: Sequence[Axis]) -> list[str]:
    """`__value_0`, ... : the value of every attribute, as its cuts are compared with it."""
    return [f"{_value(axis)} AS __value_{i}" for i, axis in enumerate(axes)]


def searches(axes: Sequence[Axis]) -> list[Search]:
    """What to look for among the cuts: `__place_0`, ... from `__value_0`, ..."""
    return [
        Search(f"__value_{i}", f"__place_{i}", axis.attribute.domain, axis.cuts)
        for i, axis in enumerate(axes)
        if axis.attribute.domain.kind != "boolean" and axis.cuts
    ]


def intervals(axes: Sequence[Axis]) -> list[str]:
    """`__interval_0`, ... : the interval of every attribute, then NULL, then "raises"."""
    return [f"{_interval(i, axis)} AS {names.interval(i)}" for i, axis in enumerate(axes)]


def place(draft: Draft, wanted: Sequence[Search], branches: int = MOST_BRANCHES) -> Draft:
    """Add the output column of every search, with so many IFs at most; NULL for NULL."""
    few = _few(wanted, branches)
    found = [f"{_branches(s)} AS {s.output}" for s in few]
    many = [s for s in wanted if s not in few]
    quick = [s for s in many if s.in_doubles]
    if quick:
        finite = [[c for c in _doubles(s) if not math.isnan(c)] for s in quick]
        bucketizer = Bucketizer(
            splitsArray=[_splits(cuts) for cuts in finite],
            inputCols=[s.column for s in quick],
            outputCols=[f"{s.output}_bucket" for s in quick],
            # NaN gets a bucket of its own after the last; it is greater than every number.
            handleInvalid="keep",
        )
        draft = Draft(bucketizer.transform(draft.made()))
        found += [f"{_bucket(s)} AS {s.output}" for s in quick]
    for search in many:
        if not search.in_doubles:
            draft = _unrolled(draft, search)
    return draft.plus(*found)


def _few(wanted: Sequence[Search], branches: int) -> list[Search]:
    """The searches with the fewest cuts, as many as fit into one method."""
    few: list[Search] = []
    for search in sorted(wanted, key=lambda s: len(s.cuts)):
        if sum(len(s.cuts) for s in (*few, search)) <= branches:
            few.append(search)
    return few


def _branches(search: Search) -> str:
    value = quoted(search.column)
    doubles = search.in_doubles
    cuts = (
        [f"CAST('{_double_text(c)}' AS DOUBLE)" for c in _doubles(search)]
        if doubles
        else [_literal(search.domain, c) for c in search.cuts]
    )

    def between(low: int, high: int) -> str:
        if low == high:
            return str(low)
        middle = (low + high) // 2
        return f"IF({value} >= {cuts[middle]}, {between(middle + 1, high)}, {between(low, middle)})"

    return f"IF({value} IS NULL, NULL, {between(0, len(cuts))})"


def _bucket(search: Search) -> str:
    bucket, last = f"{search.output}_bucket", len(search.cuts)
    # Not least(): that would skip NULL.
    return f"CAST(IF({bucket} > {last}, {last}, {bucket}) AS INT)"


def _splits(cuts: list[float]) -> list[float]:
    # The Bucketizer wants two buckets at least; nothing is beyond the greatest double but NaN.
    return [-math.inf, *cuts, math.inf] if cuts else [-math.inf, 1.7976931348623157e308, math.inf]


def _value(axis: Axis) -> str:
    domain, sql = axis.attribute.domain, axis.attribute.sql
    match domain.kind:
        case "boolean":
            return sql
        case "double":
            return f"({sql}) + 0.0D"  # -0.0 equals 0.0 but sorts below it
        case "date":
            return f"CAST(unix_date({sql}) AS DOUBLE)"
        case "integer" | "decimal" if Search("", "", domain, axis.cuts).in_doubles:
            return f"CAST({sql} AS DOUBLE)"
        case _:
            return sql


def _interval(position: int, axis: Axis) -> str:
    value = f"__value_{position}"
    if not axis.cuts:
        found = f"IF({value} IS NULL, NULL, 0)"
    elif axis.attribute.domain.kind == "boolean":
        found = f"CAST({value} AS INT)"
    else:
        found = f"__place_{position}"
    number = f"coalesce({found}, {axis.null})"
    raises = axis.attribute.raises
    return f"IF({raises}, {axis.null + 1}, {number})" if raises else number


def _doubles(search: Search) -> list[float]:
    scale = 10**search.domain.scale if search.domain.kind == "decimal" else 1
    return [c / scale if scale > 1 else float(c) for c in search.cuts]


def _unrolled(draft: Draft, search: Search) -> Draft:
    """One step of the binary search after the other, each a column that the next one reads."""
    steps = max(1, math.ceil(math.log2(len(search.cuts) + 1)))
    padding = (1 << steps) - 1 - len(search.cuts)
    # Nothing is >= NULL, so what pads the list to a power of two is never passed.
    cuts = ", ".join([*(_literal(search.domain, c) for c in search.cuts), *["NULL"] * padding])
    value, found = quoted(search.column), search.output
    draft = draft.plus(f"IF({value} IS NULL, NULL, 0) AS {found}_{steps}")
    for step in reversed(range(steps)):
        width, before = 1 << step, f"{found}_{step + 1}"
        passed = f"{value} >= get(array({cuts}), {before} + {width - 1})"
        draft = draft.plus(f"{before} + IF({passed}, {width}, 0) AS {found}_{step}")
    return draft.plus(f"{found}_0 AS {found}")


def _literal(domain: Domain, cut: Any) -> str:
    match domain.kind:
        case "string":
            escaped = cut.replace("\\", "\\\\").replace("'", "\\'").replace("\x00", "\\u0000")
            return f"'{escaped}'"
        case "decimal":
            return f"CAST('{shifted(cut, -domain.scale):f}' AS DECIMAL(38, {domain.scale}))"
        case "double":
            return f"CAST('{_double_text(cut)}' AS DOUBLE)"
        case _:
            return f"CAST({cut} AS BIGINT)" if cut != -(1 << 63) else "-9223372036854775808L"


def _double_text(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, repr(value))
