"""Edge rates by inclusion and exclusion: F1 of Shein, Chrysanthis and Labrinidis (CIKM 2015)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from gingham.algebra.edges.classes import ResidueClass, composite_period
from gingham.algebra.edges.rate import EdgeRate
from gingham.core.errors import BudgetError

MOST_OPERATIONS = 20_000_000

Divisor = Callable[[int, int], tuple[int, int]]  # greatest common divisor, operations it took


def f1(classes: Sequence[ResidueClass], most: int = MOST_OPERATIONS) -> EdgeRate:
    """Compute the edge rate as F1 does: inclusion and exclusion over groups of classes that meet.

    An operation is an overlap check, a step of Euclid's algorithm or an addition.

    >>> f1([(2, 0), (3, 0), (4, 0), (5, 0), (6, 0)]).fraction * 60
    Fraction(44, 1)
    """
    return _sum_of_groups(classes, _euclid, most, "F1")


def f1_memoised(classes: Sequence[ResidueClass], most: int = MOST_OPERATIONS) -> EdgeRate:
    """Compute the edge rate by F1 with a table of divisors; a lookup is a single operation.

    >>> f1_memoised([(3, 0), (4, 0), (4, 3), (6, 0), (6, 2), (9, 0)]).fraction * 36
    Fraction(27, 1)
    """
    divisors: dict[tuple[int, int], int] = {}

    def divisor(a: int, b: int) -> tuple[int, int]:
        # After one step of Euclid both numbers are at most the slide: few pairs are different.
        pair = (b, a % b)
        if pair in divisors:
            return divisors[pair], 2
        divisors[pair], steps = _euclid(*pair)
        return divisors[pair], steps + 1

    return _sum_of_groups(classes, divisor, most, "F1 with memoised divisors")


def _euclid(a: int, b: int) -> tuple[int, int]:
    """The greatest common divisor of two slides and the number of steps of Euclid's algorithm."""
    steps = 0
    while b:
        a, b = b, a % b
        steps += 1
    return a, steps


def _sum_of_groups(
    classes: Sequence[ResidueClass], divisor: Divisor, most: int, how: str
) -> EdgeRate:
    """Add the edge densities of all groups of classes that meet: odd groups plus, even minus."""
    period = composite_period(classes)
    meets, operations = _overlap_checks(classes, divisor)
    edges = 0
    # A group: the lcm of its slides, the classes that may still join it as bits, and its sign.
    groups: list[tuple[int, int, int]] = [(1, (1 << len(classes)) - 1, 1)]
    while groups:
        multiple, may_join, sign = groups.pop()
        while may_join:
            joining = may_join.bit_length() - 1
            may_join ^= 1 << joining
            slide = classes[joining][0]
            common, steps = divisor(multiple, slide)
            longer = multiple // common * slide
            edges += sign * (period // longer)
            operations += steps + 1
            if still_meet := may_join & meets[joining]:
                operations += still_meet.bit_count()
                groups.append((longer, still_meet, -sign))
        if operations > most:
            raise BudgetError(
                f"an edge rate that needs more than {most:.1e} operations with {how}",
                f"{len(classes)} classes have up to 2^{len(classes)} groups that meet",
                "edge_rate(classes), which chooses a way that is quick enough",
            )
    return EdgeRate(Fraction(edges, period), operations=operations, how=how)


def _overlap_checks(classes: Sequence[ResidueClass], divisor: Divisor) -> tuple[list[int], int]:
    """For each residue class the earlier ones that it meets, as bits, and the operations it took.

    Two classes meet if their residues are equal modulo the common divisor of their slides.
    """
    meets: list[int] = []
    operations = 0
    for i, (slide, residue) in enumerate(classes):
        bits = 0
        for j, (other, other_residue) in enumerate(classes[:i]):
            common, steps = divisor(other, slide)
            operations += steps + 1
            if (residue - other_residue) % common == 0:
                bits |= 1 << j
        meets.append(bits)
    return meets, operations
