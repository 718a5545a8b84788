"""States of partial aggregates, as columns, and how they merge.

A `State` holds many partial aggregates at once, one per position. A `Monoid` merges two states
position by position; merging whole ranges of positions follows from that, so an aggregate that
can only merge needs nothing more.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
import pyarrow as pa

from gingham.core.arrays import Array, Bools, Ints
from gingham.core.decimals import shifted

# What may be done with states beyond merging each once: subtract and scale, or merge again.
Capability = Literal["linear", "idempotent", "general"]
_IDEMPOTENT = (np.minimum, np.maximum, np.bitwise_and, np.bitwise_or)

# Up to this many merges per position, ranges are merged one by one; beyond, from a tree of blocks.
_DIRECT = 8


@dataclass(frozen=True, slots=True)
class State:
    """Partial aggregates by position; `values` is what codes in `arrays` point into, if any do."""

    arrays: tuple[Array, ...]
    values: pa.Array | None = None

    def __len__(self) -> int:
        return len(self.arrays[0])

    def take(self, index: Array | slice) -> State:
        return State(tuple(array[index] for array in self.arrays), self.values)


class Monoid(ABC):
    """How partial aggregates of one kind are read from Spark and merged."""

    @property
    def capability(self) -> Capability:
        """What these states, as they are kept, stand without any loss."""
        return "general"

    @abstractmethod
    def load(self, columns: list[pa.Array]) -> State:
        """Read the partials that Spark computed."""

    @abstractmethod
    def empty(self, count: int) -> State:
        """Partials of no rows at all."""

    @abstractmethod
    def merge(self, left: State, right: State) -> State:
        """Merge position by position; associative and commutative."""

    @abstractmethod
    def store(self, state: State, types: list[pa.DataType]) -> list[pa.Array]:
        """Columns of these types that `load` reads as the same state."""

    def condense(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        """Merge consecutive runs of what Spark computed, each up to the start of the next."""
        merged = self.runs(self.load(columns), starts)
        return self.store(merged, [column.type for column in columns])

    def ranges(self, state: State, low: Ints, high: Ints) -> State:
        """Merge the positions low[i] <= p < high[i], for every i; no range is empty.

        Blocks of 1, 2, 4, ... positions are merged once and every range is covered by disjoint
        blocks, so that n positions and m ranges cost n + m log n merges.
        """
        answer = state.take(low)
        low, high = low + 1, high.copy()
        blocks = state
        while (low < high).any():
            odd = np.flatnonzero((low & 1 == 1) & (low < high))
            answer = self._merge_at(answer, odd, blocks.take(low[odd]))
            low[odd] += 1
            odd = np.flatnonzero((high & 1 == 1) & (low < high))
            high[odd] -= 1
            answer = self._merge_at(answer, odd, blocks.take(high[odd]))
            low, high = low >> 1, high >> 1
            even = len(blocks) & ~1
            blocks = self.merge(blocks.take(slice(0, even, 2)), blocks.take(slice(1, even, 2)))
        return answer

    def runs(self, state: State, starts: Ints) -> State:
        """Merge consecutive runs of positions, each up to the start of the next."""
        return self.ranges(state, starts, np.append(starts[1:], len(state)).astype(np.int64))

    def _merge_at(self, state: State, index: Ints, other: State) -> State:
        if len(index) == 0:
            return state
        merged = self.merge(state.take(index), other)
        for array, part in zip(state.arrays, merged.arrays, strict=True):
            array[index] = part
        return state


@dataclass(frozen=True, slots=True)
class Elementwise(Monoid):
    """Merging by a numpy ufunc, NULL aside: a partial is NULL where no value was seen."""

    ufunc: np.ufunc
    identity: Any

    @property
    def capability(self) -> Capability:
        # A small sum of doubles would drown in the rounding of the large ones it is taken out of,
        # and what is taken out of infinity is nothing.
        if self.ufunc is np.add and isinstance(self.identity, int):
            return "linear"
        return "idempotent" if self.ufunc in _IDEMPOTENT else "general"

    def load(self, columns: list[pa.Array]) -> State:
        values, seen = to_numpy(columns[0], self.identity)
        return State((values, seen))

    def empty(self, count: int) -> State:
        return State((np.full(count, self.identity), np.zeros(count, dtype=bool)))

    def store(self, state: State, types: list[pa.DataType]) -> list[pa.Array]:
        values, seen = state.arrays
        return [stored(values, seen, types[0])]

    def merge(self, left: State, right: State) -> State:
        with np.errstate(all="ignore"):
            values = self.ufunc(left.arrays[0], right.arrays[0])
        return State((values, left.arrays[1] | right.arrays[1]), left.values)

    def ranges(self, state: State, low: Ints, high: Ints) -> State:
        if int((high - low).sum()) > _DIRECT * (len(state) + len(low)):
            # The zero-argument super() does not work in a class that slots=True rebuilds.
            return Monoid.ranges(self, state, low, high)
        values, seen = state.arrays
        bounds = np.empty(2 * len(low), dtype=np.int64)
        bounds[0::2], bounds[1::2] = low, high
        # One position more, so that a range may end at the end.
        end = np.full((1, *values.shape[1:]), self.identity, dtype=values.dtype)
        values = np.concatenate([values, end])
        with np.errstate(all="ignore"):
            merged = self.ufunc.reduceat(values, bounds)[::2]
        all_seen = bool(seen.all())
        kept = (
            np.ones(len(low), dtype=bool)
            if all_seen
            else np.logical_or.reduceat(np.append(seen, False), bounds)[::2]
        )
        return State((merged, kept), state.values)

    def runs(self, state: State, starts: Ints) -> State:
        values, seen = state.arrays
        with np.errstate(all="ignore"):
            merged = self.ufunc.reduceat(values, starts)
        return State((merged, np.logical_or.reduceat(seen, starts)), state.values)


def to_numpy(column: pa.Array, identity: Any) -> tuple[Array, Bools]:
    """Values with the identity in place of NULL, and where there was a value."""
    column = flat(column)
    seen = np.asarray(column.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
    if pa.types.is_decimal(column.type):
        values = unscaled(column)
    else:
        filled = column.fill_null(identity) if column.null_count else column
        values = filled.to_numpy(zero_copy_only=False)
    return values.copy() if not values.flags.writeable else values, seen


def stored(values: Array, seen: Bools, kind: pa.DataType) -> pa.Array:
    """The inverse of `to_numpy`."""
    if pa.types.is_decimal(kind):
        scaled = [shifted(int(v), -kind.scale) for v in values]
        return pa.array(scaled, type=kind, mask=~seen)
    return pa.array(values, mask=~seen).cast(kind)


def flat(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """One chunk."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def unscaled(column: pa.Array) -> Array:
    """Decimals as Python integers without their scale, NULL as zero: exact at any size."""
    words = np.frombuffer(cast("pa.Buffer", column.buffers()[1]), dtype="<u8")
    words = words.reshape(-1, 2)[column.offset : column.offset + len(column)]
    high = words[:, 1].view("<i8").astype(object)
    values = high * (1 << 64) + words[:, 0].astype(object)
    if column.null_count:
        values[column.is_null().to_numpy(zero_copy_only=False)] = 0
    return values
