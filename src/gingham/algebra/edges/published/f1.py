"""Edge rates by inclusion and exclusion: F1 of Shein, Chrysanthis and Labrinidis (CIKM 2015).

Plain Python, one step of a loop for one operation, as in `bit_loop`: the two are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from gingham.algebra.edges.classes import ResidueClass, composite_period
from gingham.algebra.edges.published.gcd_table import Divisor, divisors_from_table, euclid
from gingham.algebra.edges.rate import EdgeRate
from gingham.core.errors import BudgetError

MOST_OPERATIONS = 20_000_000
_TABLE = 1_024  # numbers up to here are in the table of `f1_memoised`


def f1(classes: Sequence[ResidueClass], most: int = MOST_OPERATIONS) -> EdgeRate:
    """Compute the edge rate as F1 does: inclusion and exclusion over groups of classes that meet.

    An operation is an overlap check, a step of Euclid's algorithm or an addition.

    >>> f1([(2, 0), (3, 0), (4, 0), (5, 0), (6, 0)]).fraction * 60
    Fraction(44, 1)
    """
    return _rate(classes, euclid, most, "F1")


def f1_memoised(classes: Sequence[ResidueClass], most: int = MOST_OPERATIONS) -> EdgeRate:
    """Compute the edge rate by F1 with a table of divisors, which is kept from call to call.

    >>> f1_memoised([(3, 0), (4, 0), (4, 3), (6, 0), (6, 2), (9, 0)]).fraction * 36
    Fraction(27, 1)
    """
    return _rate(classes, divisors_from_table(_TABLE), most, "F1 with memoised divisors")


def _rate(classes: Sequence[ResidueClass], divisor: Divisor, most: int, how: str) -> EdgeRate:
    period = composite_period(classes)
    edges, operations = count_by_groups(classes, period, divisor, most)
    return EdgeRate(Fraction(edges, period), operations=operations, how=how)


def count_by_groups(
    classes: Sequence[ResidueClass],
    period: int,
    divisor: Divisor = euclid,
    most: float = MOST_OPERATIONS,
) -> tuple[int, int]:
    """Count the edges in one period by F1, and the operations: odd groups plus, even ones minus.

    A group takes one divisor: its lcm is that of a smaller group and one more slide. The study
    counts one for each slide of a group.

    >>> count_by_groups([(3, 0), (4, 0), (4, 3), (6, 0), (6, 2), (9, 0)], 36)[0]
    27
    """
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
                groups.append((longer, still_meet, -sign))
        if operations > most:
            raise BudgetError(
                f"an edge rate that needs more than {most:.1e} operations with F1",
                f"{len(classes)} classes have up to 2^{len(classes)} groups that meet",
                "edge_rate(classes), which chooses a way that is quick enough",
            )
    return edges, operations


def _overlap_checks(classes: Sequence[ResidueClass], divisor: Divisor) -> tuple[list[int], int]:
    """For each residue class the earlier ones that it meets, as bits, and the operations it took.

    Two classes meet if their residues are equal modulo the common divisor of their slides, so equal
    residues need no check.
    """
    meets: list[int] = []
    operations = 0
    for i, (slide, residue) in enumerate(classes):
        bits = 0
        for j, (other, other_residue) in enumerate(classes[:i]):
            if residue == other_residue:
                bits |= 1 << j
                continue
            common, steps = divisor(other, slide)
            operations += steps + 1
            if (residue - other_residue) % common == 0:
                bits |= 1 << j
        meets.append(bits)
    return meets, operations
