"""A set basis for idempotent aggregates by composing rows (Huebsch et al., Section 5).

A basis of F is a set of rows such that every row of F is the OR of the basis rows inside it. The
search starts with a row for each query and replaces rows by ORs of two rows as long as the result
is a basis. To collapse two rows replaces both by their OR; to blend them replaces the first only.
Sets of columns and sets of fragments are the bits of Python integers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from gingham.core.arrays import Bools


class Preference(StrEnum):
    """Which operation on two basis rows is tried first: collapse both into one, or blend one."""

    ANY = "a"  # collapse a pair if possible, else blend it
    REMEMBER = "r"  # collapse while searching, blend remembered pairs at the end of the loop
    SEPARATE = "s"  # search for pairs to collapse, then for pairs to blend


class Timing(StrEnum):
    """When basis rows are composed, and when the row that it makes is considered."""

    NOW = "w"  # at once; the row is considered in the same loop
    DELAYED = "d"  # at once; the row is considered in the next loop
    POSTPONED = "p"  # at the end of the loop


@dataclass(frozen=True, slots=True)
class Strategy:
    """An order of composing basis rows: one operation per loop without timing, else many."""

    preference: Preference
    timing: Timing | None

    @property
    def name(self) -> str:
        """The name that Huebsch et al. give to this strategy of composing basis rows."""
        many = self.timing is not None
        return ("m" if many else "o") + self.preference + (self.timing or "")


def add_composition(matrix: Bools, strategy: Strategy) -> Bools:
    """Build a set basis of a fragment matrix query by query, composing new rows with those before.

    A new row can make at most one row superfluous, so a collapse ends the search for it.
    """
    search = CompositionSearch(matrix)
    for column in range(matrix.shape[1]):
        search.add(column)
        search.run(strategy, fresh={column}, once=True)
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

    def run(self, strategy: Strategy, fresh: set[int], *, once: bool) -> None:
        """Compose basis rows with fresh ones until none can be, or `once` a collapse happened.

        After a loop of many operations only the rows that it made are fresh; after a loop of a
        single operation they are fresh in addition.
        """
        while fresh:
            count = len(self.rows)
            if strategy.timing is Timing.POSTPONED:
                changed = self._postponed(fresh, once=once)
            else:
                changed = self._loop(strategy, fresh, once=once)
            if not changed or (once and len(self.rows) < count):
                return
            if not once:
                fresh = set(self.rows)
            elif strategy.timing is None:
                fresh |= changed
            else:
                fresh = changed
            fresh &= self.rows.keys()

    def _loop(self, strategy: Strategy, fresh: set[int], *, once: bool) -> set[int]:
        """Collapse or blend pairs of basis rows as soon as found; return the rows that changed."""
        single, delayed = strategy.timing is None, strategy.timing is Timing.DELAYED
        considered = fresh if delayed else set(fresh)  # rows made in this loop join if it is NOW
        changed: set[int] = set()
        remembered: list[tuple[int, int]] = []
        for i, j in self._pairs(considered):
            if delayed and (i in changed or j in changed):
                continue
            if self._collapses(i, j):
                self._collapse(i, j)
            elif not self._blends(i, j):
                continue
            elif strategy.preference is Preference.ANY:
                self._blend(i, j)
            else:
                remembered.append((i, j))
                continue
            changed.add(i)
            if not delayed:
                considered.add(i)
            if single or (once and j not in self.rows):
                return changed
        if strategy.preference is Preference.SEPARATE:
            remembered = list(self._pairs(considered))
        for i, j in remembered:
            if (delayed and (i in changed or j in changed)) or not {i, j} <= self.rows.keys():
                continue
            if self._blends(i, j):
                self._blend(i, j)
                changed.add(i)
                if single:
                    break
        return changed

    def _postponed(self, fresh: set[int], *, once: bool) -> set[int]:
        """Find all pairs of basis rows to compose, then compose those still possible."""
        possible = [
            (collapse, i, j)
            for i, j in self._pairs(fresh)
            if (collapse := self._collapses(i, j)) or self._blends(i, j)
        ]
        changed: set[int] = set()
        for collapse, i, j in sorted(possible, key=lambda operation: not operation[0]):
            if not {i, j} <= self.rows.keys():
                continue
            if collapse and self._collapses(i, j):
                self._collapse(i, j)
                changed.add(i)
                if once:
                    break
            elif not collapse and self._blends(i, j):
                self._blend(i, j)
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

    def _collapses(self, i: int, j: int) -> bool:
        """Whether the OR of two basis rows may replace both: fragments that need one hold both."""
        inside, critical = self._inside, self._critical
        return not (critical[i] & ~inside[j] or critical[j] & ~inside[i])

    def _blends(self, i: int, j: int) -> bool:
        """Whether the OR of two basis rows may replace the first, and differs from it."""
        return not self._critical[i] & ~self._inside[j] and bool(self.rows[j] & ~self.rows[i])

    def _collapse(self, i: int, j: int) -> None:
        """Replace two rows of the set basis by their OR."""
        self.rows[i] |= self.rows.pop(j)
        self._inside[i] &= self._inside.pop(j)
        del self._critical[j]
        self._refresh(self.rows[i])

    def _blend(self, i: int, j: int) -> None:
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
