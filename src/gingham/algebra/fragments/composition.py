"""A set basis for idempotent aggregates by composing rows (Huebsch et al., Section 5).

A basis of F is a set of rows such that every row of F is the OR of the basis rows inside it. The
search starts with a row for each query and replaces rows by ORs of two rows as long as the result
is a basis. To collapse two rows replaces both by their OR; to blend them replaces the first only.
Sets of columns and sets of fragments are the bits of Python integers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gingham.core.arrays import Bools


def add_composition(matrix: Bools, *, one_at_a_time: bool) -> Bools:
    """Build a set basis of a fragment matrix query by query, composing new rows with those before.

    A new row can make at most one row superfluous, so a collapse ends the search for it. Either one
    pair is composed at a time, with a search for collapses in between, or every row once per loop.
    """
    search = CompositionSearch(matrix)
    for column in range(matrix.shape[1]):
        search.add(column)
        fresh, count = {column}, len(search.rows)
        while fresh and len(search.rows) == count:
            if one_at_a_time:
                changed = search.collapse_or_blend_one(fresh)
                fresh = fresh | changed if changed else changed
            else:
                fresh = search.compose_each_once(fresh)
            fresh &= search.rows.keys()
    return search.basis()


class CompositionSearch:
    """A set basis under construction; a basis row is numbered by the query that it began with."""

    def __init__(self, matrix: Bools) -> None:
        self._width = matrix.shape[1]
        self._fragments = [_packed(column) for column in matrix.T]
        self.rows: dict[int, int] = {}  # as sets of columns
        self._inside: dict[int, int] = {}  # for each row the fragments that contain it
        self._once = [0] * self._width  # for each column the fragments where only one row covers it
        self._critical: dict[int, int] = {}  # for each row the fragments that need it

    def add(self, column: int) -> None:
        """Add a row of one query to the set basis."""
        self.rows[column] = 1 << column
        self._inside[column] = self._fragments[column]
        self._refresh(1 << column)

    def basis(self) -> Bools:
        """The rows of the set basis as a boolean matrix."""
        entries = [
            [row >> column & 1 for column in range(self._width)] for row in self.rows.values()
        ]
        return np.array(entries, dtype=bool).reshape(len(entries), self._width)

    def collapse_or_blend_one(self, fresh: set[int]) -> set[int]:
        """Collapse the first pair of basis rows that can be, else blend one; return the change."""
        first_blend: tuple[int, int] | None = None
        for i, j in self._pairs(fresh):
            if self.collapses(i, j):
                self.collapse(i, j)
                return {i}
            if first_blend is None and self.blends(i, j):
                first_blend = i, j
        if first_blend is None:
            return set()
        self.blend(*first_blend)
        return {first_blend[0]}

    def compose_each_once(self, fresh: set[int]) -> set[int]:
        """Collapse or blend pairs, no changed row twice, until a collapse; return what changed."""
        changed: set[int] = set()
        for i, j in self._pairs(fresh):
            if i in changed or j in changed:
                continue
            if self.collapses(i, j):
                self.collapse(i, j)
                return {*changed, i}
            if self.blends(i, j):
                self.blend(i, j)
                changed.add(i)
        return changed

    def _pairs(self, fresh: set[int]) -> Iterator[tuple[int, int]]:
        """Pairs of different basis rows, one of them fresh; rows that vanish are skipped."""
        for i in list(self.rows):
            for j in list(self.rows) if i in fresh else sorted(fresh):
                if i not in self.rows:
                    break
                if i != j and j in self.rows:
                    yield i, j

    def collapses(self, i: int, j: int) -> bool:
        """Whether the OR of two basis rows may replace both: fragments that need one hold both."""
        inside, critical = self._inside, self._critical
        return not (critical[i] & ~inside[j] or critical[j] & ~inside[i])

    def blends(self, i: int, j: int) -> bool:
        """Whether the OR of two basis rows may replace the first, and differs from it."""
        return not self._critical[i] & ~self._inside[j] and bool(self.rows[j] & ~self.rows[i])

    def collapse(self, i: int, j: int) -> None:
        """Replace two rows of the set basis by their OR."""
        self.rows[i] |= self.rows.pop(j)
        self._inside[i] &= self._inside.pop(j)
        del self._critical[j]
        self._refresh(self.rows[i])

    def blend(self, i: int, j: int) -> None:
        """Replace the first of two rows of the set basis by their OR."""
        self.rows[i] |= self.rows[j]
        self._inside[i] &= self._inside[j]
        self._refresh(self.rows[i])

    def _refresh(self, columns: int) -> None:
        """Update, for these columns and the basis rows in them, which fragments need which rows."""
        touched = [row for row, bits in self.rows.items() if bits & columns]
        for column in _positions_of_ones(columns):
            once = twice = 0
            for row in touched:
                if self.rows[row] >> column & 1:
                    twice |= once & self._inside[row]
                    once |= self._inside[row]
            self._once[column] = once & ~twice
        for row in touched:
            needed = 0
            for column in _positions_of_ones(self.rows[row]):
                needed |= self._once[column]
            self._critical[row] = needed & self._inside[row]


def _packed(flags: Bools) -> int:
    """Pack a row of a fragment matrix into the bits of an integer."""
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def _positions_of_ones(bits: int) -> Iterator[int]:
    """Yield the positions of ones in a packed row of a fragment matrix."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
