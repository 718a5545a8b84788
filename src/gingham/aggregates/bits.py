"""The aggregates bit_and, bit_or and bit_xor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from gingham.aggregates.base import Aggregate, Partial, RowColumn
from gingham.aggregates.monoid import Elementwise, State


@dataclass(frozen=True, slots=True)
class BitOr(Aggregate):
    """bit_or: the bits that are set in some value."""

    monoid: ClassVar[Elementwise] = Elementwise(np.bitwise_or, 0)

    @property
    def partials(self) -> tuple[Partial, ...]:
        """The aggregate itself: its values over parts of the rows are merged bitwise."""
        of_one_row = (RowColumn(self.call.arguments[0]),)
        return (Partial((self.call.sql,), self.monoid, of_one_row),)

    def finalize(self, states: tuple[State, ...]) -> pa.Array:
        """The merged bits, NULL where an aggregate saw no value."""
        values, seen = states[0].arrays
        return pa.array(values, mask=~seen).cast(self.call.result)


@dataclass(frozen=True, slots=True)
class BitAnd(BitOr):
    """bit_and: the bits that are set in every value."""

    monoid: ClassVar[Elementwise] = Elementwise(np.bitwise_and, -1)


@dataclass(frozen=True, slots=True)
class BitXor(BitOr):
    """bit_xor: the bits that are set in an odd number of values."""

    monoid: ClassVar[Elementwise] = Elementwise(np.bitwise_xor, 0)
