"""Edge rates by looking at every edge of one composite period."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from gingham.algebra.edges.classes import ResidueClass, composite_period
from gingham.algebra.edges.rate import EdgeRate
from gingham.core.errors import BudgetError

MOST_CHECKS = 1_000_000_000
MOST_BITS = 400_000_000
_CHUNK = 1 << 20


def naive(classes: Sequence[ResidueClass], most: int = MOST_CHECKS) -> EdgeRate:
    """Check every edge of every class against all classes before it.

    This is how Guirguis et al. (CIKM 2011, Section 8) begin. An operation is one such check.

    >>> naive([(3, 0), (4, 0), (4, 3), (6, 0), (6, 2), (9, 0)]).fraction * 36
    Fraction(27, 1)
    """
    period = composite_period(classes)
    checks = sum(period // slide * i for i, (slide, _) in enumerate(classes))
    if checks > most:
        raise _too_long(f"{checks:.1e} checks", most)
    edges = 0
    for i, (slide, residue) in enumerate(classes):
        for start in range(residue, period, slide * _CHUNK):
            times = np.arange(start, min(start + slide * _CHUNK, period), slide)
            new = np.ones(len(times), dtype=bool)
            for other, other_residue in classes[:i]:
                new &= times % other != other_residue
            edges += int(np.count_nonzero(new))
    return EdgeRate(Fraction(edges, period), operations=checks, how="naive count")


def bit_set(classes: Sequence[ResidueClass], most: int = MOST_BITS) -> EdgeRate:
    """Mark a bit per edge in one composite period, and count them.

    An operation is one bit that is marked, or found marked.

    >>> bit_set([(2, 0), (3, 0), (4, 0), (5, 0), (6, 0)]).fraction * 60
    Fraction(44, 1)
    """
    period = composite_period(classes)
    if period > most:
        raise _too_long(f"a bit set of {period:.1e} bits", most)
    bits = np.zeros(period, dtype=bool)
    for slide, residue in classes:
        bits[residue::slide] = True
    marked = sum(period // slide for slide, _ in classes)
    return EdgeRate(Fraction(int(np.count_nonzero(bits)), period), operations=marked, how="bit set")


def _too_long(what: str, most: int) -> BudgetError:
    return BudgetError(
        f"an edge rate that needs {what}",
        f"the composite period of the slides is too long: at most {most:.1e} are allowed",
        "edge_rate(classes), which chooses a way that is quick enough",
    )
