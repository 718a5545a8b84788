"""Exact decimals: by default Python rounds the results of decimals to 28 digits."""

from __future__ import annotations

from decimal import Context, Decimal

import numpy as np
import pyarrow as pa

from gingham.core.arrays import Array, Bools, Ints

_EXACT = Context(prec=200)


def shifted(value: int | Decimal, exponent: int) -> Decimal:
    """Multiply a decimal by 10 to the power of `exponent` without rounding to Python's 28 digits.

    >>> shifted(12345678901234567890123456789012345678, -2)
    Decimal('123456789012345678901234567890123456.78')
    """
    return Decimal(value).scaleb(exponent, _EXACT)


def as_longs(values: Array) -> Ints | None:
    """Integers of any size as 64-bit ones; None if some do not fit.

    >>> as_longs(np.array([1, 2**63 - 1], dtype=object))
    array([                  1, 9223372036854775807])
    >>> as_longs(np.array([2**63], dtype=object))
    """
    try:
        return values.astype(np.int64)
    except OverflowError:
        return None


def longs_to_decimals(unscaled: Ints, seen: Bools | None, kind: pa.DataType) -> pa.Array:
    """Decimals from integers without their scale; NULL where they are not seen."""
    words = np.empty((len(unscaled), 2), dtype=np.int64)
    words[:, 0], words[:, 1] = unscaled, unscaled >> 63  # the sign fills the upper word
    bits = None if seen is None else pa.py_buffer(np.packbits(seen, bitorder="little"))
    return pa.Array.from_buffers(kind, len(unscaled), [bits, pa.py_buffer(words)])


def to_decimals(unscaled: Array, seen: Bools, kind: pa.DataType) -> pa.Array:
    """Decimals from integers of any size without their scale; NULL where they are not seen.

    >>> to_decimals(np.array([125, 10**20], dtype=object), np.array([True, True]),
    ...             pa.decimal128(38, 2)).to_pylist()
    [Decimal('1.25'), Decimal('1000000000000000000.00')]
    """
    if (longs := as_longs(unscaled)) is not None:
        return longs_to_decimals(longs, seen, kind)
    known = zip(unscaled, seen, strict=True)
    return pa.array([shifted(int(v), -kind.scale) if s else None for v, s in known], type=kind)
