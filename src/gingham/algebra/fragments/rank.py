"""Which columns of a matrix are independent, and how the others are combined from them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from gingham.algebra.fragments import modular
from gingham.algebra.fragments.decomposition import CLOSE
from gingham.algebra.fragments.lapack import linalg
from gingham.algebra.fragments.modular import echelon
from gingham.core.arrays import Bools, Floats, Ints

# A larger coefficient costs doubles a digit: a basis without it is looked for.
_STEEP = 4.0
# So many primes may be asked whether they agree about the rank.
_WITNESSES = 12


@dataclass(frozen=True, slots=True, eq=False)
class Basis:
    """Independent columns and rows that show it; matrix = matrix[:, columns] @ coefficients."""

    rows: Ints
    columns: Ints
    coefficients: Floats
    integral: bool
    notices: tuple[str, ...] = ()


def independent(matrix: Bools, prefer: Ints) -> Basis:
    """A basis of the columns: first those that are preferred, then short ones.

    With short columns a union of disjoint queries is the sum of its parts, and seldom is a query
    the difference of two long ones. Modulo a prime the rank may be too low, never too high; that it
    is not too low is proved by the coefficients where they are integers, by other primes otherwise.
    """
    sizes = matrix.sum(axis=0)
    sizes[prefer] = np.arange(len(prefer)) - len(prefer)
    order = np.argsort(sizes, kind="stable")
    asked = modular.primes()
    for prime in asked:
        found = echelon(matrix[:, order], prime)
        columns = order[found.columns]
        lifted = np.where(found.coefficients > prime // 2, -prime, 0) + found.coefficients
        if _reproduces(matrix, columns, lifted, order):
            coefficients = np.empty_like(lifted)
            coefficients[:, order] = lifted
            return Basis(found.rows, columns, coefficients, integral=True)
        basis = _fractions(matrix, found.rows, columns)
        agreed, proved = _witnesses(matrix, basis)
        if agreed and proved:
            return basis
        if agreed:
            notice = f"rank {len(columns)}: {_WITNESSES} primes agree, which is no proof"
            return replace(basis, notices=(*basis.notices, notice))
    raise AssertionError("some prime divides none of the minors")


def combine(pivots: Bools, columns: Ints, prime: int) -> Floats:
    """The coefficients modulo a prime, from rows that tell the columns apart.

    There are no rows if the prime divides a denominator.
    """
    others = np.setdiff1d(np.arange(pivots.shape[1]), columns)
    order = np.concatenate([columns, others])
    found = echelon(pivots[:, order], prime)
    coefficients = np.zeros((found.rank, len(order)))
    coefficients[:, order] = found.coefficients
    firsts = found.rank == len(columns) and bool((found.columns < len(columns)).all())
    return coefficients if firsts else coefficients[:0]


def _reproduces(matrix: Bools, columns: Ints, lifted: Floats, order: Ints) -> bool:
    exact = np.abs(lifted).sum(axis=0).max(initial=0) < 1 << 53
    return bool(exact and (matrix[:, columns] @ lifted == matrix[:, order]).all())


def _fractions(matrix: Bools, rows: Ints, columns: Ints) -> Basis:
    """Coefficients as doubles, over a basis that keeps them small."""
    for candidate in _candidates(matrix, columns):
        chosen, coefficients = _flattened(matrix, candidate)
        if len(chosen) and (np.abs(matrix[:, chosen] @ coefficients - matrix) <= CLOSE).all():
            return Basis(rows, chosen, coefficients, integral=False)
    every = np.arange(matrix.shape[1])
    why = "no sharing: the queries are too close to dependent for doubles"
    return Basis(rows, every, np.eye(len(every)), integral=True, notices=(why,))


def _candidates(matrix: Bools, columns: Ints) -> Iterator[Ints]:
    yield columns
    pivoted = linalg.qr(matrix.astype(np.float64), mode="r", pivoting=True)[1]
    yield np.sort(pivoted[: len(columns)])


def _flattened(matrix: Bools, columns: Ints) -> tuple[Ints, Floats]:
    """Exchange columns while a coefficient is steep; each exchange enlarges the basis' volume."""
    columns = columns.copy()
    coefficients = _least_squares(matrix, columns)
    for _ in range(4 * len(columns)):
        if not coefficients.size or not np.isfinite(coefficients).all():
            return columns[:0], coefficients
        steepest = np.unravel_index(np.abs(coefficients).argmax(), coefficients.shape)
        out, into = int(steepest[0]), int(steepest[1])
        pivot = coefficients[out, into]
        if abs(pivot) <= _STEEP:
            break
        change = coefficients[:, into].copy()
        change[out] -= 1
        coefficients -= change[:, None] * (coefficients[out] / pivot)
        columns[out] = into
    coefficients = _least_squares(matrix, columns)
    coefficients[:, columns] = np.eye(len(columns))
    return columns, coefficients


def _least_squares(matrix: Bools, columns: Ints) -> Floats:
    orthogonal, triangular = np.linalg.qr(matrix[:, columns].astype(np.float64))
    if not np.diagonal(triangular).all():
        return np.full((len(columns), matrix.shape[1]), np.nan)
    return linalg.solve_triangular(triangular, orthogonal.T @ matrix, check_finite=False)


def _witnesses(matrix: Bools, basis: Basis) -> tuple[bool, bool]:
    """Whether primes agree that the columns suffice, and whether they are enough for a proof."""
    rank = len(basis.columns)
    if basis.integral or rank == min(matrix.shape):
        return True, True
    # A minor of order n of zeros and ones is at most (n + 1)^((n + 1) / 2) / 2^n (Hadamard).
    order = rank + 1
    needed = (order + 1) / 2 * math.log2(order + 1) - order
    pivots, bits = matrix[basis.rows], 0.0
    for prime in islice(modular.primes(), 1, _WITNESSES + 1):
        coefficients = combine(pivots, basis.columns, prime)
        if len(coefficients) < rank:
            continue
        if (modular.product(matrix[:, basis.columns], coefficients, prime) != matrix).any():
            return False, False
        bits += math.log2(prime)
        if bits > needed:
            return True, True
    return True, False
