"""Bases of integer lattices: the fewest integer rows that given integer rows are sums of."""

from __future__ import annotations

from collections.abc import Sequence

Row = tuple[int, ...]


def basis(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Compute a lattice basis in echelon form: each row is a sum of it with whole coefficients.

    It has as many rows as the rank of the given rows.

    >>> basis([(1, 1, 0), (0, 1, 1), (1, 2, 1), (1, 0, -1)])
    ((1, 0, -1), (0, 1, 1))
    """
    left = [list(row) for row in dict.fromkeys(rows)]
    pivots: list[list[int]] = []
    for column in range(len(left[0]) if left else 0):
        # Euclid's algorithm on rows: one row ends with the common divisor of this column.
        while len(nonzero := [row for row in left if row[column]]) > 1:
            least = min(nonzero, key=lambda row: abs(row[column]))
            for row in nonzero:
                if row is not least:
                    _subtract_multiple(row, row[column] // least[column], least)
        if nonzero:
            pivot = nonzero[0] if nonzero[0][column] > 0 else [-value for value in nonzero[0]]
            left = [row for row in left if row is not nonzero[0]]
            for row in pivots:
                _subtract_multiple(row, row[column] // pivot[column], pivot)
            pivots.append(pivot)
    return tuple(tuple(row) for row in pivots)


def coordinates(row: Row, echelon: Sequence[Row]) -> Row | None:
    """Find whole coefficients with which a lattice basis adds up to a row; None without such.

    >>> coordinates((1, 2, 1), [(1, 0, -1), (0, 1, 1)])
    (1, 2)
    >>> coordinates((1, 0, 0), [(1, 0, -1), (0, 1, 1)]) is None
    True
    """
    left, coefficients = list(row), list[int]()
    for pivot in echelon:
        lead = next(i for i, value in enumerate(pivot) if value)
        times, rest = divmod(left[lead], pivot[lead])
        if rest:
            return None
        _subtract_multiple(left, times, pivot)
        coefficients.append(times)
    return None if any(left) else tuple(coefficients)


def _subtract_multiple(row: list[int], times: int, other: Sequence[int]) -> None:
    """Subtract a multiple of another row of an integer lattice, in place."""
    if times:
        row[:] = [value - times * more for value, more in zip(row, other, strict=True)]
