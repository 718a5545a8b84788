"""Residue classes: the edges of a window are all instants congruent to a residue modulo a slide."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from gingham.core.arrays import Ints

ResidueClass = tuple[int, int]  # (slide, residue), 0 <= residue < slide

# Slides with at most this many multiples up to the largest slide are all multiplied at once.
_FEW_MULTIPLES = 64


def normalized(classes: Iterable[ResidueClass]) -> tuple[ResidueClass, ...]:
    """Drop duplicate residue classes, and those that are subsets of another residue class.

    >>> normalized([(6, 1), (3, 1), (3, 1), (4, 2)])
    ((3, 1), (4, 2))
    """
    unique = sorted(set(classes))
    if len(unique) < 2:
        return tuple(unique)
    residues = np.array([residue for _, residue in unique], dtype=np.int64)
    slides, starts, counts = np.unique(
        np.array([slide for slide, _ in unique], dtype=np.int64),
        return_index=True,
        return_counts=True,
    )
    coarse, fine = _dividing_slides(slides)
    # For each pair of slides: every class of the fine slide, with its residue modulo the coarse.
    lengths = counts[fine]
    offsets = np.cumsum(lengths) - lengths
    class_index = np.repeat(starts[fine] - offsets, lengths) + np.arange(int(lengths.sum()))
    coarse_index = np.repeat(coarse, lengths)
    coarse_residue = residues[class_index] % slides[coarse_index]
    if len(slides) * (int(slides[-1]) + 1) < 1 << 63:
        span = int(slides[-1]) + 1
        class_codes = np.repeat(np.arange(len(slides)), counts) * span + residues
        redundant = np.isin(coarse_index * span + coarse_residue, class_codes)
    else:
        class_set = set(unique)
        pairs = zip(slides[coarse_index].tolist(), coarse_residue.tolist(), strict=True)
        redundant = np.fromiter(
            (pair in class_set for pair in pairs), dtype=bool, count=len(coarse_residue)
        )
    dropped = np.zeros(len(unique), dtype=bool)
    dropped[class_index[redundant]] = True
    return tuple(c for c, drop in zip(unique, dropped.tolist(), strict=True) if not drop)


def _dividing_slides(slides: Ints) -> tuple[Ints, Ints]:
    """Index pairs (coarse, fine) of window slides where the first properly divides the second."""
    coarse: list[Ints] = []
    fine: list[Ints] = []

    def add_pairs(divisors: Ints, multiples: Ints) -> None:
        indices = np.minimum(np.searchsorted(slides, multiples), len(slides) - 1)
        hit = slides[indices] == multiples
        coarse.append(np.broadcast_to(divisors, hit.shape)[hit])
        fine.append(indices[hit])

    largest = int(slides[-1])
    first = int(np.searchsorted(slides, largest // _FEW_MULTIPLES, side="right"))
    for times in range(2, largest // int(slides[first]) + 1):
        divisors = np.arange(first, np.searchsorted(slides, largest // times, side="right"))
        add_pairs(divisors, slides[divisors] * times)
    for i, slide in enumerate(slides[:first].tolist()):
        if largest // slide < len(slides) - i:
            add_pairs(np.array([i]), np.arange(2 * slide, largest + 1, slide))
        else:
            fine.append(i + 1 + np.flatnonzero(slides[i + 1 :] % slide == 0))
            coarse.append(np.full(len(fine[-1]), i))
    none = np.empty(0, dtype=np.int64)
    return np.concatenate([none, *coarse]), np.concatenate([none, *fine])


def composite_period(classes: Iterable[ResidueClass]) -> int:
    """Compute the time after which the edges of all windows repeat: the lcm of the slides.

    >>> composite_period([(6, 0), (4, 1)])
    12
    """
    return math.lcm(*(slide for slide, _ in classes))


def pane_length(classes: Iterable[ResidueClass]) -> int:
    """Compute the length of panes: the longest equal parts of time whose borders include all edges.

    The first part may start anywhere, so only differences of residues count:

    >>> pane_length([(6, 1), (4, 1)]), pane_length([(6, 0), (4, 1)])
    (2, 1)
    """
    classes = tuple(classes)
    first = classes[0][1]
    return math.gcd(*(slide for slide, _ in classes), *(residue - first for _, residue in classes))


def edges_between(classes: Iterable[ResidueClass], start: int, stop: int) -> Ints:
    """List all edges of some residue classes with start <= edge < stop, sorted.

    >>> edges_between([(6, 0), (4, 1)], 0, 12).tolist()
    [0, 1, 5, 6, 9]
    """
    parts = [
        np.arange(start + (residue - start) % slide, stop, slide, dtype=np.int64)
        for slide, residue in classes
    ]
    return np.unique(np.concatenate(parts)) if parts else np.empty(0, dtype=np.int64)
