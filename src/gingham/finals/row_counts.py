"""How many rows of each key were numbered: which windows of rows are due, and what they need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from gingham.core.arrays import Bools, Ints
from gingham.core.time import FOREVER, NEVER
from gingham.finals.frames import Frames, due_ends
from gingham.finals.shards import numbered
from gingham.logical.window import Window

_COUNT = "count"


@dataclass(frozen=True, slots=True)
class KeyCounts:
    """A number for each key; without key columns for the only one there is.

    >>> counts = KeyCounts((pa.array(["a", "b"]),), np.array([3, 1]))
    >>> counts.of([pa.array(["b", "c", "a"])], 3).tolist()
    [1, 0, 3]
    >>> more = counts.plus(KeyCounts((pa.array(["b", "c"]),), np.array([1, 1])))
    >>> more.keys[0].to_pylist(), more.counts.tolist()
    (['a', 'b', 'c'], [3, 2, 1])
    """

    keys: tuple[pa.Array, ...] = ()
    counts: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.counts)

    def of(self, keys: Sequence[pa.Array], size: int, default: int = 0) -> Ints:
        """The numbers of `size` keys, given by their columns; `default` for unknown ones."""
        if not len(self):
            return np.full(size, default, dtype=np.int64)
        groups = _groups(self.keys, keys, len(self) + size)
        found = np.full(int(groups.max()) + 1, default, dtype=np.int64)
        found[groups[: len(self)]] = self.counts
        return found[groups[len(self) :]]

    def plus(self, other: KeyCounts) -> KeyCounts:
        """The sum of two numbers for each key."""
        return self._merged(other, np.add)

    def largest(self, other: KeyCounts) -> KeyCounts:
        """The larger one of two numbers for each key."""
        return self._merged(other, np.maximum)

    def _merged(self, other: KeyCounts, merge: np.ufunc) -> KeyCounts:
        """The numbers of all keys of both; `merge` puts two of the same key together."""
        if not len(self) or not len(other):
            return self if len(self) else other
        groups = _groups(self.keys, other.keys, len(self) + len(other))
        counts = np.concatenate((self.counts, other.counts))
        _, first, of = np.unique(groups, return_index=True, return_inverse=True)
        merged = counts[first]
        again = np.ones(len(counts), dtype=bool)
        again[first] = False
        merge.at(merged, of[again], counts[again])
        columns = (
            pa.concat_arrays([a, b.cast(a.type)])
            for a, b in zip(self.keys, other.keys, strict=True)
        )
        return KeyCounts(tuple(column.take(pa.array(first)) for column in columns), merged)

    def where(self, kept: Bools) -> KeyCounts:
        """Some of the keys, by a flag for each."""
        return KeyCounts(tuple(key.filter(pa.array(kept)) for key in self.keys), self.counts[kept])

    def table(self) -> pa.Table:
        """The keys, and the numbers in a last column, as a table."""
        names = [str(i) for i in range(len(self.keys))]
        return pa.Table.from_arrays([*self.keys, pa.array(self.counts)], [*names, _COUNT])

    @classmethod
    def from_table(cls, table: pa.Table) -> KeyCounts:
        """The numbers in the last column of a table, for the keys in the others."""
        *keys, counts = (
            pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
            for column in table.columns
        )
        return cls(tuple(keys), counts.to_numpy(zero_copy_only=False).astype(np.int64))


def _groups(one: Sequence[pa.Array], other: Sequence[pa.Array], size: int) -> Ints:
    """A number for each key of two lists of keys, `size` in all: equal keys have the same."""
    columns = [pa.chunked_array([a, b.cast(a.type)]) for a, b in zip(one, other, strict=True)]
    groups, _ = numbered(columns, np.arange(size))
    return groups


@dataclass(frozen=True, slots=True)
class RowsDue:
    """Which windows of rows are due after a batch, key by key: see `Due`.

    `before` and `after` say how many rows were numbered, for keys that have new ones; `born` from
    which position on the windows of a key are answered, for keys where that is not the first.
    """

    before: KeyCounts
    after: KeyCounts
    born: KeyCounts
    early: bool = False

    def of(
        self,
        windows: Frames,
        touched: Frames,
        window: Window,
        keys: Sequence[pa.Array],
        group_count: int,
    ) -> Bools:
        """A flag for each window: whether it is due; `touched` are those with a fresh shard.

        `keys` are those of all groups, of which there are `group_count`.
        """
        groups, ends = windows.groups, windows.starts + window.range
        closed = self.before.of(keys, group_count)[groups]
        closes = self.after.of(keys, group_count)[groups]
        born = self.born.of(keys, group_count, NEVER)[groups]
        changed = (ends > closed) & windows.among(touched) if self.early else None
        due = due_ends(ends, closed, closes, changed, early=self.early)
        return due & (windows.starts >= born)

    def reach(self, window: Window) -> tuple[int, int]:
        """The positions [low, high) within which shards are needed to answer the due windows."""
        low = int(self.before.counts.min(initial=FOREVER)) - window.range
        return low, FOREVER if self.early else int(self.after.counts.max(initial=NEVER))


@dataclass(frozen=True, slots=True)
class RowFloors:
    """From which position on shards are needed, for each key: see `finals.floors`."""

    per: tuple[str, ...]  # the key columns, as SQL
    numbered: KeyCounts
    windows: tuple[Window, ...]  # that are answered from the shards

    def of(self, keys: Sequence[pa.Array], size: int) -> Ints:
        """The first position that is needed of each of `size` keys, given by their columns."""
        numbered = self.numbered.of(keys, size)
        return np.min([first_open_start(window, numbered) for window in self.windows], axis=0)


def first_open_start(window: Window, numbered: Ints) -> Ints:
    """The start of the first window that ends after so many rows."""
    beyond = numbered - window.range - window.start
    return window.start + (beyond // window.slide + 1) * window.slide
