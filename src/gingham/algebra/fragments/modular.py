"""Linear algebra modulo primes: exact, where doubles would have to guess what is zero.

Residues are stored as doubles: products of residues below 2^23, 64 of them added up, stay below
2^53, so that BLAS multiplies them without rounding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from gingham.core.arrays import Array, Floats, Ints

_LARGEST = 1 << 23
_PANEL = 64


@dataclass(frozen=True, slots=True, eq=False)
class Echelon:
    """A fragment matrix as combinations of its first independent columns, modulo a prime.

    With `rows` and `columns` the indices of the pivots, matrix = matrix[:, columns] @ coefficients.
    """

    rows: Ints
    columns: Ints
    coefficients: Floats  # pivots x columns

    @property
    def rank(self) -> int:
        """The rank of the fragment matrix modulo the prime: the number of pivots."""
        return len(self.columns)


def echelon(matrix: Array, prime: int) -> Echelon:
    """Find a matrix's independent columns modulo a prime by Gauss-Jordan elimination, in panels.

    >>> reduced = echelon(np.array([[1, 1, 0], [1, 1, 1], [0, 0, 1]]), 101)
    >>> reduced.rank, reduced.columns.tolist(), reduced.coefficients.tolist()
    (2, [0, 2], [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    """
    work = np.asarray(matrix, dtype=np.float64) % prime
    count, width = work.shape
    free = np.ones(count, dtype=bool)
    rows, columns = np.empty(0, np.int64), np.empty(0, np.int64)
    for start in range(0, width, _PANEL):
        unused = np.flatnonzero(free)
        if not len(unused):
            break
        panel_rows, panel_columns = _find_pivots(work[unused, start : start + _PANEL], prime)
        if not len(panel_rows):
            continue
        pivots, here = unused[panel_rows], panel_columns + start
        inverse = _invert_modulo(work[np.ix_(pivots, here)], prime)
        solved = _reduce_modulo(inverse @ work[pivots, start:], prime)
        factors = work[:, here]
        factors[pivots] = 0
        work[:, start:] = _reduce_modulo(work[:, start:] - factors @ solved, prime)
        work[pivots, start:] = solved
        free[pivots] = False
        rows, columns = np.append(rows, pivots), np.append(columns, here)
    return Echelon(rows, columns, work[rows])


def product(left: Array, right: Array, prime: int) -> Floats:
    """Multiply two matrices of residues modulo a prime."""
    total = np.zeros((left.shape[0], right.shape[1]))
    for start in range(0, left.shape[1], _PANEL):
        part = slice(start, start + _PANEL)
        total = _reduce_modulo(total + left[:, part] @ right[part], prime)
    return total


def chinese(residues: Sequence[Array], primes: Sequence[int]) -> Array:
    """Find the smallest integers with these residues, by the Chinese remainder theorem.

    >>> chinese([np.array([98.0]), np.array([100.0])], [101, 103]).tolist()
    [-3]
    """
    modulus, value = 1, np.zeros(residues[0].shape, dtype=object)
    for residue, prime in zip(residues, primes, strict=True):
        inverse = pow(modulus, -1, prime)
        digit = (_python_integers(residue) - value) * inverse % prime
        value = value + digit * modulus
        modulus *= prime
    return np.where(value > modulus // 2, value - modulus, value)


def primes() -> Iterator[int]:
    """The primes below 2^23, largest first, modulo which fragment matrices are eliminated."""
    return iter(_sieve_primes())


@cache
def _sieve_primes() -> tuple[int, ...]:
    """Sieve the largest few thousand primes below 2^23."""
    # The largest few thousand primes: enough for integers of tens of thousands of bits.
    low = _LARGEST - (1 << 16)
    composite = np.zeros(_LARGEST - low, dtype=bool)
    for divisor in range(2, 2900):  # 2897^2 > 2^23
        composite[-low % divisor :: divisor] = True
    return tuple(int(low + offset) for offset in np.flatnonzero(~composite)[::-1])


def _python_integers(residues: Array) -> Array:
    """Convert residues modulo a prime from doubles to Python integers."""
    return residues.astype(np.int64).astype(object)


def _reduce_modulo(values: Floats, prime: int) -> Floats:
    """Reduce the entries of a matrix modulo a prime in place, several times faster than `%`."""
    values -= np.floor(values * (1 / prime)) * prime
    values[values < 0] += prime
    values[values >= prime] -= prime
    return values


def _find_pivots(panel: Floats, prime: int) -> tuple[Ints, Ints]:
    """Find the rows and columns of pivots of a narrow matrix modulo a prime; it is overwritten."""
    order = np.arange(len(panel))
    columns: list[int] = []
    for column in range(panel.shape[1]):
        top = len(columns)
        nonzero = np.flatnonzero(panel[top:, column])
        if not len(nonzero):
            continue
        swap = [top, top + int(nonzero[0])]
        panel[swap], order[swap] = panel[swap[::-1]], order[swap[::-1]]
        inverse = pow(int(panel[top, column]), -1, prime)
        below = top + nonzero
        below = below[panel[below, column] != 0]
        below = below[below > top]
        factors = _reduce_modulo(panel[below, column] * inverse, prime)
        rest = slice(column, None)
        panel[below, rest] = _reduce_modulo(
            panel[below, rest] - factors[:, None] * panel[top, rest], prime
        )
        columns.append(column)
        if len(columns) == len(panel):
            break
    return order[: len(columns)], np.array(columns, dtype=np.int64)


def _invert_modulo(square: Floats, prime: int) -> Floats:
    """Invert a small regular matrix modulo a prime."""
    count = len(square)
    work = np.hstack([square, np.eye(count)])
    for column in range(count):
        pivot = column + int(np.flatnonzero(work[column:, column])[0])
        work[[column, pivot]] = work[[pivot, column]]
        inverse = pow(int(work[column, column]), -1, prime)
        work[column] = _reduce_modulo(work[column] * inverse, prime)
        factors = work[:, column].copy()
        factors[column] = 0
        work = _reduce_modulo(work - factors[:, None] * work[column], prime)
    return work[:, count:]
