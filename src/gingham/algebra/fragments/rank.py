"""The rank of a fragment matrix: independent columns, and the coefficients of all others."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

import numpy as np

from gingham.algebra.fragments import modular
from gingham.algebra.fragments.decomposition import CLOSE
from gingham.algebra.fragments.lapack import linalg
from gingham.algebra.fragments.modular import echelon
from gingham.core.arrays import Bools, Floats, Ints

# Larger coefficients cost doubles digits: columns are exchanged until there are none.
_LARGE = 4.0
# The most primes by which a rank is checked.
_MOST_CHECKS = 12


@dataclass(frozen=True, slots=True, eq=False)
class Basis:
    """Independent columns of a fragment matrix, and the rows on which they are independent.

    matrix = matrix[:, columns] @ coefficients; `integral` if all coefficients are integers.
    """

    rows: Ints
    columns: Ints
    coefficients: Floats
    integral: bool
    notices: tuple[str, ...] = ()


def independent(matrix: Bools) -> Basis:
    """Choose a basis of a matrix's columns, those with few ones first.

    With short columns, a query that is a union of disjoint queries becomes their sum, and few
    queries are differences of long ones. Modulo a prime the rank may be too low, never too high;
    integer coefficients prove that it is not too low, otherwise further primes do.
    """
    order = np.argsort(matrix.sum(axis=0), kind="stable")
    for prime in modular.primes():
        reduced = echelon(matrix[:, order], prime)
        columns = order[reduced.columns]
        lifted = np.where(reduced.coefficients > prime // 2, -prime, 0) + reduced.coefficients
        if _reproduces(matrix, columns, lifted, order):
            coefficients = np.empty_like(lifted)
            coefficients[:, order] = lifted
            return Basis(reduced.rows, columns, coefficients, integral=True)
        basis = _basis_with_fractions(matrix, reduced.rows, columns)
        check = _checked_by_primes(matrix, basis)
        if check.proved:
            return basis
        if check.agreed:
            notice = f"rank {len(columns)}: {_MOST_CHECKS} primes agree, which is no proof"
            return replace(basis, notices=(*basis.notices, notice))
    raise AssertionError("some prime divides none of the minors")


def column_coefficients(pivots: Bools, columns: Ints, prime: int) -> Floats:
    """Compute the coefficients of all matrix columns modulo a prime, given independent columns.

    The result has no rows if the prime divides a denominator.
    """
    others = np.setdiff1d(np.arange(pivots.shape[1]), columns)
    order = np.concatenate([columns, others])
    reduced = echelon(pivots[:, order], prime)
    coefficients = np.zeros((reduced.rank, len(order)))
    coefficients[:, order] = reduced.coefficients
    same_basis = reduced.rank == len(columns) and bool((reduced.columns < len(columns)).all())
    return coefficients if same_basis else coefficients[:0]


def _reproduces(matrix: Bools, columns: Ints, lifted: Floats, order: Ints) -> bool:
    """Whether integer coefficients combine the basis columns to the matrix, without rounding."""
    exact = np.abs(lifted).sum(axis=0).max(initial=0) < 1 << 53
    return bool(exact and (matrix[:, columns] @ lifted == matrix[:, order]).all())


def _basis_with_fractions(matrix: Bools, rows: Ints, columns: Ints) -> Basis:
    """Find basis columns with small fractional coefficients, as doubles; else all are basis."""
    for candidate in _candidate_bases(matrix, columns):
        chosen, coefficients = _with_small_coefficients(matrix, candidate)
        if len(chosen) and (np.abs(matrix[:, chosen] @ coefficients - matrix) <= CLOSE).all():
            return Basis(rows, chosen, coefficients, integral=False)
    every = np.arange(matrix.shape[1])
    why = "no sharing: the queries are too close to dependent for doubles"
    return Basis(rows, every, np.eye(len(every)), integral=True, notices=(why,))


def _candidate_bases(matrix: Bools, columns: Ints) -> Iterator[Ints]:
    """Two bases to try: the matrix columns given, then those that a pivoted QR chooses."""
    yield columns
    pivoted = linalg.qr(matrix.astype(np.float64), mode="r", pivoting=True)[1]
    yield np.sort(pivoted[: len(columns)])


def _with_small_coefficients(matrix: Bools, columns: Ints) -> tuple[Ints, Floats]:
    """Exchange basis columns of the matrix while a coefficient is large: its volume increases."""
    columns = columns.copy()
    coefficients = _least_squares(matrix, columns)
    for _ in range(4 * len(columns)):
        if not coefficients.size or not np.isfinite(coefficients).all():
            return columns[:0], coefficients
        steepest = np.unravel_index(np.abs(coefficients).argmax(), coefficients.shape)
        out, into = int(steepest[0]), int(steepest[1])
        pivot = coefficients[out, into]
        if abs(pivot) <= _LARGE:
            break
        change = coefficients[:, into].copy()
        change[out] -= 1
        coefficients -= change[:, None] * (coefficients[out] / pivot)
        columns[out] = into
    coefficients = _least_squares(matrix, columns)
    coefficients[:, columns] = np.eye(len(columns))
    return columns, coefficients


def _least_squares(matrix: Bools, columns: Ints) -> Floats:
    """Solve for coefficients that combine basis columns to all matrix columns; NaN if singular."""
    orthogonal, triangular = np.linalg.qr(matrix[:, columns].astype(np.float64))
    if not np.diagonal(triangular).all():
        return np.full((len(columns), matrix.shape[1]), np.nan)
    return linalg.solve_triangular(triangular, orthogonal.T @ matrix, check_finite=False)


class _Check(NamedTuple):
    """Whether basis columns reproduce a matrix modulo all primes tried, and if that proves it."""

    agreed: bool
    proved: bool


def _checked_by_primes(matrix: Bools, basis: Basis) -> _Check:
    """Check modulo primes that the basis columns suffice for the whole fragment matrix."""
    rank = len(basis.columns)
    if basis.integral or rank == min(matrix.shape):
        return _Check(agreed=True, proved=True)
    # A minor of order n of zeros and ones is at most (n + 1)^((n + 1) / 2) / 2^n (Hadamard).
    order = rank + 1
    needed = (order + 1) / 2 * math.log2(order + 1) - order
    pivots, bits = matrix[basis.rows], 0.0
    for prime in islice(modular.primes(), 1, _MOST_CHECKS + 1):
        coefficients = column_coefficients(pivots, basis.columns, prime)
        if len(coefficients) < rank:
            continue
        if (modular.product(matrix[:, basis.columns], coefficients, prime) != matrix).any():
            return _Check(agreed=False, proved=False)
        bits += math.log2(prime)
        if bits > needed:
            return _Check(agreed=True, proved=True)
    return _Check(agreed=True, proved=False)
