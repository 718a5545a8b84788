"""Bitmaps (Bloom filters) and count-min sketches, in the bytes that Spark writes.

`bitmap_construct_agg(bitmap_bit_position(hash(x)))` is a Bloom filter of 32,768 bits with one hash
function. `count_min_sketch(x, eps, confidence, seed)` has a counter in place of each bit, and a
row of counters for each hash function, so that it estimates how often a value occurs.
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

_BYTES = 4_096  # the size of every bitmap
_HEAD = struct.Struct(">iqii")  # a sketch begins with: version, number of values, depth, width


@dataclass(frozen=True, slots=True)
class _Bitmaps(Elementwise):
    """States of bitmaps: a row of bytes for each position."""

    def load(self, columns: list[pa.Array]) -> State:
        """Read bitmaps as Spark writes them, one row of bytes each."""
        column = flat(columns[0])
        seen = np.asarray(column.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
        identity = bytes([self.identity]) * _BYTES
        joined = b"".join(identity if b is None else b for b in column.to_pylist())
        return State((np.frombuffer(joined, dtype=np.uint8).reshape(-1, _BYTES).copy(), seen))

    def store(self, state: State, types: list[pa.DataType]) -> list[pa.Array]:
        """Write merged bitmaps as Spark's bytes, NULL where there was none."""
        bitmaps, seen = state.arrays
        written = [b.tobytes() if s else None for b, s in zip(bitmaps, seen, strict=True)]
        return [pa.array(written, types[0])]

    def empty(self, count: int) -> State:
        """Make aggregate states without a bitmap: the identity of the merge."""
        bitmaps = np.full((count, _BYTES), self.identity, dtype=np.uint8)
        return State((bitmaps, np.zeros(count, dtype=bool)))


@dataclass(frozen=True, slots=True)
class BitmapOr(Aggregate):
    """bitmap_or_agg: the bits that are set in some bitmap."""

    monoid: ClassVar[_Bitmaps] = _Bitmaps(np.bitwise_or, 0)

    @property
    def partials(self) -> tuple[Partial, ...]:
        """The bitmap over each part of the rows."""
        return (Partial((self.call.sql,), self.monoid),)

    def finalize(self, states: tuple[State, ...]) -> pa.Array:
        """The merged bitmaps as binary answers."""
        # The identity if there are no rows, as in Spark.
        return pa.array([b.tobytes() for b in states[0].arrays[0]], self.call.result)


@dataclass(frozen=True, slots=True)
class BitmapAnd(BitmapOr):
    """bitmap_and_agg: the bits that are set in every bitmap."""

    monoid: ClassVar[_Bitmaps] = _Bitmaps(np.bitwise_and, 255)


@dataclass(frozen=True, slots=True)
class BitmapOfPositions(BitmapOr):
    """bitmap_construct_agg: a bit for every position that occurs.

    With a hash as position it is a Bloom filter.
    """

    @property
    def partials(self) -> tuple[Partial, ...]:
        """The bitmap over each part of the rows; a position that may not fit is refused."""
        if not self.call.arguments[0].lower().startswith("bitmap_bit_position("):
            raise QueryError(
                f"{self.call.sql} cannot be shared",
                "a position beyond the bitmap would stop all queries",
                f"{self.call.function}(bitmap_bit_position(...))",
            )
        return (Partial((self.call.sql,), self.monoid),)


@dataclass(frozen=True, slots=True)
class _Counters(Elementwise):
    """States of count-min sketches: the number of values, then the counters row by row."""

    depth: int
    width: int
    seed: int

    def load(self, columns: list[pa.Array]) -> State:
        """Read the counters of count-min sketches from Spark's bytes."""
        column = flat(columns[0])
        counters = self.empty(len(column)).arrays[0]
        start = _HEAD.size + 8 * self.depth  # the seeds of the hash functions come in between
        for position, written in enumerate(column.to_pylist()):
            if written is not None:
                counters[position, 0] = _HEAD.unpack_from(written)[1]
                counters[position, 1:] = np.frombuffer(written, dtype=">i8", offset=start)
        return State((counters, np.ones(len(column), dtype=bool)))

    def store(self, state: State, types: list[pa.DataType]) -> list[pa.Array]:
        """Write count-min sketches in Spark's bytes: head, hash seeds, counters."""
        hashes = struct.pack(f">{self.depth}q", *_java_integers(self.seed, self.depth))
        written = [
            _HEAD.pack(1, int(row[0]), self.depth, self.width)
            + hashes
            + row[1:].astype(">i8").tobytes()
            for row in state.arrays[0]
        ]
        return [pa.array(written, types[0])]

    def empty(self, count: int) -> State:
        """Make count-min sketches of no values: all counters zero."""
        counters = np.zeros((count, 1 + self.depth * self.width), dtype=np.int64)
        return State((counters, np.zeros(count, dtype=bool)))


@dataclass(frozen=True, slots=True)
class CountMin(Aggregate):
    """count_min_sketch: the same bytes that Spark writes for all rows at once.

    >>> from gingham.aggregates.base import Call
    >>> types = ("bigint", "double", "double", "int")
    >>> sketch = CountMin(Call("count_min_sketch", ("id", "3.0", "0.1", "1"), types, pa.binary()))
    >>> sketch.finalize((sketch.partials[0].monoid.empty(1),))[0].as_py().hex()
    '0000000100000000000000000000000100000001000000005d8d6ab90000000000000000'
    """

    @property
    def partials(self) -> tuple[Partial, ...]:
        """The count-min sketch over each part of the rows."""
        return (Partial((self.call.sql,), self._monoid),)

    def finalize(self, states: tuple[State, ...]) -> pa.Array:
        """The merged count-min sketches in Spark's bytes."""
        return self._monoid.store(states[0], [self.call.result])[0]

    @property
    def _monoid(self) -> _Counters:
        """How to merge count-min sketches of the depth and width that the arguments ask for."""
        error, confidence, seed = (self._literal_number(text) for text in self.call.arguments[1:])
        depth = math.ceil(-math.log1p(-confidence) / math.log(2))
        width = math.ceil(2 / error)
        return _Counters(np.add, 0, depth=depth, width=width, seed=int(seed))

    def _literal_number(self, text: str) -> float:
        """Read a numeric argument of count_min_sketch, which must be a literal."""
        literal = re.fullmatch(
            r"(?:cast\()?([+-]?[\d.]+(?:e[+-]?\d+)?)(?:bd|[lsyfd])?(?: as \w+\))?",
            text,
            re.IGNORECASE,
        )
        if literal is None:
            raise QueryError(
                f"{self.call.sql}: {text} is not a number",
                "error, confidence and seed decide the sketch, so they must be known beforehand",
                "literals, for example count_min_sketch(x, 0.01D, 0.95D, 1)",
            )
        return float(literal[1])


def _java_integers(seed: int, count: int) -> list[int]:
    """The integers below 2^31 - 1 that java.util.Random draws from a count-min sketch's seed.

    Spark takes them as the seeds of the sketch's hash functions.
    """
    bits, bound = (1 << 48) - 1, (1 << 31) - 1
    state, drawn = (seed ^ 0x5DEECE66D) & bits, list[int]()
    while len(drawn) < count:
        state = (state * 0x5DEECE66D + 0xB) & bits
        if (state >> 17) < bound:
            drawn.append(state >> 17)
    return drawn
