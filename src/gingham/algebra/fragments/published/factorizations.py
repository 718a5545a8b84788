"""Decompositions for linear aggregates by LU, QR and SVD in doubles (Huebsch et al., Section 4).

F = left @ right; the rows of the right factor that are not zero after rounding are the records.
These are the paper's methods, with the paper's weakness: what counts as zero is a guess.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gingham.algebra.fragments.decomposition import Decomposition, Merge, add_only, finite
from gingham.algebra.fragments.distinct_matrix import condense
from gingham.algebra.fragments.exact_numbers import EXACT_IN_DOUBLE, integers, largest
from gingham.algebra.fragments.lapack import linalg
from gingham.core.arrays import Array, Bools, Floats
from gingham.core.errors import FragmentError

Factors = tuple[Floats, Floats]


@dataclass(frozen=True, slots=True, eq=False)
class Factored(Decomposition):
    """A linear decomposition in doubles: records are weighted sums of partials, and so answers."""

    reducer: Floats  # fragments x records
    rebuilder: Floats  # records x queries

    @property
    def kind(self) -> str:
        """Linear: the decomposition subtracts records."""
        return "linear"

    @property
    def size(self) -> int:
        """The number of records: the rank that the factorization found."""
        return len(self.rebuilder)

    def reduce(self, partials: Array, operation: Merge | None = None) -> Array:
        """Add partials of fragments to records with the first factor of F as weights."""
        add_only(operation)
        partials = np.asarray(partials)
        self._expect("fragments", partials, len(self.reducer))
        if partials.dtype.kind != "f":
            partials = self._as_doubles(partials)
        return self.reducer.T @ finite(partials)

    def reconstruct(self, reduced: Array, operation: Merge | None = None) -> Array:
        """Add records to the answers of queries with the second factor of F as weights."""
        add_only(operation)
        reduced = np.asarray(reduced)
        self._expect("records", reduced, self.size)
        return self.rebuilder.T @ reduced

    def product(self) -> Array:
        """Multiply both factors: up to rounding it has to equal F."""
        return self.reducer @ self.rebuilder

    def _as_doubles(self, partials: Array) -> Array:
        """Convert partials to doubles; refuse decimals and integers that would be rounded."""
        values, power_of_ten = integers(partials)
        if power_of_ten is not None or largest(values) * len(values) > EXACT_IN_DOUBLE:
            raise FragmentError(
                f"{self.method} would round these partials",
                "it computes with doubles, which hold 53 bits",
                'method="exact", which keeps integers and decimals as they are',
            )
        return values.astype(np.float64)


def factored(fragments: Bools, method: str, factor: Callable[[Floats], Factors]) -> Factored:
    """Decompose the fragment matrix F by factoring its distinct rows and columns."""
    condensed = condense(fragments)
    left, right = np.zeros((0, 0)), np.zeros((0, 0))
    if condensed.matrix.size:
        left, right = factor(condensed.matrix.astype(np.float64))
    return Factored(
        method, fragments, (), condensed.expand_rows(left), condensed.expand_columns(right)
    )


def lu(matrix: Floats) -> Factors:
    """Factor a fragment matrix by Gaussian elimination with partial pivoting; drop all-zero rows.

    A column without a pivot still uses up a row, so that more rows than the rank are left.
    """
    lower, upper = linalg.lu(matrix, permute_l=True)
    size = np.abs(upper).max(axis=1)
    kept = size > _negligible(matrix, size.max())
    return lower[:, kept], upper[kept]


def qr(matrix: Floats) -> Factors:
    """Factor a fragment matrix by QR with column pivoting: the diagonal vanishes at the rank."""
    orthogonal, upper, order = linalg.qr(matrix, mode="economic", pivoting=True)
    diagonal = np.abs(np.diagonal(upper))
    rank = int((diagonal > _negligible(matrix, diagonal[0])).sum())
    right = np.empty((rank, matrix.shape[1]))
    right[:, order] = upper[:rank]
    return orthogonal[:, :rank], right


def svd(matrix: Floats) -> Factors:
    """Factor a fragment matrix by singular values, largest first: the rank is where they vanish."""
    left, values, right = linalg.svd(matrix, full_matrices=False)
    kept = values > _negligible(matrix, values[0])
    return left[:, kept] * values[kept], right[kept]


FACTORIZATIONS: dict[str, Callable[[Floats], Factors]] = {"lu": lu, "qr": qr, "svd": svd}


def _negligible(matrix: Floats, scale: float) -> float:
    """The size up to which a factor's entry is a rounding error of the matrix factorization."""
    return max(matrix.shape) * float(np.finfo(np.float64).eps) * scale
