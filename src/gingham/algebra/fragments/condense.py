"""Fragments that satisfy the same queries are one, and so are queries with the same fragments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gingham.core.arrays import Array, Bools, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Condensed:
    """The distinct rows and columns of a matrix that are not all zero, and where they stand."""

    matrix: Bools
    rows: Ints  # where each row was first
    columns: Ints
    row_of: Ints  # for each row there was: the row here, or -1 if it was all zero
    column_of: Ints

    def expand_rows(self, rows: Array) -> Array:
        """A row for each row that there was."""
        return _expand(rows, self.row_of)

    def expand_columns(self, columns: Array) -> Array:
        """A column for each column that there was."""
        return _expand(columns.T, self.column_of).T


def condense(matrix: Bools) -> Condensed:
    """Keep one of each.

    >>> condense(np.array([[1, 0, 1], [0, 0, 0], [1, 0, 1]], dtype=bool)).matrix.tolist()
    [[True]]
    """
    rows, row_of = _distinct(matrix)
    columns, column_of = _distinct(matrix[rows].T)
    return Condensed(matrix[np.ix_(rows, columns)], rows, columns, row_of, column_of)


def row_keys(rows: Bools) -> list[bytes]:
    """Equal bytes for equal rows."""
    packed = np.ascontiguousarray(np.packbits(rows, axis=1))
    if not packed.size:
        return [b""] * len(rows)
    return packed.view(f"V{packed.shape[1]}").ravel().tolist()


def _distinct(rows: Bools) -> tuple[Ints, Ints]:
    """Where each distinct row was first, and for each row which of these it is."""
    numbers: dict[bytes, int] = {bytes(-(-rows.shape[1] // 8)): -1}
    number_of = np.array(
        [-1, *(numbers.setdefault(key, len(numbers) - 1) for key in row_keys(rows))]
    )
    # A row is the first of its kind where no number was as large before.
    largest = np.maximum.accumulate(number_of)
    return np.flatnonzero(largest[1:] > largest[:-1]), number_of[1:]


def _expand(rows: Array, number: Ints) -> Array:
    expanded = np.zeros((len(number), rows.shape[1]), dtype=rows.dtype)
    present = number >= 0
    expanded[present] = rows[number[present]]
    return expanded
