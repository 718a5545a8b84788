"""How partial aggregates merge: many at once, as columns of numpy arrays.

A `State` holds many partial aggregates at once, one per position. A `Monoid` merges two states
position by position; merging whole ranges of positions follows from that, so a monoid that has
`load`, `store`, `empty` and `merge` is complete.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
import pyarrow as pa

from gingham.core.arrays import Array, Bools, Ints
from gingham.core.decimals import to_decimals

# Beyond merging each state once: linear ones may be subtracted and scaled, idempotent ones merged
# twice, general ones neither.
Capability = Literal["linear", "idempotent", "general"]
_IDEMPOTENT = (np.minimum, np.maximum, np.bitwise_and, np.bitwise_or)

# Up to this many merges per position, ranges are merged one by one; beyond, from blocks.
_DIRECT = 8


@dataclass(frozen=True, slots=True)
class State:
    """The merged partial aggregates of many groups or windows, by position.

    Where `arrays` holds codes rather than values, the codes point into `values`.
    """

    arrays: tuple[Array, ...]
    values: pa.Array | None = None

    def __len__(self) -> int:
        return len(self.arrays[0])

    def take(self, index: Array | slice) -> State:
        """Select the partial aggregates at some positions of a state."""
        return State(tuple(array[index] for array in self.arrays), self.values)


class Monoid(ABC):
    """The operations of one kind of partial aggregate: read, merge, write."""

    @property
    def capability(self) -> Capability:
        """Which operations are lossless on stored states: subtract, merge twice, or neither.

        The optimizer trusts this: claim no more than is true.
        """
        return "general"

    @abstractmethod
    def load(self, columns: list[pa.Array]) -> State:
        """Read the columns of a partial, as Spark computed them, to an aggregate state."""

    @abstractmethod
    def empty(self, count: int) -> State:
        """Make the aggregate state of no rows, at each of `count` positions."""

    @abstractmethod
    def merge(self, left: State, right: State) -> State:
        """Merge two aggregate states by position; merging is associative and commutative."""

    @abstractmethod
    def store(self, state: State, types: list[pa.DataType]) -> list[pa.Array]:
        """Write an aggregate state as columns of these types, such that `load` reads it again."""

    def condense(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        """Merge runs of consecutive rows of a partial's columns; `starts` has their first rows."""
        merged = self.runs(self.load(columns), starts)
        return self.store(merged, [column.type for column in columns])

    def ranges(self, state: State, low: Ints, high: Ints) -> State:
        """Merge partial aggregates over ranges low[i] <= position < high[i], none of them empty.

        Blocks of 1, 2, 4, ... positions are merged once and every range is covered by disjoint
        blocks, so that n positions and m ranges cost n + m log n merges.
        """
        merged = state.take(low)
        low, high = low + 1, high.copy()
        blocks = state
        while (low < high).any():
            odd = np.flatnonzero((low & 1 == 1) & (low < high))
            merged = self._merge_at(merged, odd, blocks.take(low[odd]))
            low[odd] += 1
            odd = np.flatnonzero((high & 1 == 1) & (low < high))
            high[odd] -= 1
            merged = self._merge_at(merged, odd, blocks.take(high[odd]))
            low, high = low >> 1, high >> 1
            even = len(blocks) & ~1
            blocks = self.merge(blocks.take(slice(0, even, 2)), blocks.take(slice(1, even, 2)))
        return merged

    def runs(self, state: State, starts: Ints) -> State:
        """Merge runs of consecutive partial aggregates; each run ends where the next one starts."""
        return self.ranges(state, starts, np.append(starts[1:], len(state)).astype(np.int64))

    def _merge_at(self, state: State, index: Ints, other: State) -> State:
        """Merge another aggregate state into some positions, in place."""
        if len(index) == 0:
            return state
        merged = self.merge(state.take(index), other)
        for array, part in zip(state.arrays, merged.arrays, strict=True):
            array[index] = part
        return state


@dataclass(frozen=True, slots=True)
class Elementwise(Monoid):
    """Merging partial aggregates by a numpy ufunc, such as np.add with the identity 0.

    A state has the values and whether any value was seen; a partial is NULL where none was.
    """

    ufunc: np.ufunc
    identity: Any

    @property
    def capability(self) -> Capability:
        """Linear for sums of integers, idempotent for extremes, ANDs and ORs, else general."""
        # Sums of doubles are not linear: subtracting a large sum leaves its rounding errors, which
        # may exceed a small difference, and infinity minus infinity is NaN.
        if self.ufunc is np.add and isinstance(self.identity, int):
            return "linear"
        return "idempotent" if self.ufunc in _IDEMPOTENT else "general"

    def load(self, columns: list[pa.Array]) -> State:
        """Read the values of a partial, the identity in place of NULL."""
        values, seen = to_numpy(columns[0], self.identity)
        return State((values, seen))

    def empty(self, count: int) -> State:
        """Make aggregate states of no rows: the identity."""
        return State((np.full(count, self.identity), np.zeros(count, dtype=bool)))

    def store(self, state: State, types: list[pa.DataType]) -> list[pa.Array]:
        """Write the values of a partial, NULL where no value was seen."""
        values, seen = state.arrays
        return [from_numpy(values, seen, types[0])]

    def merge(self, left: State, right: State) -> State:
        """Merge two aggregate states by the ufunc."""
        with np.errstate(all="ignore"):
            values = self.ufunc(left.arrays[0], right.arrays[0])
        return State((values, left.arrays[1] | right.arrays[1]), left.values)

    def ranges(self, state: State, low: Ints, high: Ints) -> State:
        """Merge partial aggregates over ranges of positions, by `reduceat` if ranges are short."""
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
        merged_seen = (
            np.ones(len(low), dtype=bool)
            if bool(seen.all())
            else np.logical_or.reduceat(np.append(seen, False), bounds)[::2]
        )
        return State((merged, merged_seen), state.values)

    def runs(self, state: State, starts: Ints) -> State:
        """Merge runs of consecutive partial aggregates by the ufunc."""
        values, seen = state.arrays
        with np.errstate(all="ignore"):
            merged = self.ufunc.reduceat(values, starts)
        return State((merged, np.logical_or.reduceat(seen, starts)), state.values)


def to_numpy(column: pa.Array, identity: Any) -> tuple[Array, Bools]:
    """Convert a partial's column to its values, the identity for NULL, and where it is not NULL."""
    column = flat(column)
    seen = np.asarray(column.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
    if pa.types.is_decimal(column.type):
        values = unscaled(column)
    else:
        filled = column.fill_null(identity) if column.null_count else column
        values = filled.to_numpy(zero_copy_only=False)
    return values.copy() if not values.flags.writeable else values, seen


def from_numpy(values: Array, seen: Bools, kind: pa.DataType) -> pa.Array:
    """Convert aggregate values, and where they are not NULL, to a column: undoes `to_numpy`."""
    if pa.types.is_decimal(kind):
        return to_decimals(values, seen, kind)
    return pa.array(values, mask=~seen).cast(kind)


def flat(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Combine the chunks of an Arrow column of partials into one array."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def unscaled(column: pa.Array) -> Array:
    """Convert decimals to Python integers without their scale, exact at any size; NULL is zero."""
    words = np.frombuffer(cast("pa.Buffer", column.buffers()[1]), dtype="<u8")
    words = words.reshape(-1, 2)[column.offset : column.offset + len(column)]
    low, high = words[:, 0], words[:, 1].view("<i8")
    if (high == low.view("<i8") >> 63).all():
        values = low.view("<i8").astype(object)
    else:
        values = high.astype(object) * (1 << 64) + low.astype(object)
    if column.null_count:
        values[column.is_null().to_numpy(zero_copy_only=False)] = 0
    return values
