"""Exact edge rates by eliminating one prime after another.

By the Chinese remainder theorem the residues of a random instant modulo powers of different
primes are independent, and an instant is in a class if, for each prime of the slide, its residue is
in one p-adic ball (see `padic_balls`). The probability that an instant is in no class is therefore
a sum of products over few variables, which is computed by variable elimination, as in probabilistic
inference. All terms are non-negative, so no digits cancel.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from gingham.algebra.edges.classes import ResidueClass
from gingham.algebra.edges.padic_balls import PadicBalls
from gingham.algebra.edges.primes import factorized
from gingham.algebra.edges.rate import EdgeRate
from gingham.core.arrays import Floats
from gingham.core.errors import BudgetError

MOST_ENTRIES = 20_000_000

Scope = dict[int, int]  # for each prime the set of balls that a factor depends on, as bits


@dataclass(frozen=True, eq=False)
class _Clause:
    """The factor that is zero inside a residue class: the product of one ball of each prime."""

    scope: Scope
    ball_indices: dict[int, int]


@dataclass(frozen=True, eq=False)
class _Message:
    """The factor left by eliminated primes: a table over atoms of the others, axes as in scope."""

    scope: Scope
    table: Floats


def eliminate(classes: Sequence[ResidueClass], most: int = MOST_ENTRIES) -> EdgeRate:
    """Compute the exact edge rate by summing out all primes of the slides, smallest table first.

    An operation is one entry of a table that is multiplied, set to zero or added up.

    >>> round(eliminate([(2, 0), (3, 0), (4, 0), (5, 0), (6, 0)]) * 60, 9)
    44.0
    """
    clauses, balls = _clauses_of_classes(classes)
    factors: dict[int, list[_Clause | _Message]] = {prime: [] for prime in balls}
    for clause in clauses:
        for prime in clause.scope:
            factors[prime].append(clause)
    without_edge, operations = 1.0, 0
    if any(not clause.scope for clause in clauses):  # slide 1: every instant is an edge
        return EdgeRate(1.0, operations=1, how="elimination")
    sizes = {prime: _table_size(_merged_scope(of_prime)) for prime, of_prime in factors.items()}
    while sizes:
        prime = min(sizes, key=lambda p: (sizes[p], -p))
        del sizes[prime]
        dependent = factors.pop(prime)
        scope = _merged_scope(dependent)
        others = {p: bits for p, bits in scope.items() if p != prime}
        shape = [len(balls[p].atoms(bits)) for p, bits in others.items()]
        entries = math.prod(shape) * len(balls[prime].atoms(scope[prime]))
        if entries > most:
            raise BudgetError(
                f"an edge rate that needs a table of {entries:.1e} cells",
                f"slides with many common primes tie {len(classes)} classes together",
                "edge_rate(classes), which then looks at random blocks of time",
            )
        table, table_operations = _multiply_and_sum_out(
            prime, {**others, prime: scope[prime]}, dependent, balls
        )
        operations += table_operations
        for p in others:
            factors[p] = [factor for factor in factors[p] if prime not in factor.scope]
        if others:
            message = _Message(others, table)
            for p in others:
                factors[p].append(message)
        else:
            without_edge *= float(table)
        for p in others:
            sizes[p] = _table_size(_merged_scope(factors[p]))
    return EdgeRate(1.0 - without_edge, operations=operations, how="elimination")


def _clauses_of_classes(
    classes: Sequence[ResidueClass],
) -> tuple[list[_Clause], dict[int, PadicBalls]]:
    """Split each residue class into one p-adic ball per prime of its slide; collect the balls."""
    balls_of_classes = [
        {prime: (power, residue % prime**power) for prime, power in factorized(slide)}
        for slide, residue in classes
    ]
    primes = sorted({prime for by_prime in balls_of_classes for prime in by_prime})
    balls = {
        p: PadicBalls(p, [by_prime[p] for by_prime in balls_of_classes if p in by_prime])
        for p in primes
    }
    clauses = [
        _Clause(
            {p: balls[p].bit(ball) for p, ball in by_prime.items()},
            {p: balls[p].index(ball) for p, ball in by_prime.items()},
        )
        for by_prime in balls_of_classes
    ]
    return clauses, balls


def _merged_scope(factors: Iterable[_Clause | _Message]) -> Scope:
    """The scope of a product: all p-adic balls of the factors, the whole (bit 0) of each prime."""
    scope: Scope = {}
    for factor in factors:
        for prime, bits in factor.scope.items():
            scope[prime] = scope.get(prime, 1) | bits
    return scope


def _table_size(scope: Scope) -> int:
    """Bound the entries of an elimination table over this scope of p-adic balls."""
    return math.prod(bits.bit_count() for bits in scope.values())


def _multiply_and_sum_out(
    prime: int, scope: Scope, factors: Iterable[_Clause | _Message], balls: dict[int, PadicBalls]
) -> tuple[Floats, int]:
    """Multiply all factors over the atoms of the scope, and sum out one prime, the last axis."""
    atoms = {p: balls[p].atoms(bits) for p, bits in scope.items()}
    table = np.ones([len(of_prime) for of_prime in atoms.values()])
    operations = 2 * table.size
    for factor in factors:
        if isinstance(factor, _Message):
            shared = [p for p in scope if p in factor.scope]
            # Align the message with this table: axes in its order, atoms as fine as its own.
            values = factor.table.transpose([list(factor.scope).index(p) for p in shared])
            maps = [balls[p].coarsened(scope[p], factor.scope[p]) for p in shared]
            table *= values[np.ix_(*maps)].reshape(
                [len(atoms[p]) if p in factor.scope else 1 for p in scope]
            )
            operations += table.size
    for factor in factors:
        if isinstance(factor, _Clause):
            hit = tuple(
                atoms[p].spans[factor.ball_indices[p]] if p in factor.ball_indices else slice(None)
                for p in scope
            )
            inside = table[hit]
            inside[...] = 0.0
            operations += inside.size
    return np.asarray(table @ atoms[prime].weights), operations
