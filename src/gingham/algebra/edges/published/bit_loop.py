"""Edge rates by a bit set that is marked bit by bit: BS, which F1 is compared with.

Plain Python, one step of a loop for one operation, as in `f1`. The engine's own bit set
(`gingham.algebra.edges.bit_set`) marks all edges of a class at once with numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from gingham.algebra.edges.bit_set import MOST_BITS, period_too_long
from gingham.algebra.edges.classes import ResidueClass, composite_period
from gingham.algebra.edges.rate import EdgeRate


def bit_loop(classes: Sequence[ResidueClass], most: int = MOST_BITS) -> EdgeRate:
    """Compute the edge rate by marking the edges of one composite period, one after another.

    This is the bit set as Shein et al. (CIKM 2015) count its operations, Equation 7: one operation
    for each edge of each class.

    >>> bit_loop([(2, 0), (3, 0), (4, 0), (5, 0), (6, 0)]).fraction * 60
    Fraction(44, 1)
    """
    return _rate(classes, count_marked, most, "bit set, edge by edge")


def bit_scan(classes: Sequence[ResidueClass], most: int = MOST_BITS) -> EdgeRate:
    """Compute the edge rate by testing every bit of one composite period for every class.

    This is the bit set as Shein et al. (CIKM 2015) describe it in Section 3.1, one operation for
    each bit and class.

    >>> bit_scan([(2, 0), (3, 0), (4, 0), (5, 0), (6, 0)]).operations
    300
    """
    return _rate(classes, count_tested, most, "bit set, bit by bit")


def _rate(
    classes: Sequence[ResidueClass],
    count: Callable[[Sequence[ResidueClass], int, int], tuple[int, int]],
    most: int,
    how: str,
) -> EdgeRate:
    period = composite_period(classes)
    edges, operations = count(classes, period, most)
    return EdgeRate(Fraction(edges, period), operations=operations, how=how)


def count_marked(
    classes: Sequence[ResidueClass], period: int, most: int = MOST_BITS
) -> tuple[int, int]:
    """Count the edges in one period by marking each edge, and the operations that it takes."""
    bits = _no_bits(period, most)
    edges = operations = 0
    for slide, residue in classes:
        for edge in range(residue, period, slide):
            if not bits[edge]:
                bits[edge] = 1
                edges += 1
        operations += period // slide
    return edges, operations


def count_tested(
    classes: Sequence[ResidueClass], period: int, most: int = MOST_BITS
) -> tuple[int, int]:
    """Count the edges in one period by testing each bit, and the operations that it takes."""
    bits = _no_bits(period, most)
    edges = 0
    for slide, residue in classes:
        for bit in range(period):
            if bit % slide == residue and not bits[bit]:
                bits[bit] = 1
                edges += 1
    return edges, period * len(classes)


def _no_bits(period: int, most: int) -> bytearray:
    """A bit set without edges, a byte per bit: Python would have to shift and mask single bits."""
    if period > most:
        raise period_too_long(f"a bit set of {period:.1e} bits", most)
    return bytearray(period)
