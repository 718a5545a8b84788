"""Residue classes: all instants that are congruent to a residue modulo a slide."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from gingham.core.arrays import Ints

ResidueClass = tuple[int, int]  # (slide, residue), 0 <= residue < slide


def normalized(classes: Iterable[ResidueClass]) -> tuple[ResidueClass, ...]:
    """Drop duplicates and every class that lies within a coarser one.

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
    coarse, fine = _divisors(slides)
    # Each class of the fine slide beside the coarse slide, and its residue modulo that.
    lengths = counts[fine]
    before = np.cumsum(lengths) - lengths
    place = np.repeat(starts[fine] - before, lengths) + np.arange(int(lengths.sum()))
    number = np.repeat(coarse, lengths)
    rest = residues[place] % slides[number]
    if len(slides) * (int(slides[-1]) + 1) < 1 << 63:
        span = int(slides[-1]) + 1
        present = np.repeat(np.arange(len(slides)), counts) * span + residues
        within = np.isin(number * span + rest, present)
    else:
        among = set(unique)
        pairs = zip(slides[number].tolist(), rest.tolist(), strict=True)
        within = np.fromiter((pair in among for pair in pairs), dtype=bool, count=len(rest))
    dropped = np.zeros(len(unique), dtype=bool)
    dropped[place[within]] = True
    return tuple(c for c, drop in zip(unique, dropped.tolist(), strict=True) if not drop)


_FEW_MULTIPLES = 64


def _divisors(slides: Ints) -> tuple[Ints, Ints]:
    """All pairs of places of which the first slide properly divides the second."""
    coarse: list[Ints] = []
    fine: list[Ints] = []

    def found(divisors: Ints, multiples: Ints) -> None:
        places = np.minimum(np.searchsorted(slides, multiples), len(slides) - 1)
        hit = slides[places] == multiples
        coarse.append(np.broadcast_to(divisors, hit.shape)[hit])
        fine.append(places[hit])

    largest = int(slides[-1])
    first = int(np.searchsorted(slides, largest // _FEW_MULTIPLES, side="right"))
    for times in range(2, largest // int(slides[first]) + 1):
        places = np.arange(first, np.searchsorted(slides, largest // times, side="right"))
        found(places, slides[places] * times)
    for i, slide in enumerate(slides[:first].tolist()):
        if largest // slide < len(slides) - i:
            found(np.array([i]), np.arange(2 * slide, largest + 1, slide))
        else:
            fine.append(i + 1 + np.flatnonzero(slides[i + 1 :] % slide == 0))
            coarse.append(np.full(len(fine[-1]), i))
    none = np.empty(0, dtype=np.int64)
    return np.concatenate([none, *coarse]), np.concatenate([none, *fine])


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


def edges_between(classes: Iterable[ResidueClass], start: int, stop: int) -> Ints:
    """All edges e with start <= e < stop, sorted.

    >>> edges_between([(6, 0), (4, 1)], 0, 12).tolist()
    [0, 1, 5, 6, 9]
    """
    parts = [
        np.arange(start + (residue - start) % slide, stop, slide, dtype=np.int64)
        for slide, residue in classes
    ]
    return np.unique(np.concatenate(parts)) if parts else np.empty(0, dtype=np.int64)
