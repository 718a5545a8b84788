"""Residue classes: all instants that are congruent to a residue modulo a slide."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

ResidueClass = tuple[int, int]  # (slide, residue), 0 <= residue < slide


def normalized(classes: Iterable[ResidueClass]) -> tuple[ResidueClass, ...]:
    """Drop duplicates and every class that lies within a coarser one.

    >>> normalized([(6, 1), (3, 1), (3, 1), (4, 2)])
    ((3, 1), (4, 2))
    """
    unique = sorted(set(classes))
    present = set(unique)

    def contained(slide: int, residue: int) -> bool:
        return any(
            d < slide and slide % d == 0 and (d, residue % d) in present
            for d in {s for s, _ in unique}
        )

    return tuple(c for c in unique if not contained(*c))


def composite_period(classes: Iterable[ResidueClass]) -> int:
    """After how long the pattern of edges repeats.

    >>> composite_period([(6, 0), (4, 1)])
    12
    """
    return math.lcm(*(slide for slide, _ in classes))


def pane_length(classes: Iterable[ResidueClass]) -> int:
    """The longest equal parts of time whose borders include all edges.

    Equal parts may start anywhere, so only differences of residues count:

    >>> pane_length([(6, 1), (4, 1)]), pane_length([(6, 0), (4, 1)])
    (2, 1)
    """
    classes = tuple(classes)
    first = classes[0][1]
    return math.gcd(*(slide for slide, _ in classes), *(residue - first for _, residue in classes))


def edges_between(classes: Iterable[ResidueClass], start: int, stop: int) -> npt.NDArray[np.int64]:
    """All edges e with start <= e < stop, sorted.

    >>> edges_between([(6, 0), (4, 1)], 0, 12).tolist()
    [0, 1, 5, 6, 9]
    """
    parts = [
        np.arange(start + (residue - start) % slide, stop, slide, dtype=np.int64)
        for slide, residue in classes
    ]
    return np.unique(np.concatenate(parts)) if parts else np.empty(0, dtype=np.int64)
