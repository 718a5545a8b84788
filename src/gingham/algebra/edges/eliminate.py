"""Exact edge rates by eliminating one prime after another.

By the Chinese remainder theorem the residues of a random instant modulo powers of different
primes are independent, and a class asks for one ball of each prime of its slide. That no class is
hit is therefore a sum of products over few variables, as in probabilistic inference. All terms are
non-negative: nothing cancels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from gingham.algebra.edges.classes import ResidueClass
from gingham.algebra.edges.padic_balls import Balls
from gingham.algebra.edges.primes import factorized
from gingham.algebra.edges.rate import EdgeRate
from gingham.core.arrays import Floats
from gingham.core.errors import BudgetError

MOST_CELLS = 20_000_000

Scope = dict[int, int]  # for each prime the balls that matter, as bits


@dataclass(frozen=True, eq=False)
class _Clause:
    """A class that must not be hit: one ball of each prime."""

    scope: Scope
    places: dict[int, int]


@dataclass(frozen=True, eq=False)
class _Message:
    """The probability that eliminated primes allow, given atoms of the others, in scope order."""

    scope: Scope
    table: Floats


def eliminate(classes: Sequence[ResidueClass], most: int = MOST_CELLS) -> EdgeRate:
    """Sum out all primes, always the one with the smallest table next.

    An operation is one cell of a table that is multiplied, emptied or added up.

    >>> round(eliminate([(2, 0), (3, 0), (4, 0), (5, 0), (6, 0)]) * 60, 9)
    44.0
    """
    clauses, balls = _clauses(classes)
    factors: dict[int, list[_Clause | _Message]] = {prime: [] for prime in balls}
    for clause in clauses:
        for prime in clause.scope:
            factors[prime].append(clause)
    missed, operations = 1.0, 0
    if any(not clause.scope for clause in clauses):  # slide 1 hits always
        return EdgeRate(1.0, operations=1, how="elimination")
    sizes = {prime: _size(_merged(found)) for prime, found in factors.items()}
    while sizes:
        prime = min(sizes, key=lambda p: (sizes[p], -p))
        del sizes[prime]
        touched = factors.pop(prime)
        scope = _merged(touched)
        others = {p: bits for p, bits in scope.items() if p != prime}
        shape = [len(balls[p].atoms(bits)) for p, bits in others.items()]
        cells = math.prod(shape) * len(balls[prime].atoms(scope[prime]))
        if cells > most:
            raise BudgetError(
                f"an edge rate that needs a table of {cells:.1e} cells",
                f"slides with many common primes tie {len(classes)} classes together",
                "edge_rate(classes), which then looks at random blocks of time",
            )
        table, took = _table(prime, {**others, prime: scope[prime]}, touched, balls)
        operations += took
        for p in others:
            factors[p] = [one for one in factors[p] if prime not in one.scope]
        if others:
            message = _Message(others, table)
            for p in others:
                factors[p].append(message)
        else:
            missed *= float(table)
        for p in others:
            sizes[p] = _size(_merged(factors[p]))
    return EdgeRate(1.0 - missed, operations=operations, how="elimination")


def _clauses(classes: Sequence[ResidueClass]) -> tuple[list[_Clause], dict[int, Balls]]:
    asked = [
        {prime: (power, residue % prime**power) for prime, power in factorized(slide)}
        for slide, residue in classes
    ]
    primes = sorted({prime for one in asked for prime in one})
    balls = {p: Balls(p, [one[p] for one in asked if p in one]) for p in primes}
    clauses = [
        _Clause(
            {p: balls[p].bit(ball) for p, ball in one.items()},
            {p: balls[p].index(ball) for p, ball in one.items()},
        )
        for one in asked
    ]
    return clauses, balls


def _merged(factors: Iterable[_Clause | _Message]) -> Scope:
    scope: Scope = {}
    for factor in factors:
        for prime, bits in factor.scope.items():
            scope[prime] = scope.get(prime, 1) | bits
    return scope


def _size(scope: Scope) -> int:
    return math.prod(bits.bit_count() for bits in scope.values())


def _table(
    prime: int, scope: Scope, factors: Iterable[_Clause | _Message], balls: dict[int, Balls]
) -> tuple[Floats, int]:
    """Multiply all factors over the atoms of the scope, and sum the last axis out."""
    atoms = {p: balls[p].atoms(bits) for p, bits in scope.items()}
    table = np.ones([len(found) for found in atoms.values()])
    operations = 2 * table.size
    for factor in factors:
        if isinstance(factor, _Message):
            shared = [p for p in scope if p in factor.scope]
            # Axes in the order of this table, atoms as fine as its own.
            values = factor.table.transpose([list(factor.scope).index(p) for p in shared])
            maps = [balls[p].coarsened(scope[p], factor.scope[p]) for p in shared]
            table *= values[np.ix_(*maps)].reshape(
                [len(atoms[p]) if p in factor.scope else 1 for p in scope]
            )
            operations += table.size
    for factor in factors:
        if isinstance(factor, _Clause):
            hit = tuple(
                atoms[p].spans[factor.places[p]] if p in factor.places else slice(None)
                for p in scope
            )
            emptied = table[hit]
            emptied[...] = 0.0
            operations += emptied.size
    return np.asarray(table @ atoms[prime].weights), operations
