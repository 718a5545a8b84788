"""Edge rates by inclusion and exclusion, where equal intersections are merged into one term."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from gingham.algebra.edges.classes import ResidueClass, composite_period
from gingham.algebra.edges.rate import EdgeRate
from gingham.core.errors import BudgetError

MOST_TERMS = 200_000


def merged_terms(classes: Sequence[ResidueClass], most: int = MOST_TERMS) -> EdgeRate:
    """Compute the edge rate by inclusion and exclusion, with one term for equal intersections.

    An operation is the intersection of one term with one class.

    >>> merged_terms([(2, 0), (3, 0), (4, 0), (5, 0), (6, 0)]).fraction * 60
    Fraction(44, 1)
    """
    terms: dict[ResidueClass, int] = {(1, 0): 1}  # of the instants that are no edge so far
    operations = 0
    for residue_class in classes:
        operations += len(terms)
        added: dict[ResidueClass, int] = {}
        for term, coefficient in terms.items():
            if (both := intersection(term, residue_class)) is not None:
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
    without_edge = sum(coefficient * (period // slide) for (slide, _), coefficient in terms.items())
    how = "inclusion and exclusion"
    return EdgeRate(1 - Fraction(without_edge, period), operations=operations, how=how)


def intersection(one: ResidueClass, other: ResidueClass) -> ResidueClass | None:
    """Intersect two residue classes: again a residue class, or None if they have no instant.

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
