"""Which way to an edge rate is quick enough."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from gingham.algebra.edges.blocks import random_blocks
from gingham.algebra.edges.classes import (
    ResidueClass,
    composite_period,
    normalized,
    pane_length,
)
from gingham.algebra.edges.count import bit_set, naive
from gingham.algebra.edges.eliminate import MOST_CELLS, eliminate
from gingham.algebra.edges.formula import f1, f1_memoised
from gingham.algebra.edges.rate import EdgeRate, checked
from gingham.algebra.edges.terms import merged_terms
from gingham.core.errors import BudgetError, QueryError

# Each takes classes that `normalized` has thinned out, and raises BudgetError where it gives up.
METHODS: dict[str, Callable[..., EdgeRate]] = {
    "naive": naive,
    "bit_set": bit_set,
    "f1": f1,
    "f1_memoised": f1_memoised,
    "merged_terms": merged_terms,
    "elimination": eliminate,
    "blocks": random_blocks,
}

_FEW_CLASSES, _SOME_CLASSES = 6, 20
_SHORT_PERIOD = 4_000_000


def edge_rate(
    classes: Iterable[ResidueClass], method: str = "best", *, most: int | None = None
) -> EdgeRate:
    """Edges per tick of all classes together; classes are pairs (slide, residue).

    Exact as long as no table has more than `most` cells, else with a margin; `how` says which. A
    method of `METHODS` gives up where it needs more than `most` of what it counts.

    >>> rate = edge_rate([(3, 0), (4, 0), (4, 3), (6, 0), (6, 2), (9, 0)])
    >>> float(rate), rate.fraction, rate.how
    (0.75, Fraction(3, 4), 'inclusion and exclusion')
    """
    thin = normalized(checked(classes))
    if not thin:
        return EdgeRate(0.0, operations=0, how="no edges")
    if method == "best":
        return _best(thin, MOST_CELLS if most is None else most)
    if method not in METHODS:
        raise QueryError(
            f"there is no way {method!r} to an edge rate",
            "its name is none of ours",
            ", ".join(["best", *METHODS]),
        )
    return METHODS[method](thin) if most is None else METHODS[method](thin, most)


def _best(classes: tuple[ResidueClass, ...], most: int) -> EdgeRate:
    pane, origin = pane_length(classes), classes[0][1]
    panes = [(s // pane, (a - origin) // pane % (s // pane)) for s, a in classes]
    rate = _of_panes(panes, most)
    value = rate.fraction if rate.fraction is not None else float(rate)
    return EdgeRate(
        value / pane, operations=rate.operations, how=rate.how, margin=rate.margin / pane
    )


def _of_panes(classes: Sequence[ResidueClass], most: int) -> EdgeRate:
    if len(classes) <= _FEW_CLASSES:
        return merged_terms(classes)
    if composite_period(classes) <= _SHORT_PERIOD:
        return bit_set(classes)
    try:
        if len(classes) <= _SOME_CLASSES:
            return merged_terms(classes)
        return eliminate(classes, most)
    except BudgetError:
        return _narrowed(random_blocks(classes), classes)


def _narrowed(rate: EdgeRate, classes: Sequence[ResidueClass]) -> EdgeRate:
    """No union is denser than its parts together, or thinner than its densest part."""
    low = max(float(rate) - rate.margin, 1 / min(slide for slide, _ in classes))
    high = min(float(rate) + rate.margin, math.fsum(1 / slide for slide, _ in classes), 1.0)
    middle, margin = (low + high) / 2, (high - low) / 2
    value = min(max(float(rate), low), high)
    margin += abs(value - middle)
    return EdgeRate(value, operations=rate.operations, how=rate.how, margin=margin)
