"""P-adic balls: residue classes modulo powers of one prime, any two nested or disjoint."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gingham.core.arrays import Floats, Ints

Ball = tuple[int, int]  # (exponent e, residue modulo prime ** e)


@dataclass(frozen=True)
class Atoms:
    """The partition of all residues by some balls: each ball without the smaller ones inside it.

    Balls are numbered in preorder of their nesting, so the atoms inside a ball are neighbours.
    Empty atoms are left out.
    """

    owners: tuple[int, ...]  # the ball that each atom is the rest of, as an index
    spans: dict[int, slice]  # the atoms inside each ball
    weights: Floats  # the probability of each atom; they sum to one

    def __len__(self) -> int:
        return len(self.owners)


class PadicBalls:
    """All p-adic balls of one prime that residue classes use; a set of balls is bits of an integer.

    >>> balls = PadicBalls(2, [(1, 0), (2, 2), (3, 7)])
    >>> balls.in_preorder
    [(0, 0), (1, 0), (2, 2), (3, 7)]
    >>> atoms = balls.atoms(balls.bit((1, 0)) | balls.bit((2, 2)))
    >>> atoms.weights.tolist(), atoms.spans
    ([0.5, 0.25, 0.25], {0: slice(0, 3, None), 1: slice(1, 3, None), 2: slice(2, 3, None)})
    """

    def __init__(self, prime: int, balls: Iterable[Ball]) -> None:
        self.prime = prime
        # Preorder: compared digit by digit, a ball stands before those inside it.
        self.in_preorder = sorted({(0, 0), *balls}, key=lambda ball: _digits(prime, *ball))
        self._index = {ball: i for i, ball in enumerate(self.in_preorder)}
        self._atoms: dict[int, Atoms] = {}

    def bit(self, ball: Ball) -> int:
        """The set that holds only this p-adic ball, as the bits of an integer."""
        return 1 << self._index[ball]

    def index(self, ball: Ball) -> int:
        """The index of a p-adic ball in preorder of the nesting of balls."""
        return self._index[ball]

    @cached_property
    def _ends(self) -> list[int]:
        """For each p-adic ball the index after the last ball nested inside it."""
        ends = [len(self.in_preorder)] * len(self.in_preorder)
        open_balls: list[int] = []
        for i, (exponent, residue) in enumerate(self.in_preorder):
            while open_balls and not self._inside(open_balls[-1], exponent, residue):
                ends[open_balls.pop()] = i
            open_balls.append(i)
        return ends

    def _inside(self, outer: int, exponent: int, residue: int) -> bool:
        """Whether a p-adic ball lies inside the ball with the index `outer`."""
        larger, outer_residue = self.in_preorder[outer]
        return larger <= exponent and residue % self.prime**larger == outer_residue

    def atoms(self, ball_set: int) -> Atoms:
        """The partition of all residues by a set of p-adic balls."""
        ball_set |= 1
        if ball_set not in self._atoms:
            self._atoms[ball_set] = self._partition(_members(ball_set))
        return self._atoms[ball_set]

    def _partition(self, indices: list[int]) -> Atoms:
        """Partition residues into atoms: each p-adic ball without the smaller ones inside it."""
        finest = max(self.in_preorder[i][0] for i in indices)
        total = self.prime**finest
        sizes = {i: self.prime ** (finest - self.in_preorder[i][0]) for i in indices}
        remaining = dict(sizes)
        parents: list[int] = []
        for i in indices:
            while parents and self._ends[parents[-1]] <= i:
                parents.pop()
            if parents:
                remaining[parents[-1]] -= sizes[i]
            parents.append(i)
        owners = tuple(i for i in indices if remaining[i])
        stops = np.searchsorted(owners, [self._ends[i] for i in indices])
        spans = {
            i: slice(int(start), int(stop))
            for i, start, stop in zip(indices, np.searchsorted(owners, indices), stops, strict=True)
        }
        return Atoms(owners, spans, np.array([remaining[i] / total for i in owners]))

    def coarsened(self, fine: int, coarse: int) -> Ints:
        """Map each atom of the fine set of p-adic balls to the atom of the coarse set around it."""
        target = self.atoms(coarse)
        atom_of_ball = {owner: i for i, owner in enumerate(target.owners)}
        coarse_atoms: list[int] = []
        coarse |= 1
        open_balls: list[int] = []
        fine_owners = set(self.atoms(fine).owners)
        for i in _members(fine | 1):
            while open_balls and self._ends[open_balls[-1]] <= i:
                open_balls.pop()
            if coarse >> i & 1:
                open_balls.append(i)
            if i in fine_owners:
                coarse_atoms.append(atom_of_ball[open_balls[-1]])
        return np.array(coarse_atoms, dtype=np.int64)


def _digits(prime: int, exponent: int, residue: int) -> tuple[int, ...]:
    """The digits of a residue in base `prime`, lowest first: its path into nested p-adic balls."""
    digits: list[int] = []
    for _ in range(exponent):
        residue, digit = divmod(residue, prime)
        digits.append(digit)
    return tuple(digits)


def _members(bits: int) -> list[int]:
    """The indices of the ones among an integer's bits: the members of a set of p-adic balls."""
    return [i for i, bit in enumerate(reversed(f"{bits:b}")) if bit == "1"]
