"""Idempotent aggregates by composing a basis (Huebsch et al., Section 5).

A basis of F is a set of rows such that every row of F is the OR of the basis rows inside it. The
search starts from a row for each query and ORs rows together as long as the basis stays one.
Sets of columns and sets of fragments are the bits of Python integers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from gingham.core.arrays import Bools


class Preference(StrEnum):
    """Which of the two operations comes first."""

    ANY = "a"  # collapse a pair if possible, else blend it
    REMEMBER = "r"  # collapse while searching, blend what was found at the end of the loop
    SEPARATE = "s"  # search for pairs to collapse, then for pairs to blend


class Timing(StrEnum):
    """When an operation takes place, and who sees the row that it makes."""

    NOW = "w"  # at once; the row is considered in the same loop
    DELAYED = "d"  # at once; the row is considered in the next loop
    POSTPONED = "p"  # at the end of the loop


@dataclass(frozen=True, slots=True)
class Strategy:
    """One operation per loop (no timing then), or as many as are found."""

    preference: Preference
    timing: Timing | None

    @property
    def name(self) -> str:
        many = self.timing is not None
        return ("m" if many else "o") + self.preference + (self.timing or "")


def add_composition(matrix: Bools, strategy: Strategy) -> Bools:
    """Add one query after the other, and compose its row with those that are there.

    At most one row can become superfluous by a new one, so that a collapse ends the search.
    """
    search = Search(matrix)
    for column in range(matrix.shape[1]):
        search.add(column)
        search.run(strategy, fresh={column}, once=True)
    return search.basis()


class Search:
    """A basis under construction; its rows are named by the query that they began with."""

    def __init__(self, matrix: Bools) -> None:
        self._width = matrix.shape[1]
        self._fragments = [_bits(column) for column in matrix.T]
        self.rows: dict[int, int] = {}  # as sets of columns
        self._inside: dict[int, int] = {}  # the fragments that contain a row
        self._once = [0] * self._width  # fragments in which a single row covers the column
        self._critical: dict[int, int] = {}  # fragments that would miss the row

    def add(self, column: int) -> None:
        """A row for a new query."""
        self.rows[column] = 1 << column
        self._inside[column] = self._fragments[column]
        self._refresh(1 << column)

    def basis(self) -> Bools:
        places = np.arange(self._width)
        found = [[row >> int(place) & 1 for place in places] for row in self.rows.values()]
        return np.array(found, dtype=bool).reshape(len(found), self._width)

    def run(self, strategy: Strategy, fresh: set[int], *, once: bool) -> None:
        """Loop over pairs with a fresh row until nothing happens, or `once` a collapse did.

        After a loop of many operations the rows that it made are fresh; after a single one, they
        and those that were.
        """
        while fresh:
            count = len(self.rows)
            if strategy.timing is Timing.POSTPONED:
                formed = self._postponed(fresh, once=once)
            else:
                formed = self._loop(strategy, fresh, once=once)
            if not formed or (once and len(self.rows) < count):
                return
            if not once:
                fresh = set(self.rows)
            elif strategy.timing is None:
                fresh |= formed
            else:
                fresh = formed
            fresh &= self.rows.keys()

    def _loop(self, strategy: Strategy, fresh: set[int], *, once: bool) -> set[int]:
        """Operations at once; the rows that they made."""
        single, delayed = strategy.timing is None, strategy.timing is Timing.DELAYED
        live = fresh if delayed else set(fresh)  # rows made in this loop join if it is NOW
        formed: set[int] = set()
        remembered: list[tuple[int, int]] = []
        for i, j in self._pairs(live):
            if delayed and (i in formed or j in formed):
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
            formed.add(i)
            if not delayed:
                live.add(i)
            if single or (once and j not in self.rows):
                return formed
        if strategy.preference is Preference.SEPARATE:
            remembered = list(self._pairs(live))
        for i, j in remembered:
            if (delayed and (i in formed or j in formed)) or not {i, j} <= self.rows.keys():
                continue
            if self._blends(i, j):
                self._blend(i, j)
                formed.add(i)
                if single:
                    break
        return formed

    def _postponed(self, fresh: set[int], *, once: bool) -> set[int]:
        """All that is possible now, collapses first, as far as it still is when its turn comes."""
        found = [
            (collapse, i, j)
            for i, j in self._pairs(fresh)
            if (collapse := self._collapses(i, j)) or self._blends(i, j)
        ]
        formed: set[int] = set()
        for collapse, i, j in sorted(found, key=lambda operation: not operation[0]):
            if not {i, j} <= self.rows.keys():
                continue
            if collapse and self._collapses(i, j):
                self._collapse(i, j)
                formed.add(i)
                if once:
                    break
            elif not collapse and self._blends(i, j):
                self._blend(i, j)
                formed.add(i)
        return formed

    def _pairs(self, fresh: set[int]) -> Iterator[tuple[int, int]]:
        """Pairs of different rows, one of them fresh; those that vanish meanwhile are left out."""
        for i in list(self.rows):
            for j in list(self.rows) if i in fresh else sorted(fresh):
                if i not in self.rows:
                    break
                if i != j and j in self.rows:
                    yield i, j

    def _collapses(self, i: int, j: int) -> bool:
        """Whether the OR of two rows may replace both: nobody misses one without the other."""
        inside, critical = self._inside, self._critical
        return not (critical[i] & ~inside[j] or critical[j] & ~inside[i])

    def _blends(self, i: int, j: int) -> bool:
        """Whether the OR of two rows may replace the first, and is another row than that."""
        return not self._critical[i] & ~self._inside[j] and bool(self.rows[j] & ~self.rows[i])

    def _collapse(self, i: int, j: int) -> None:
        self.rows[i] |= self.rows.pop(j)
        self._inside[i] &= self._inside.pop(j)
        del self._critical[j]
        self._refresh(self.rows[i])

    def _blend(self, i: int, j: int) -> None:
        self.rows[i] |= self.rows[j]
        self._inside[i] &= self._inside[j]
        self._refresh(self.rows[i])

    def _refresh(self, columns: int) -> None:
        """Count anew in these columns, and tell for the rows in them who would miss them."""
        touched = [row for row, bits in self.rows.items() if bits & columns]
        for column in _ones(columns):
            once = twice = 0
            for row in touched:
                if self.rows[row] >> column & 1:
                    twice |= once & self._inside[row]
                    once |= self._inside[row]
            self._once[column] = once & ~twice
        for row in touched:
            missed = 0
            for column in _ones(self.rows[row]):
                missed |= self._once[column]
            self._critical[row] = missed & self._inside[row]


def _bits(flags: Bools) -> int:
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def _ones(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
