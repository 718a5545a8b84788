"""Sums are exact at any size."""

from decimal import Decimal

import numpy as np
import pyarrow as pa

from gingham.aggregates import Call, State, bind


def test_the_mean_of_decimals_beyond_64_bits_is_rounded_half_up():
    mean = bind(Call("avg", ("w",), ("decimal(38,4)",), pa.decimal128(38, 8)))
    total = State((np.array([10**29 + 1], dtype=object), np.array([True])))
    count = State((np.array([3], dtype=np.int64), np.array([True])))
    assert mean.finalize((total, count)).to_pylist() == [
        Decimal("3333333333333333333333333.33336667")
    ]


def test_bigints_add_up_beyond_64_bits_and_back():
    total = bind(Call("sum", ("b",), ("bigint",), pa.int64()))
    high = pa.array([(2**63 - 1) >> 32, (2**63 - 1) >> 32, -(2**63) >> 32])
    low = pa.array([(2**63 - 1) & 0xFFFFFFFF, (2**63 - 1) & 0xFFFFFFFF, 0])
    monoid = total.partials[0].monoid
    merged = monoid.ranges(monoid.load([high, low]), np.array([0]), np.array([3]))
    assert total.finalize((merged,)).to_pylist() == [2**63 - 2]
