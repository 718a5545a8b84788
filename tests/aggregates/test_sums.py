"""Sums are exact at any size."""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from gingham.aggregates import Call, State, bind
from gingham.core.errors import AnswerError


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


def test_a_bigint_that_overflows_is_null_for_try_sum():
    total = bind(Call("try_sum", ("b",), ("bigint",), pa.int64()))
    merged = State((np.array([2**63, 2**63 - 1], dtype=object), np.array([True, True])))
    assert total.finalize((merged,)).to_pylist() == [None, 2**63 - 1]


def test_intervals_that_overflow_stay_so_and_are_null_for_try_sum_only():
    sums = pa.array([None, 5, 7], type=pa.int64()).cast(pa.duration("us"))
    seen = pa.array([True, True, True])
    call = Call("try_sum", ("x",), ("interval day to second",), pa.duration("us"))
    monoid = bind(call).partials[0].monoid
    merged = monoid.ranges(monoid.load([sums, seen]), np.array([0, 1]), np.array([2, 3]))
    again = monoid.load(monoid.store(merged, [sums.type, seen.type]))
    answer = bind(call).finalize((again,))
    assert answer.cast(pa.int64()).to_pylist() == [None, 12]
    with pytest.raises(AnswerError, match="overflows"):
        bind(replace(call, function="sum")).finalize((again,))
