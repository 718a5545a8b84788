"""Edge rates by a named algorithm: the engine's own and those of the papers."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gingham.algebra import edges
from gingham.algebra.edges.bit_set import bit_set
from gingham.algebra.edges.classes import ResidueClass, normalized
from gingham.algebra.edges.eliminate import eliminate
from gingham.algebra.edges.merged_terms import merged_terms
from gingham.algebra.edges.published.bit_loop import bit_loop, bit_scan
from gingham.algebra.edges.published.f1 import f1, f1_memoised
from gingham.algebra.edges.published.naive import naive
from gingham.algebra.edges.random_blocks import random_blocks
from gingham.algebra.edges.rate import EdgeRate, checked_classes
from gingham.core.errors import QueryError

# Each takes classes without duplicates (see `normalized`), and raises BudgetError if it gives up.
METHODS: dict[str, Callable[..., EdgeRate]] = {
    "naive": naive,
    "bit_set": bit_set,
    "bit_loop": bit_loop,
    "bit_scan": bit_scan,
    "f1": f1,
    "f1_memoised": f1_memoised,
    "merged_terms": merged_terms,
    "elimination": eliminate,
    "blocks": random_blocks,
}


def edge_rate(
    classes: Iterable[ResidueClass], method: str = "best", *, most: int | None = None
) -> EdgeRate:
    """Compute the edge rate of residue classes with the named algorithm, published or the engine's.

    "best" is the engine's `gingham.algebra.edges.edge_rate`, which chooses an algorithm itself; a
    method of `METHODS` gives up where it needs more than `most` of what it counts.

    >>> edge_rate([(3, 0), (4, 0), (4, 3)], "f1").fraction
    Fraction(2, 3)
    """
    distinct = normalized(checked_classes(classes))
    if not distinct:
        return EdgeRate(0.0, operations=0, how="no edges")
    if method == "best":
        return edges.edge_rate(distinct, most=most)
    if method not in METHODS:
        raise QueryError(
            f"there is no way {method!r} to an edge rate",
            "its name is none of ours",
            ", ".join(["best", *METHODS]),
        )
    return METHODS[method](distinct) if most is None else METHODS[method](distinct, most)
