"""The aggregates approx_count_distinct and approx_percentile, from mergeable sketches.

Spark builds HyperLogLog and KLL sketches; the library `datasketches` reads and merges their bytes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import datasketches
import numpy as np
import pyarrow as pa

from gingham.aggregates.base import Aggregate, Partial
from gingham.aggregates.monoid import Capability, Monoid, State, flat, to_numpy
from gingham.core.arrays import Array
from gingham.core.errors import QueryError

_DEFAULT_DEVIATION = 0.05
_DEFAULT_ACCURACY = 10_000


@dataclass(frozen=True, slots=True)
class _Hll(Monoid):
    """States of HyperLogLog sketches with 2^lg_k registers; None where there was no value."""

    lg_k: int

    @property
    def capability(self) -> Capability:
        """Idempotent: a union of HyperLogLog sketches counts equal values once."""
        return "idempotent"

    def load(self, columns: list[pa.Array]) -> State:
        """Read the HyperLogLog sketches that Spark serialized."""
        return State((_read_sketches(columns[0], datasketches.hll_sketch.deserialize),))

    def store(self, state: State, types: list[pa.DataType]) -> list[pa.Array]:
        """Serialize the HyperLogLog sketches of a state."""
        written = [None if s is None else s.serialize_compact() for s in state.arrays[0]]
        return [pa.array(written, types[0])]

    def empty(self, count: int) -> State:
        """Make aggregate states of no values: no sketch."""
        return State((np.full(count, None, dtype=object),))

    def merge(self, left: State, right: State) -> State:
        """Unite the HyperLogLog sketches of two states."""
        return State((_merge_sketches(self._union, left, right),))

    def _union(self, a: Any, b: Any) -> Any:
        """Unite two HyperLogLog sketches."""
        union = datasketches.hll_union(self.lg_k)
        union.update(a)
        union.update(b)
        return union.get_result(datasketches.tgt_hll_type.HLL_8)


@dataclass(frozen=True, slots=True)
class _Kll(Monoid):
    """States of KLL sketches of doubles with parameter k, and of counts of NaN beside them."""

    k: int

    def load(self, columns: list[pa.Array]) -> State:
        """Read the KLL sketches of percentiles that Spark serialized, and the counts of NaN."""
        sketches = _read_sketches(columns[0], datasketches.kll_doubles_sketch.deserialize)
        return State((sketches, to_numpy(columns[1], 0)[0]))

    def store(self, state: State, types: list[pa.DataType]) -> list[pa.Array]:
        """Serialize KLL sketches of percentiles, with the counts of NaN."""
        sketches, nans = state.arrays
        written = [None if s is None else s.serialize() for s in sketches]
        return [pa.array(written, types[0]), pa.array(nans).cast(types[1])]

    def empty(self, count: int) -> State:
        """Make aggregate states of no values: no sketch, no NaN."""
        return State((np.full(count, None, dtype=object), np.zeros(count, dtype=np.int64)))

    def merge(self, left: State, right: State) -> State:
        """Merge the KLL sketches of two states, and add their counts of NaN."""
        return State((_merge_sketches(self._union, left, right), left.arrays[1] + right.arrays[1]))

    def _union(self, a: Any, b: Any) -> Any:
        """Merge two KLL sketches of percentiles."""
        union = datasketches.kll_doubles_sketch(self.k)
        union.merge(a)
        union.merge(b)
        return union


@dataclass(frozen=True, slots=True)
class ApproxCountDistinct(Aggregate):
    """approx_count_distinct: the number of different values, within a relative deviation."""

    @property
    def partials(self) -> tuple[Partial, ...]:
        """The HyperLogLog sketch that the wanted deviation needs."""
        argument, *rest = self.call.arguments
        deviation = _literal_number(self, rest[0]) if rest else _DEFAULT_DEVIATION
        # The deviation of HyperLogLog is 1.04 / sqrt(registers); 12 costs little and gives 1.6%.
        lg_k = min(21, max(12, math.ceil(2 * math.log2(1.04 / deviation))))
        if self.call.types[0] in ("float", "double"):
            # Every NaN is one value, and so are 0.0 and -0.0.
            argument = f"CAST({argument} AS DOUBLE) + 0.0D"
        if self.call.types[0] == "binary":
            argument = f"hex({argument})"
        if self.call.types[0] not in ("int", "bigint"):
            # The sketch does not count the empty string, so no value may become one.
            argument = f"concat('=', CAST({argument} AS STRING))"
        return (Partial((f"hll_sketch_agg({argument}, {lg_k})",), _Hll(lg_k)),)

    def finalize(self, states: tuple[State, ...]) -> pa.Array:
        """Estimate the number of different values from merged HyperLogLog sketches."""
        sketches = states[0].arrays[0]
        return pa.array([0 if s is None else round(s.get_estimate()) for s in sketches], pa.int64())


@dataclass(frozen=True, slots=True)
class ApproxPercentile(Aggregate):
    """approx_percentile: a value whose rank is within 1 / accuracy of the given percentage."""

    @property
    def partials(self) -> tuple[Partial, ...]:
        """The KLL sketch that the wanted accuracy needs, and the count of NaN."""
        argument, _, *rest = self.call.arguments
        kind = self.call.types[0]
        accuracy = _literal_number(self, rest[0]) if rest else _DEFAULT_ACCURACY
        # The rank error of KLL is about 2.3 / k^0.9.
        k = min(65_535, max(200, math.ceil((2.3 * accuracy) ** (1 / 0.9))))
        if kind == "date":
            argument = f"unix_date({argument})"
        elif kind == "timestamp":
            argument = f"unix_micros({argument})"
        elif kind not in ("tinyint", "smallint", "int", "bigint", "float", "double") and not (
            kind.startswith("decimal")
        ):
            raise QueryError(
                f"{self.call.sql} cannot be shared",
                f"there is no mergeable quantile sketch over {kind}",
                "a cast of the argument to a number",
            )
        number = f"CAST({argument} AS DOUBLE)"
        # The sketch leaves NaN out; in Spark's order it is the greatest number.
        _percentages(self)  # refuses what is no literal
        return (
            Partial(
                (f"kll_sketch_agg_double({number}, {k})", f"count_if(isnan({number}))"), _Kll(k)
            ),
        )

    def finalize(self, states: tuple[State, ...]) -> pa.Array:
        """Read the percentiles off merged KLL sketches."""
        percentages = _percentages(self)
        answers = [
            _quantiles(sketch, int(nans), percentages)
            for sketch, nans in zip(*states[0].arrays, strict=True)
        ]
        result = self.call.result
        if not pa.types.is_list(result):
            return _cast_percentiles(
                pa.array([None if a is None else a[0] for a in answers], pa.float64()), result
            )
        offsets = pa.array(np.arange(len(answers) + 1) * len(percentages), pa.int32())
        nulls = [float("nan")] * len(percentages)
        values = pa.array([v for a in answers for v in (nulls if a is None else a)], pa.float64())
        mask = pa.array([a is None for a in answers])
        # NaN stands for a missing answer until the mask hides it; integers cannot hold it.
        values = _cast_percentiles(
            values.fill_null(0) if result.value_type == pa.float64() else _replace_nan(values),
            result.value_type,
        )
        return pa.ListArray.from_arrays(offsets, values, mask=mask).cast(result)


def _quantiles(sketch: Any, nans: int, percentages: list[float]) -> list[float] | None:
    """Read percentiles off a KLL sketch, with NaN after all other values; None without values."""
    numbers: int = 0 if sketch is None else sketch.n
    ranks = [max(1, math.ceil(p * (numbers + nans))) for p in percentages]
    if numbers + nans == 0:
        return None
    # Half a value lower, so that rounding does not lead to the next value.
    return [
        math.nan
        if sketch is None or r > numbers
        else sketch.get_quantile((r - 0.5) / numbers, True)
        for r in ranks
    ]


_NUMBER = re.compile(r"([+-]?[\d.]+(?:e[+-]?\d+)?)(?:bd|[lsyfd])?", re.IGNORECASE)


def _percentages(aggregate: Aggregate) -> list[float]:
    """The second argument of approx_percentile: one percentage, or an array of them."""
    text = aggregate.call.arguments[1].strip()
    many = text.lower().startswith("array(")
    items = text[len("array(") : -1].split(",") if many else [text]
    return [float(_literal_number(aggregate, item)) for item in items]


def _literal_number(aggregate: Aggregate, text: str) -> float:
    """Read a numeric argument of an approximate aggregate, which must be a literal."""
    literal = _NUMBER.fullmatch(text.strip())
    if literal is None:
        raise QueryError(
            f"{aggregate.call.sql}: {text} is not a number",
            "accuracy and percentages decide the sketch, so they must be known beforehand",
            "a literal, for example approx_percentile(x, 0.5)",
        )
    return float(literal[1])


def _replace_nan(values: pa.Array) -> pa.Array:
    """Replace NaN and infinities among percentiles by zero, before a cast to whole numbers."""
    doubles = values.to_numpy(zero_copy_only=False)
    return pa.array(np.where(np.isfinite(doubles), doubles, 0.0))


def _cast_percentiles(values: pa.Array, result: pa.DataType) -> pa.Array:
    """Cast percentiles from doubles to the type of approx_percentile's argument."""
    if pa.types.is_floating(result):
        return values.cast(result)
    if pa.types.is_decimal(result):
        return values.cast(result, safe=False)
    return (
        values.cast(pa.int64())
        .cast(pa.int32() if pa.types.is_date(result) else pa.int64())
        .cast(result)
    )


def _read_sketches(column: pa.Array, deserialize: Callable[[bytes], Any]) -> Array:
    """Read an Arrow column of serialized HyperLogLog or KLL sketches as an array of objects."""
    sketches = np.empty(len(column), dtype=object)
    sketches[:] = [None if b is None else deserialize(b) for b in flat(column).to_pylist()]
    return sketches


def _merge_sketches(union: Callable[[Any, Any], Any], left: State, right: State) -> Array:
    """Merge the HyperLogLog or KLL sketches of two states by position; None has no values."""
    merged = np.empty(len(left), dtype=object)
    merged[:] = [
        b if a is None else a if b is None else union(a, b)
        for a, b in zip(left.arrays[0], right.arrays[0], strict=True)
    ]
    return merged
