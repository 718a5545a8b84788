"""Edge rates by testing every edge against all other classes: the baseline of the papers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from gingham.algebra.edges.bit_set import period_too_long
from gingham.algebra.edges.classes import ResidueClass, composite_period
from gingham.algebra.edges.rate import EdgeRate

MOST_CHECKS = 1_000_000_000
_CHUNK = 1 << 20


def naive(classes: Sequence[ResidueClass], most: int = MOST_CHECKS) -> EdgeRate:
    """Compute the edge rate by checking every edge of every class against all earlier classes.

    This is the naive count of Guirguis et al. (CIKM 2011, Section 8). An operation is one check.

    >>> naive([(3, 0), (4, 0), (4, 3), (6, 0), (6, 2), (9, 0)]).fraction * 36
    Fraction(27, 1)
    """
    period = composite_period(classes)
    checks = sum(period // slide * i for i, (slide, _) in enumerate(classes))
    if checks > most:
        raise period_too_long(f"{checks:.1e} checks", most)
    edges = 0
    for i, (slide, residue) in enumerate(classes):
        for start in range(residue, period, slide * _CHUNK):
            times = np.arange(start, min(start + slide * _CHUNK, period), slide)
            new = np.ones(len(times), dtype=bool)
            for other, other_residue in classes[:i]:
                new &= times % other != other_residue
            edges += int(np.count_nonzero(new))
    return EdgeRate(Fraction(edges, period), operations=checks, how="naive count")
