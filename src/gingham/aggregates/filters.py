"""Bloom filters and counting ones, as Spark writes them.

`bitmap_construct_agg(bitmap_bit_position(hash(x)))` is a Bloom filter of 32,768 bits with one hash
function. `count_min_sketch(x, eps, confidence, seed)` has a counter in place of each bit, and a
line of counters for each hash function, so that it tells how often a value was there.
"""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from gingham.aggregates.base import Aggregate, Partial
from gingham.aggregates.monoid import Elementwise, State, flat
from gingham.core.errors import QueryError

_BYTES = 4_096  # of every bitmap
_HEAD = struct.Struct(">iqii")  # of a sketch: version, how many values, depth, width


@dataclass(frozen=True, slots=True)
class _Bitmaps(Elementwise):
    """Bits, eight to a number."""

    def load(self, columns: list[pa.Array]) -> State:
        column = flat(columns[0])
        seen = np.asarray(column.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
        nothing = bytes([self.identity]) * _BYTES
        found = b"".join(nothing if one is None else one for one in column.to_pylist())
        return State((np.frombuffer(found, dtype=np.uint8).reshape(-1, _BYTES).copy(), seen))

    def store(self, state: State, types: list[pa.DataType]) -> list[pa.Array]:
        bits, seen = state.arrays
        found = [one.tobytes() if s else None for one, s in zip(bits, seen, strict=True)]
        return [pa.array(found, types[0])]

    def empty(self, count: int) -> State:
        bits = np.full((count, _BYTES), self.identity, dtype=np.uint8)
        return State((bits, np.zeros(count, dtype=bool)))


@dataclass(frozen=True, slots=True)
class BitmapOr(Aggregate):
    """The bits that are set in some bitmap."""

    idempotent: ClassVar[bool] = True
    monoid: ClassVar[_Bitmaps] = _Bitmaps(np.bitwise_or, 0)

    @property
    def partials(self) -> tuple[Partial, ...]:
        return (Partial((self.call.sql,), self.monoid),)

    def finalize(self, states: tuple[State, ...]) -> pa.Array:
        # Of no rows at all: the identity, as in Spark.
        return pa.array([one.tobytes() for one in states[0].arrays[0]], self.call.result)


@dataclass(frozen=True, slots=True)
class BitmapAnd(BitmapOr):
    """The bits that are set in every bitmap."""

    monoid: ClassVar[_Bitmaps] = _Bitmaps(np.bitwise_and, 255)


@dataclass(frozen=True, slots=True)
class BitmapOfPositions(BitmapOr):
    """A bit for every position that occurs: with a hash as position, a Bloom filter."""

    @property
    def partials(self) -> tuple[Partial, ...]:
        if not self.call.arguments[0].lower().startswith("bitmap_bit_position("):
            raise QueryError(
                f"{self.call.sql} cannot be shared",
                "a position beyond the bitmap would stop all queries",
                f"{self.call.function}(bitmap_bit_position(...))",
            )
        return (Partial((self.call.sql,), self.monoid),)


@dataclass(frozen=True, slots=True)
class _Counters(Elementwise):
    """How many values there were, then the counters of a sketch, line after line."""

    depth: int
    width: int
    seed: int

    def load(self, columns: list[pa.Array]) -> State:
        column = flat(columns[0])
        counters = self.empty(len(column)).arrays[0]
        for place, found in enumerate(column.to_pylist()):
            if found is not None:
                counters[place, 0] = _HEAD.unpack_from(found)[1]
                start = _HEAD.size + 8 * self.depth
                counters[place, 1:] = np.frombuffer(found, dtype=">i8", offset=start)
        return State((counters, np.ones(len(column), dtype=bool)))

    def store(self, state: State, types: list[pa.DataType]) -> list[pa.Array]:
        hashes = struct.pack(f">{self.depth}q", *_java_integers(self.seed, self.depth))
        found = [
            _HEAD.pack(1, int(one[0]), self.depth, self.width)
            + hashes
            + one[1:].astype(">i8").tobytes()
            for one in state.arrays[0]
        ]
        return [pa.array(found, types[0])]

    def empty(self, count: int) -> State:
        counters = np.zeros((count, 1 + self.depth * self.width), dtype=np.int64)
        return State((counters, np.zeros(count, dtype=bool)))


@dataclass(frozen=True, slots=True)
class CountMin(Aggregate):
    """A count-min sketch, the same bytes that Spark writes for all rows at once.

    >>> from gingham.aggregates.base import Call
    >>> types = ("bigint", "double", "double", "int")
    >>> sketch = CountMin(Call("count_min_sketch", ("id", "3.0", "0.1", "1"), types, pa.binary()))
    >>> sketch.finalize((sketch.partials[0].monoid.empty(1),))[0].as_py().hex()
    '0000000100000000000000000000000100000001000000005d8d6ab90000000000000000'
    """

    linear: ClassVar[bool] = True

    @property
    def partials(self) -> tuple[Partial, ...]:
        return (Partial((self.call.sql,), self._monoid),)

    def finalize(self, states: tuple[State, ...]) -> pa.Array:
        return self._monoid.store(states[0], [self.call.result])[0]

    @property
    def _monoid(self) -> _Counters:
        error, confidence, seed = (self._number(text) for text in self.call.arguments[1:])
        depth = math.ceil(-math.log1p(-confidence) / math.log(2))
        return _Counters(np.add, 0, depth, math.ceil(2 / error), int(seed))

    def _number(self, text: str) -> float:
        found = re.fullmatch(r"(?:CAST\()?(-?[\d.]+(?:[eE]-?\d+)?)D?(?: AS \w+\))?", text)
        if found is None:
            raise QueryError(
                f"{self.call.sql}: {text} is not a number",
                "error, confidence and seed decide the sketch, so they must be known beforehand",
                "literals, for example count_min_sketch(x, 0.01D, 0.95D, 1)",
            )
        return float(found[1])


def _java_integers(seed: int, count: int) -> list[int]:
    """What Java's Random makes of a seed, below 2^31 - 1: one for each line of counters."""
    bits, bound = (1 << 48) - 1, (1 << 31) - 1
    state, found = (seed ^ 0x5DEECE66D) & bits, list[int]()
    while len(found) < count:
        state = (state * 0x5DEECE66D + 0xB) & bits
        if (state >> 17) < bound:
            found.append(state >> 17)
    return found
