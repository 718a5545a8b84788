"""Decompositions for linear aggregates: as many records as the rank of F, without rounding.

The records are the answers of linearly independent queries; all other answers are linear
combinations of these. So `reduce` only adds partials, and integers and decimals stay exact; the
coefficients are needed only once, in `reconstruct`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from gingham.algebra.fragments import modular
from gingham.algebra.fragments.decomposition import Decomposition, Merge, add_only, finite
from gingham.algebra.fragments.distinct_matrix import condense
from gingham.algebra.fragments.exact_numbers import decimals, fitted, integers, largest, times
from gingham.algebra.fragments.rank import column_coefficients, independent
from gingham.core.arrays import Array, Bools, Floats, Ints
from gingham.core.errors import FragmentError


@dataclass(frozen=True, slots=True, eq=False)
class ExactDecomposition(Decomposition):
    """A linear decomposition: records are `basis` queries' answers; `coefficients` combine them."""

    basis: Ints
    coefficients: Floats  # records x queries
    integral: bool  # whether all coefficients are integers, and so exact
    pivots: Bools  # fragments on which the basis is linearly independent, as many as records
    _residues: dict[int, Floats] = field(default_factory=dict[int, Floats], repr=False)

    @property
    def kind(self) -> str:
        """Linear: the decomposition subtracts records."""
        return "linear"

    @property
    def size(self) -> int:
        """The number of records: the rank of the fragment matrix."""
        return len(self.basis)

    def reduce(self, partials: Array, operation: Merge | None = None) -> Array:
        """Add partials of fragments to records, the answers of the basis queries."""
        add_only(operation)
        partials = np.asarray(partials)
        self._expect("fragments", partials, len(self.fragments))
        members = self.fragments[:, self.basis].T
        if partials.dtype.kind == "f":
            return members.astype(np.float64) @ finite(partials)
        values, power_of_ten = integers(partials)
        return decimals(times(members.astype(np.int64), values), power_of_ten)

    def reconstruct(self, reduced: Array, operation: Merge | None = None) -> Array:
        """Combine records by the coefficients to the answers of all queries, without rounding."""
        add_only(operation)
        reduced = np.asarray(reduced)
        self._expect("records", reduced, self.size)
        if reduced.dtype.kind == "f":
            return self.coefficients.T @ reduced
        values, power_of_ten = integers(reduced)
        if self.integral:
            answers = times(self.coefficients.T.astype(np.int64), values)
        else:
            answers = self._combine_records(values)
        return decimals(answers, power_of_ten)

    def product(self) -> Array:
        """Multiply fragments x records by the coefficients: it has to equal F."""
        return self.fragments[:, self.basis].astype(np.float64) @ self.coefficients

    def certified(self) -> bool:
        """Whether the decomposition reproduces F: exactly, or modulo two primes for fractions."""
        if self.integral:
            return bool((self.product() == self.fragments).all())
        reducer = self.fragments[:, self.basis]
        agreed = (
            bool(
                (
                    modular.product(reducer, self._coefficients_modulo(prime), prime)
                    == self.fragments
                ).all()
            )
            for prime in islice(self._usable_primes(), 2)
        )
        return Decomposition.certified(self) and all(agreed)

    def _combine_records(self, values: Array) -> Array:
        """Combine records to answers modulo primes: exact though the coefficients are fractions."""
        flat = values.reshape(len(values), -1)
        growth = float(np.abs(self.coefficients).sum(axis=0).max(initial=1))
        bits = largest(flat).bit_length() + math.ceil(math.log2(growth + 1)) + 2
        # One prime more than needed, to detect records that `reduce` did not make.
        chosen = list(islice(self._usable_primes(), bits // 22 + 2))
        remainders = [
            modular.product(
                self._coefficients_modulo(prime).T, (flat % prime).astype(np.float64), prime
            )
            for prime in chosen
        ]
        answers = modular.chinese(remainders[:-1], chosen[:-1])
        if ((answers % chosen[-1]).astype(np.float64) != remainders[-1]).any():
            raise FragmentError(
                "the records do not belong together",
                "no partials of these fragments add up to them",
                "records that `reduce` of the same decomposition made, merged by adding",
            )
        answers = answers.reshape(-1, *values.shape[1:])
        return fitted(answers) if values.dtype.kind == "i" else answers

    def _usable_primes(self) -> Iterator[int]:
        """The primes that divide no denominator of the decomposition's coefficients."""
        return (
            prime
            for prime in modular.primes()
            if len(self._coefficients_modulo(prime)) == self.size
        )

    def _coefficients_modulo(self, prime: int) -> Floats:
        """The decomposition's coefficients modulo a prime; no rows if it divides a denominator."""
        if prime not in self._residues:
            self._residues[prime] = column_coefficients(self.pivots, self.basis, prime)
        return self._residues[prime]


def exact(fragments: Bools) -> ExactDecomposition:
    """Decompose F into as many records as its rank: the answers of short queries.

    >>> F = np.array([[1, 1, 0, 1], [0, 1, 1, 1], [1, 0, 1, 1]], dtype=bool)
    >>> answers = exact(F)
    >>> answers.size, answers.reconstruct(answers.reduce(np.array([5, 20, 300]))).tolist()
    (3, [305, 25, 320, 325])
    """
    condensed = condense(fragments)
    basis = independent(condensed.matrix)
    return ExactDecomposition(
        method="exact",
        fragments=fragments,
        notices=basis.notices,
        basis=condensed.columns[basis.columns],
        coefficients=condensed.expand_columns(basis.coefficients),
        integral=basis.integral,
        pivots=fragments[condensed.rows[basis.rows]],
    )
