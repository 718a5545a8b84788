"""Codes: the distinct values of a column, and the number of each row's value among them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from gingham.core.arrays import Array, Ints


@dataclass(frozen=True, slots=True)
class Codes:
    """The distinct values of a column, NULL among them, and each row's number of its value."""

    values: pa.Array
    numbers: Array

    @property
    def count(self) -> int:
        """How many distinct values there are."""
        return len(self.values)

    def only(self, rows: Ints) -> Codes:
        """The codes of some rows; values that they do not have keep their numbers."""
        return Codes(self.values, self.numbers[rows])

    def at(self, rows: Ints) -> pa.Array:
        """The values in some rows."""
        return self.values.take(pa.array(self.numbers[rows]))


def coded(column: pa.Array) -> Codes:
    """The codes of a column; numbers that Spark groups together have one code."""
    if pa.types.is_floating(column.type):
        # To Spark's groups, -0.0 is 0.0 and all NaN are one; a sum with 0 is a new array, too.
        known = column.is_valid().to_numpy(zero_copy_only=False)
        numbers = column.to_numpy(zero_copy_only=False) + column.type.to_pandas_dtype()(0.0)
        numbers[np.isnan(numbers)] = np.nan
        column = pa.array(numbers, column.type, mask=~known)
    encoded = column.dictionary_encode(null_encoding="encode")
    return Codes(encoded.dictionary, np.asarray(encoded.indices))
