"""Edge rates by inclusion and exclusion, equal intersections taken together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from gingham.algebra.edges.classes import ResidueClass, composite_period
from gingham.algebra.edges.rate import EdgeRate
from gingham.core.errors import BudgetError

MOST_TERMS = 200_000


def merged_terms(classes: Sequence[ResidueClass], most: int = MOST_TERMS) -> EdgeRate:
    """As F1, but groups of classes with the same intersection are one term.

    An operation is one term that a class is intersected with.

    >>> merged_terms([(2, 0), (3, 0), (4, 0), (5, 0), (6, 0)]).fraction * 60
    Fraction(44, 1)
    """
    terms: dict[ResidueClass, int] = {(1, 0): 1}  # what no class has hit yet
    operations = 0
    for one in classes:
        operations += len(terms)
        added: dict[ResidueClass, int] = {}
        for term, coefficient in terms.items():
            if (both := intersection(term, one)) is not None:
                added[both] = added.get(both, 0) - coefficient
        for both, coefficient in added.items():
            coefficient += terms.get(both, 0)  # noqa: PLW2901
            if coefficient:
                terms[both] = coefficient
            else:
                terms.pop(both, None)
        if len(terms) > most:
            raise BudgetError(
                f"an edge rate with more than {most:,} terms",
                f"{len(classes)} classes meet in too many different ways",
                "edge_rate(classes), which chooses a way that is quick enough",
            )
    period = composite_period(classes)
    missed = sum(coefficient * (period // slide) for (slide, _), coefficient in terms.items())
    how = "inclusion and exclusion"
    return EdgeRate(1 - Fraction(missed, period), operations=operations, how=how)


def intersection(one: ResidueClass, other: ResidueClass) -> ResidueClass | None:
    """The class of all instants that are in both, if there are any.

    >>> intersection((4, 1), (6, 3)), intersection((4, 1), (6, 2))
    ((12, 9), None)
    """
    (slide, residue), (other_slide, other_residue) = one, other
    common = math.gcd(slide, other_slide)
    steps, rest = divmod(other_residue - residue, common)
    if rest:
        return None
    finer = other_slide // common
    return slide * finer, residue + slide * (steps * pow(slide // common, -1, finer) % finer)
