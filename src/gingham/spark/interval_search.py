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

from gingham.core import names
from gingham.core.decimals import shifted
from gingham.core.names import quoted
from gingham.logical.domain import Domain
from gingham.logical.predicate import Axis
from gingham.spark.select_chain import SelectChain

# Spark's generated method stays small enough for the JIT compiler with so many IFs in it.
MOST_BRANCHES = 96
_EXACT_INTEGERS = 1 << 53  # integers below this are doubles
_EXACT_DIGITS = 15  # decimals of up to so many digits are different doubles


def with_cut_positions(
    chain: SelectChain,
    axes: Sequence[Axis],
    *more_columns: str,
    most_branches: int = MOST_BRANCHES,
) -> SelectChain:
    """Add the value of every attribute and its position among the cuts of its axis.

    These are `__value_0`, `__position_0`, ...; `interval_columns` reads them. The SELECT of the
    values also adds `more_columns`, which saves a SELECT.
    """
    values = [f"{_value_sql(axis)} AS {_value_column(i)}" for i, axis in enumerate(axes)]
    searches = [
        IntervalSearch(_value_column(i), _position_column(i), axis.attribute.domain, axis.cuts)
        for i, axis in enumerate(axes)
        if axis.attribute.domain.kind != "boolean" and axis.cuts
    ]
    return with_positions(chain.with_columns(*more_columns, *values), searches, most_branches)


def interval_columns(axes: Sequence[Axis]) -> list[str]:
    """Spark SQL select items `... AS __interval_0`: the interval number of every attribute.

    The numbers of an axis are those of its intervals, then NULL's.
    """
    return [f"{_interval_sql(i, axis)} AS {names.interval(i)}" for i, axis in enumerate(axes)]


@dataclass(frozen=True, slots=True)
class IntervalSearch:
    """A search among sorted cuts: `output` becomes the number of cuts <= the value of `column`."""

    column: str
    output: str
    domain: Domain
    cuts: tuple[Any, ...]

    @property
    def in_doubles(self) -> bool:
        """True if comparing the column's values with the cuts as doubles is exact."""
        match self.domain.kind:
            case "integer":
                return all(abs(c) < _EXACT_INTEGERS for c in self.cuts)
            case "decimal":
                return self.domain.precision <= _EXACT_DIGITS
            case "double":
                return not any(math.isinf(c) for c in self.cuts)
            case "date":
                return True
            case _:
                return False


def with_positions(
    chain: SelectChain, searches: Sequence[IntervalSearch], most_branches: int = MOST_BRANCHES
) -> SelectChain:
    """Add a column for every search among cuts, with at most so many nested IFs; NULL for NULL."""
    short = _shortest_searches(searches, most_branches)
    outputs = [f"{_nested_ifs(s)} AS {s.output}" for s in short]
    long = [s for s in searches if s not in short]
    bucketed = [s for s in long if s.in_doubles]
    if bucketed:
        # It brings pandas and scipy along, for which every new worker would wait.
        from pyspark.ml.feature import Bucketizer  # noqa: PLC0415

        finite = [[c for c in _cuts_as_doubles(s) if not math.isnan(c)] for s in bucketed]
        bucketizer = Bucketizer(
            splitsArray=[_bucketizer_splits(cuts) for cuts in finite],
            inputCols=[s.column for s in bucketed],
            outputCols=[_bucket_column(s) for s in bucketed],
            # NaN gets a bucket of its own after the last; it is greater than every number.
            handleInvalid="keep",
        )
        chain = SelectChain(bucketizer.transform(chain.to_dataframe()))
        outputs += [f"{_position_of_bucket(s)} AS {s.output}" for s in bucketed]
    for search in long:
        if not search.in_doubles:
            chain = _with_unrolled_search(chain, search)
    return chain.with_columns(*outputs)


def _shortest_searches(
    searches: Sequence[IntervalSearch], most_branches: int
) -> list[IntervalSearch]:
    """The searches with the fewest cuts: as many as fit into one generated JVM method."""
    shortest: list[IntervalSearch] = []
    for search in sorted(searches, key=lambda s: len(s.cuts)):
        if sum(len(s.cuts) for s in (*shortest, search)) <= most_branches:
            shortest.append(search)
    return shortest


def _nested_ifs(search: IntervalSearch) -> str:
    """Spark SQL of a search among cuts, as a binary tree of IFs."""
    value = quoted(search.column)
    cuts = (
        [f"CAST('{_double_text(c)}' AS DOUBLE)" for c in _cuts_as_doubles(search)]
        if search.in_doubles
        else [_cut_literal(search.domain, c) for c in search.cuts]
    )

    def between(low: int, high: int) -> str:
        """Spark SQL of the search among the cuts from `low` to `high`."""
        if low == high:
            return str(low)
        middle = (low + high) // 2
        return f"IF({value} >= {cuts[middle]}, {between(middle + 1, high)}, {between(low, middle)})"

    return f"IF({value} IS NULL, NULL, {between(0, len(cuts))})"


def _bucket_column(search: IntervalSearch) -> str:
    """The name of the column that Spark's Bucketizer writes for a search among cuts."""
    return f"{search.output}_bucket"


def _position_of_bucket(search: IntervalSearch) -> str:
    """Spark SQL of a value's position among the cuts, from the Bucketizer's bucket."""
    bucket, last = _bucket_column(search), len(search.cuts)
    # Not least(): that would skip NULL.
    return f"CAST(IF({bucket} > {last}, {last}, {bucket}) AS INT)"


def _bucketizer_splits(cuts: list[float]) -> list[float]:
    """The cuts as the splits that Spark's Bucketizer takes: from -inf to inf, three at least."""
    # The Bucketizer wants two buckets at least; nothing is beyond the greatest double but NaN.
    return [-math.inf, *cuts, math.inf] if cuts else [-math.inf, 1.7976931348623157e308, math.inf]


def _value_column(axis_number: int) -> str:
    """The name of the column that holds an attribute's value for the search: `__value_0`."""
    return f"__value_{axis_number}"


def _position_column(axis_number: int) -> str:
    """The name of the column that holds a value's position among the cuts: `__position_0`."""
    return f"__position_{axis_number}"


def _value_sql(axis: Axis) -> str:
    """Spark SQL of an attribute's value, of the type in which it is compared with the cuts."""
    domain, sql = axis.attribute.domain, axis.attribute.sql
    match domain.kind:
        case "boolean":
            return sql
        case "double":
            return f"({sql}) + 0.0D"  # -0.0 equals 0.0 but sorts below it
        case "date":
            return f"CAST(unix_date({sql}) AS DOUBLE)"
        case "integer" | "decimal" if IntervalSearch("", "", domain, axis.cuts).in_doubles:
            return f"CAST({sql} AS DOUBLE)"
        case _:
            return sql


def _interval_sql(axis_number: int, axis: Axis) -> str:
    """Spark SQL of the interval number of an attribute: by position, or NULL's."""
    value = _value_column(axis_number)
    if not axis.cuts:
        position = f"IF({value} IS NULL, NULL, 0)"
    elif axis.attribute.domain.kind == "boolean":
        position = f"CAST({value} AS INT)"
    else:
        position = _position_column(axis_number)
    return f"coalesce({position}, {axis.null})"


def _cuts_as_doubles(search: IntervalSearch) -> list[float]:
    """The cuts of a search as doubles."""
    scale = 10**search.domain.scale if search.domain.kind == "decimal" else 1
    return [c / scale if scale > 1 else float(c) for c in search.cuts]


def _with_unrolled_search(chain: SelectChain, search: IntervalSearch) -> SelectChain:
    """Add a column for every step of the binary search; each step reads the one before."""
    steps = max(1, math.ceil(math.log2(len(search.cuts) + 1)))
    padding = (1 << steps) - 1 - len(search.cuts)
    # Nothing is >= NULL, so what pads the list to a power of two is never passed.
    cuts = ", ".join([*(_cut_literal(search.domain, c) for c in search.cuts), *["NULL"] * padding])
    value, output = quoted(search.column), search.output
    chain = chain.with_columns(f"IF({value} IS NULL, NULL, 0) AS {output}_{steps}")
    for step in reversed(range(steps)):
        width, before = 1 << step, f"{output}_{step + 1}"
        passed = f"{value} >= get(array({cuts}), {before} + {width - 1})"
        chain = chain.with_columns(f"{before} + IF({passed}, {width}, 0) AS {output}_{step}")
    return chain.with_columns(f"{output}_0 AS {output}")


def _cut_literal(domain: Domain, cut: Any) -> str:
    """A cut as a Spark SQL literal of its domain."""
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
    """A double as the text that Spark SQL casts to it: also NaN and Infinity."""
    if math.isnan(value):
        return "NaN"
    return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, repr(value))
