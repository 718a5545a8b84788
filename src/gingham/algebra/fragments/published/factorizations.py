"""Linear aggregates by the factorisations of numerical algebra (Huebsch et al., Section 4).

F = left @ right in doubles; what is left of the right factor's rows after rounding is the number of
records. These are the paper's methods, with the paper's weakness: what is zero is a guess.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gingham.algebra.fragments.condense import condense
from gingham.algebra.fragments.decomposition import Decomposition, Merge, add_only, finite
from gingham.algebra.fragments.exact_numbers import EXACT, integers, largest
from gingham.algebra.fragments.lapack import linalg
from gingham.core.arrays import Array, Bools, Floats
from gingham.core.errors import FragmentError

Factors = tuple[Floats, Floats]


@dataclass(frozen=True, slots=True, eq=False)
class Factored(Decomposition):
    """Records and answers are sums of doubles."""

    reducer: Floats  # fragments x records
    rebuilder: Floats  # records x queries

    @property
    def kind(self) -> str:
        return "linear"

    @property
    def size(self) -> int:
        return len(self.rebuilder)

    def reduce(self, partials: Array, operation: Merge | None = None) -> Array:
        add_only(operation)
        partials = np.asarray(partials)
        self._expect("fragments", partials, len(self.reducer))
        if partials.dtype.kind != "f":
            partials = self._as_doubles(partials)
        return self.reducer.T @ finite(partials)

    def reconstruct(self, reduced: Array, operation: Merge | None = None) -> Array:
        add_only(operation)
        reduced = np.asarray(reduced)
        self._expect("records", reduced, self.size)
        return self.rebuilder.T @ reduced

    def product(self) -> Array:
        return self.reducer @ self.rebuilder

    def _as_doubles(self, partials: Array) -> Array:
        values, places = integers(partials)
        if places is not None or largest(values) * len(values) > EXACT:
            raise FragmentError(
                f"{self.method} would round these partials",
                "it computes with doubles, which hold 53 bits",
                'method="exact", which keeps integers and decimals as they are',
            )
        return values.astype(np.float64)


def factored(fragments: Bools, method: str, factor: Callable[[Floats], Factors]) -> Factored:
    """Factor what is distinct in F."""
    condensed = condense(fragments)
    left, right = np.zeros((0, 0)), np.zeros((0, 0))
    if condensed.matrix.size:
        left, right = factor(condensed.matrix.astype(np.float64))
    return Factored(
        method, fragments, (), condensed.expand_rows(left), condensed.expand_columns(right)
    )


def lu(matrix: Floats) -> Factors:
    """Gauss with partial pivoting: rows of the upper factor that are all zero are dropped.

    A column without a pivot still uses up a row, so that more rows than the rank are left.
    """
    lower, upper = linalg.lu(matrix, permute_l=True)
    size = np.abs(upper).max(axis=1)
    kept = size > _negligible(matrix, size.max())
    return lower[:, kept], upper[kept]


def qr(matrix: Floats) -> Factors:
    """Householder reflections with column pivoting: the diagonal falls to zero at the rank."""
    orthogonal, upper, order = linalg.qr(matrix, mode="economic", pivoting=True)
    diagonal = np.abs(np.diagonal(upper))
    rank = int((diagonal > _negligible(matrix, diagonal[0])).sum())
    right = np.empty((rank, matrix.shape[1]))
    right[:, order] = upper[:rank]
    return orthogonal[:, :rank], right


def svd(matrix: Floats) -> Factors:
    """Singular values, largest first: the rank is where they vanish."""
    left, values, right = linalg.svd(matrix, full_matrices=False)
    kept = values > _negligible(matrix, values[0])
    return left[:, kept] * values[kept], right[kept]


FACTORIZATIONS: dict[str, Callable[[Floats], Factors]] = {"lu": lu, "qr": qr, "svd": svd}


def _negligible(matrix: Floats, scale: float) -> float:
    return max(matrix.shape) * float(np.finfo(np.float64).eps) * scale
