"""Edge rates by marking every edge of one composite period in a bit set."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from gingham.algebra.edges.classes import ResidueClass, composite_period
from gingham.algebra.edges.rate import EdgeRate
from gingham.core.errors import BudgetError

MOST_BITS = 400_000_000


def bit_set(classes: Sequence[ResidueClass], most: int = MOST_BITS) -> EdgeRate:
    """Compute the edge rate of residue classes by marking a bit per edge of one composite period.

    An operation is one bit that is marked, whether it was marked before or not.

    >>> bit_set([(2, 0), (3, 0), (4, 0), (5, 0), (6, 0)]).fraction * 60
    Fraction(44, 1)
    """
    period = composite_period(classes)
    if period > most:
        raise period_too_long(f"a bit set of {period:.1e} bits", most)
    bits = np.zeros(period, dtype=bool)
    for slide, residue in classes:
        bits[residue::slide] = True
    marked = sum(period // slide for slide, _ in classes)
    return EdgeRate(Fraction(int(np.count_nonzero(bits)), period), operations=marked, how="bit set")


def period_too_long(what: str, most: int) -> BudgetError:
    """Build the error for edge-rate algorithms that visit every edge, if the period is too long."""
    return BudgetError(
        f"an edge rate that needs {what}",
        f"the composite period of the slides is too long: at most {most:.1e} are allowed",
        "edge_rate(classes), which chooses a way that is quick enough",
    )
