"""Merging shards and storing them again loses nothing."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from gingham.aggregates import bind
from gingham.aggregates.base import Call

DECIMAL = pa.decimal128(20, 2)
CASES = [
    (Call("count", ("*",), ("int",), pa.int64()), [pa.array([1, 2, 3, 4])]),
    (Call("sum", ("x",), ("double",), pa.float64()), [pa.array([1.5, None, 2.5, None])]),
    (
        Call("sum", ("x",), ("bigint",), pa.int64()),
        [pa.array([2**31, -5, None, -(2**31)]), pa.array([2**32 - 1, 7, None, 9])],
    ),
    (
        Call("sum", ("x",), ("decimal(10,2)",), DECIMAL),
        [pa.array([Decimal("1.25"), None, Decimal("-3.50"), Decimal("0.01")], DECIMAL)],
    ),
    (Call("min", ("x",), ("string",), pa.string()), [pa.array(["b", None, "a", "c"])]),
    (Call("max", ("x",), ("double",), pa.float64()), [pa.array([1.0, math.nan, None, -1.0])]),
    (
        Call("max_by", ("x", "y"), ("string", "int"), pa.string()),
        [pa.array([3, 9, None, 2], pa.int32()), pa.array(["p", None, None, "q"])],
    ),
    (Call("bit_xor", ("x",), ("int",), pa.int32()), [pa.array([3, None, 5, 1], pa.int32())]),
    (
        Call("stddev", ("x",), ("double",), pa.float64()),
        [pa.array([2, 0, 3, 1]), pa.array([1.5, None, 4.0, 9.0]), pa.array([0.25, None, 1.0, 0.0])],
    ),
]


@pytest.mark.parametrize(("call", "columns"), CASES, ids=[c.sql for c, _ in CASES])
def test_condensed_shards_give_the_same_answer(call: Call, columns: list[pa.Array]):
    aggregate = bind(call)
    [partial] = aggregate.partials
    monoid, count = partial.monoid, len(columns[0])
    whole = monoid.ranges(monoid.load(columns), np.array([0]), np.array([count]))
    expected = aggregate.finalize((whole,)).to_pylist()
    # Merge the first two and the last two, store, load, merge again.
    condensed = monoid.condense(columns, np.array([0, 2]))
    assert [c.type for c in condensed] == [c.type for c in columns]
    again = monoid.ranges(monoid.load(condensed), np.array([0]), np.array([2]))
    found = aggregate.finalize((again,)).to_pylist()
    assert found == pytest.approx(expected, nan_ok=True)
