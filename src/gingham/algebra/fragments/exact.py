"""Linear aggregates: as many records as the rank of F, decided without rounding.

The records are answers of some of the queries, as many as are linearly independent; all others
are combinations of these. So partials are only ever added up on the way, and integers and decimals
stay what they are; the combining is done once, where answers are rebuilt.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from gingham.algebra.fragments import modular
from gingham.algebra.fragments.condense import condense
from gingham.algebra.fragments.decomposition import Decomposition, Merge, add_only, finite
from gingham.algebra.fragments.exact_numbers import decimals, fitted, integers, largest, times
from gingham.algebra.fragments.rank import combine, independent
from gingham.core.arrays import Array, Bools, Floats, Ints
from gingham.core.errors import FragmentError


@dataclass(frozen=True, slots=True, eq=False)
class Exact(Decomposition):
    """Records are answers of the queries in `basis`; `coefficients` combine them to all others."""

    basis: Ints
    coefficients: Floats  # records x queries
    integral: bool  # are the coefficients exact, being integers?
    pivots: Bools  # as many fragments as records that tell the basis apart
    _residues: dict[int, Floats] = field(default_factory=dict[int, Floats], repr=False)

    @property
    def kind(self) -> str:
        return "linear"

    @property
    def size(self) -> int:
        return len(self.basis)

    def reduce(self, partials: Array, operation: Merge | None = None) -> Array:
        add_only(operation)
        partials = np.asarray(partials)
        self._expect("fragments", partials, len(self.fragments))
        members = self.fragments[:, self.basis].T
        if partials.dtype.kind == "f":
            return members.astype(np.float64) @ finite(partials)
        values, places = integers(partials)
        return decimals(times(members.astype(np.int64), values), places)

    def reconstruct(self, reduced: Array, operation: Merge | None = None) -> Array:
        add_only(operation)
        reduced = np.asarray(reduced)
        self._expect("records", reduced, self.size)
        if reduced.dtype.kind == "f":
            return self.coefficients.T @ reduced
        values, places = integers(reduced)
        if self.integral:
            answers = times(self.coefficients.T.astype(np.int64), values)
        else:
            answers = self._combine(values)
        return decimals(answers, places)

    def product(self) -> Array:
        return self.fragments[:, self.basis].astype(np.float64) @ self.coefficients

    def certified(self) -> bool:
        """Exactly for integers; modulo primes, and closely with doubles, for fractions."""
        if self.integral:
            return bool((self.product() == self.fragments).all())
        reducer = self.fragments[:, self.basis]
        agreed = (
            bool((modular.product(reducer, self._modulo(prime), prime) == self.fragments).all())
            for prime in islice(self._primes(), 2)
        )
        return Decomposition.certified(self) and all(agreed)

    def _combine(self, values: Array) -> Array:
        """Answers by their remainders: exact, though the coefficients are fractions."""
        flat = values.reshape(len(values), -1)
        steepest = float(np.abs(self.coefficients).sum(axis=0).max(initial=1))
        bits = largest(flat).bit_length() + math.ceil(math.log2(steepest + 1)) + 2
        # One prime more than needed: it notices records that were not made by `reduce`.
        chosen = list(islice(self._primes(), bits // 22 + 2))
        remainders = [
            modular.product(self._modulo(prime).T, (flat % prime).astype(np.float64), prime)
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

    def _primes(self) -> Iterator[int]:
        return (prime for prime in modular.primes() if len(self._modulo(prime)) == self.size)

    def _modulo(self, prime: int) -> Floats:
        """The coefficients modulo a prime; fewer rows if the prime divides a denominator."""
        if prime not in self._residues:
            self._residues[prime] = combine(self.pivots, self.basis, prime)
        return self._residues[prime]


def exact(fragments: Bools, prefer: Ints | None = None) -> Exact:
    """As many records as the rank of F; queries that are preferred become records if they can.

    >>> F = np.array([[1, 1, 0, 1], [0, 1, 1, 1], [1, 0, 1, 1]], dtype=bool)
    >>> answers = exact(F)
    >>> answers.size, answers.reconstruct(answers.reduce(np.array([5, 20, 300]))).tolist()
    (3, [305, 25, 320, 325])
    """
    condensed = condense(fragments)
    places = condensed.column_of[[] if prefer is None else prefer]
    basis = independent(condensed.matrix, places[places >= 0])
    return Exact(
        "exact",
        fragments,
        basis.notices,
        condensed.columns[basis.columns],
        condensed.expand_columns(basis.coefficients),
        basis.integral,
        fragments[condensed.rows[basis.rows]],
    )
