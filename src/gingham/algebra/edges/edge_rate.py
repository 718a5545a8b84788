"""The edge rate of a union of residue classes, by whichever algorithm is quick enough."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache

from gingham.algebra.edges.bit_set import bit_set
from gingham.algebra.edges.classes import (
    ResidueClass,
    composite_period,
    normalized,
    pane_length,
)
from gingham.algebra.edges.eliminate import MOST_ENTRIES, eliminate
from gingham.algebra.edges.merged_terms import merged_terms
from gingham.algebra.edges.random_blocks import random_blocks
from gingham.algebra.edges.rate import EdgeRate, checked_classes
from gingham.core.errors import BudgetError

_FEW_CLASSES, _SOME_CLASSES = 6, 20
_SHORT_PERIOD = 4_000_000


def edge_rate(classes: Iterable[ResidueClass], *, most: int | None = None) -> EdgeRate:
    """Count the edges per tick of a union of residue classes, given as pairs (slide, residue).

    The rate is exact as long as no table of the elimination needs more than `most` entries;
    otherwise it is estimated, with a margin. `EdgeRate.how` names the algorithm.

    >>> rate = edge_rate([(3, 0), (4, 0), (4, 3), (6, 0), (6, 2), (9, 0)])
    >>> float(rate), rate.fraction, rate.how
    (0.75, Fraction(3, 4), 'inclusion and exclusion')
    """
    distinct = normalized(checked_classes(classes))
    if not distinct:
        return EdgeRate(0.0, operations=0, how="no edges")
    return _rate_in_panes(distinct, MOST_ENTRIES if most is None else most)


# Cached: query sets that differ only in their predicates have the same windows.
@lru_cache(maxsize=256)
def _rate_in_panes(classes: tuple[ResidueClass, ...], most: int) -> EdgeRate:
    """Compute the edge rate in panes, the longest unit of time in which all edges are integers."""
    pane, origin = pane_length(classes), classes[0][1]
    panes = [(s // pane, (a - origin) // pane % (s // pane)) for s, a in classes]
    rate = _quickest_rate(panes, most)
    value = rate.fraction if rate.fraction is not None else float(rate)
    return EdgeRate(
        value / pane, operations=rate.operations, how=rate.how, margin=rate.margin / pane
    )


def _quickest_rate(classes: Sequence[ResidueClass], most: int) -> EdgeRate:
    """Run the first exact edge-rate algorithm that is quick enough, else sample random blocks."""
    if len(classes) <= _FEW_CLASSES:
        return merged_terms(classes)
    if composite_period(classes) <= _SHORT_PERIOD:
        return bit_set(classes)
    if len(classes) <= _SOME_CLASSES:
        # Up to 20 classes may still meet in too many ways, as primes do; elimination is exact then.
        with suppress(BudgetError):
            return merged_terms(classes)
    try:
        return eliminate(classes, most)
    except BudgetError:
        return _clip_rate(random_blocks(classes), classes)


def _clip_rate(rate: EdgeRate, classes: Sequence[ResidueClass]) -> EdgeRate:
    """Clip an estimated edge rate: at most the rates of all classes, at least that of any one."""
    low = max(float(rate) - rate.margin, 1 / min(slide for slide, _ in classes))
    high = min(float(rate) + rate.margin, math.fsum(1 / slide for slide, _ in classes), 1.0)
    middle, margin = (low + high) / 2, (high - low) / 2
    value = min(max(float(rate), low), high)
    margin += abs(value - middle)
    return EdgeRate(value, operations=rate.operations, how=rate.how, margin=margin)
