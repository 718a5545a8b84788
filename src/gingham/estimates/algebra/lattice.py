"""Fewest whole-number rows from which given whole-number rows are added up."""

from __future__ import annotations

from collections.abc import Sequence

Row = tuple[int, ...]


def basis(rows: Sequence[Row]) -> tuple[Row, ...]:
    """As many rows as the rank, of which every given row is a sum with whole coefficients.

    >>> basis([(1, 1, 0), (0, 1, 1), (1, 2, 1), (1, 0, -1)])
    ((1, 0, -1), (0, 1, 1))
    """
    left = [list(row) for row in dict.fromkeys(rows)]
    found: list[list[int]] = []
    for column in range(len(left[0]) if left else 0):
        # Euclid, with rows for numbers: one row keeps the common divisor of this column.
        while len(some := [row for row in left if row[column]]) > 1:
            least = min(some, key=lambda row: abs(row[column]))
            for row in some:
                if row is not least:
                    _subtract(row, row[column] // least[column], least)
        if some:
            pivot = some[0] if some[0][column] > 0 else [-value for value in some[0]]
            left = [row for row in left if row is not some[0]]
            for row in found:
                _subtract(row, row[column] // pivot[column], pivot)
            found.append(pivot)
    return tuple(tuple(row) for row in found)


def coordinates(row: Row, of: Sequence[Row]) -> Row | None:
    """The whole coefficients with which rows in echelon form add up to this one.

    >>> coordinates((1, 2, 1), [(1, 0, -1), (0, 1, 1)])
    (1, 2)
    >>> coordinates((1, 0, 0), [(1, 0, -1), (0, 1, 1)]) is None
    True
    """
    left, found = list(row), list[int]()
    for one in of:
        lead = next(i for i, value in enumerate(one) if value)
        times, rest = divmod(left[lead], one[lead])
        if rest:
            return None
        _subtract(left, times, one)
        found.append(times)
    return None if any(left) else tuple(found)


def _subtract(row: list[int], times: int, other: Sequence[int]) -> None:
    if times:
        row[:] = [value - times * more for value, more in zip(row, other, strict=True)]
