"""Reduce a fragment matrix to its distinct rows and columns, and expand results again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gingham.core.arrays import Array, Bools, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Condensed:
    """The distinct nonzero rows and columns of a fragment matrix, with the way back."""

    matrix: Bools
    rows: Ints  # the index of each row's first occurrence
    columns: Ints
    row_of: Ints  # for each original row its distinct row, or -1 if it is all zero
    column_of: Ints

    def expand_rows(self, rows: Array) -> Array:
        """Repeat rows of a condensed result for each fragment of the fragment matrix."""
        return _expand_rows(rows, self.row_of)

    def expand_columns(self, columns: Array) -> Array:
        """Repeat columns of a condensed result for each query of the fragment matrix."""
        return _expand_rows(columns.T, self.column_of).T


def condense(matrix: Bools) -> Condensed:
    """Keep one of equal rows, then one of equal columns of a fragment matrix; drop all-zero ones.

    >>> condense(np.array([[1, 0, 1], [0, 0, 0], [1, 0, 1]], dtype=bool)).matrix.tolist()
    [[True]]
    """
    rows, row_of = _distinct_rows(matrix)
    columns, column_of = _distinct_rows(matrix[rows].T)
    return Condensed(matrix[np.ix_(rows, columns)], rows, columns, row_of, column_of)


def _row_keys(rows: Bools) -> list[bytes]:
    """Pack each row of a fragment matrix into bytes, to find equal rows in a dictionary."""
    packed = np.ascontiguousarray(np.packbits(rows, axis=1))
    if not packed.size:
        return [b""] * len(rows)
    return packed.view(f"V{packed.shape[1]}").ravel().tolist()


def _distinct_rows(rows: Bools) -> tuple[Ints, Ints]:
    """The first index of each distinct matrix row, and for each row its distinct row's number."""
    numbers: dict[bytes, int] = {bytes(-(-rows.shape[1] // 8)): -1}
    number_of = np.array(
        [-1, *(numbers.setdefault(key, len(numbers) - 1) for key in _row_keys(rows))]
    )
    # Numbers are given in order, so a row is new where its number exceeds all before it.
    largest = np.maximum.accumulate(number_of)
    return np.flatnonzero(largest[1:] > largest[:-1]), number_of[1:]


def _expand_rows(rows: Array, row_of: Ints) -> Array:
    """Repeat rows of a condensed matrix for each original row; a row numbered -1 is all zero."""
    expanded = np.zeros((len(row_of), rows.shape[1]), dtype=rows.dtype)
    present = row_of >= 0
    expanded[present] = rows[row_of[present]]
    return expanded
