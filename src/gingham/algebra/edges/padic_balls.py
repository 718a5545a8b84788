"""Residues modulo powers of one prime: nested balls, and the atoms between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gingham.core.arrays import Floats, Ints

Ball = tuple[int, int]  # (exponent e, residue modulo prime ** e)


@dataclass(frozen=True)
class Atoms:
    """What some balls cut the residues into: each ball without the smaller ones inside it.

    Balls stand in the order of a walk through their tree, so that the atoms of a ball are
    neighbours. Atoms that hold nothing are left out.
    """

    owners: tuple[int, ...]  # the ball of each atom
    spans: dict[int, slice]  # the atoms inside each ball
    weights: Floats  # probabilities; they sum to one

    def __len__(self) -> int:
        return len(self.owners)


class Balls:
    """All balls of one prime that classes use; sets of them are bits of an integer.

    >>> balls = Balls(2, [(1, 0), (2, 2), (3, 7)])
    >>> balls.found
    [(0, 0), (1, 0), (2, 2), (3, 7)]
    >>> atoms = balls.atoms(balls.bit((1, 0)) | balls.bit((2, 2)))
    >>> atoms.weights.tolist(), atoms.spans
    ([0.5, 0.25, 0.25], {0: slice(0, 3, None), 1: slice(1, 3, None), 2: slice(2, 3, None)})
    """

    def __init__(self, prime: int, balls: Iterable[Ball]) -> None:
        self.prime = prime
        # Digit by digit, a ball stands before those inside it: the order of a walk.
        self.found = sorted({(0, 0), *balls}, key=lambda ball: _digits(prime, *ball))
        self._index = {ball: i for i, ball in enumerate(self.found)}
        self._atoms: dict[int, Atoms] = {}

    def bit(self, ball: Ball) -> int:
        """The ball as a set of one."""
        return 1 << self._index[ball]

    def index(self, ball: Ball) -> int:
        """The ball's place in the walk."""
        return self._index[ball]

    @cached_property
    def _ends(self) -> list[int]:
        """The place after the last ball inside each ball."""
        ends = [len(self.found)] * len(self.found)
        open_balls: list[int] = []
        for i, (exponent, residue) in enumerate(self.found):
            while open_balls and not self._inside(open_balls[-1], exponent, residue):
                ends[open_balls.pop()] = i
            open_balls.append(i)
        return ends

    def _inside(self, outer: int, exponent: int, residue: int) -> bool:
        larger, outer_residue = self.found[outer]
        return larger <= exponent and residue % self.prime**larger == outer_residue

    def atoms(self, chosen: int) -> Atoms:
        """What these balls, and the whole, cut the residues into."""
        chosen |= 1
        if chosen not in self._atoms:
            self._atoms[chosen] = self._cut(_places(chosen))
        return self._atoms[chosen]

    def _cut(self, places: list[int]) -> Atoms:
        finest = max(self.found[i][0] for i in places)
        total = self.prime**finest
        sizes = {i: self.prime ** (finest - self.found[i][0]) for i in places}
        left = dict(sizes)
        parents: list[int] = []
        for i in places:
            while parents and self._ends[parents[-1]] <= i:
                parents.pop()
            if parents:
                left[parents[-1]] -= sizes[i]
            parents.append(i)
        owners = tuple(i for i in places if left[i])
        stops = np.searchsorted(owners, [self._ends[i] for i in places])
        spans = {
            i: slice(int(start), int(stop))
            for i, start, stop in zip(places, np.searchsorted(owners, places), stops, strict=True)
        }
        return Atoms(owners, spans, np.array([left[i] / total for i in owners]))

    def coarsened(self, fine: int, coarse: int) -> Ints:
        """For each atom of the fine balls the atom of the coarse ones that it lies in."""
        target = self.atoms(coarse)
        where = {owner: i for i, owner in enumerate(target.owners)}
        found: list[int] = []
        coarse |= 1
        open_balls: list[int] = []
        wanted = set(self.atoms(fine).owners)
        for i in _places(fine | 1):
            while open_balls and self._ends[open_balls[-1]] <= i:
                open_balls.pop()
            if coarse >> i & 1:
                open_balls.append(i)
            if i in wanted:
                found.append(where[open_balls[-1]])
        return np.array(found, dtype=np.int64)


def _digits(prime: int, exponent: int, residue: int) -> tuple[int, ...]:
    digits: list[int] = []
    for _ in range(exponent):
        residue, digit = divmod(residue, prime)
        digits.append(digit)
    return tuple(digits)


def _places(bits: int) -> list[int]:
    return [i for i, bit in enumerate(reversed(f"{bits:b}")) if bit == "1"]
