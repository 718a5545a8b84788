"""Slices: instants are numbered so that every edge lies between two numbers.

There are two ways. If the pattern of edges repeats soon, the number tells the period and the slice
within it. Otherwise the edges around the data are listed, and instants beyond the list fall into
panes: equal parts so short that they never cross an edge. Answers from panes are the same; there
are only more of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gingham.algebra.edges import (
    ResidueClass,
    composite_period,
    edges_between,
    normalized,
    pane_length,
)
from gingham.core.arrays import Ints

_PERIODIC_LIMIT = 4_096  # edges in one period
_LISTED_PANES = 1 << 15  # how far the list of edges reaches, in panes
_FEW_LISTED_PANES = 1 << 9
_LISTED_EDGES = 1_024  # or in edges, where panes are very short
_BEFORE = 2  # half of the list lies before the instant at which there is data
_FEW_PANES = 1.5  # panes per edge, up to which panes are as good as slices


@dataclass(frozen=True, slots=True)
class Periodic:
    """Slices of a pattern that repeats: edges at `edges` in [0, period), and so in every period.

    >>> slices = Periodic(12, (0, 5, 9))
    >>> slices.starts(np.array([0, 1, 2, 3, -1])).tolist()
    [0, 5, 9, 12, -3]
    """

    period: int
    edges: tuple[int, ...]

    def starts(self, numbers: Ints) -> Ints:
        """The instants at which the slices with these numbers begin."""
        periods, ranks = np.divmod(numbers, len(self.edges))
        return periods * self.period + np.asarray(self.edges, dtype=np.int64)[ranks]

    @property
    def pane(self) -> int:
        """The length of a pane: equal parts of the period that cross no edge."""
        return pane_length([(self.period, 0), *((self.period, e) for e in self.edges)])

    @property
    def largest(self) -> int:
        """An upper bound on the numbers of slices within nine millennia of 1970."""
        return (_MILLENNIA // self.period + 2) * len(self.edges)

    def __str__(self) -> str:
        return f"{len(self.edges)} slices in a period"


@dataclass(frozen=True, slots=True)
class Horizon:
    """Slices of listed edges, which have even numbers; panes beyond the list have odd ones.

    >>> slices = Horizon((100, 105, 112), pane=5, origin=0)
    >>> slices.starts(np.array([0, 2, 2 * 3 + 1])).tolist()
    [100, 105, 15]
    """

    edges: tuple[int, ...]
    pane: int
    origin: int

    def starts(self, numbers: Ints) -> Ints:
        """The instants at which the slices with these numbers begin."""
        listed = np.asarray(self.edges, dtype=np.int64)
        halves, odd = np.divmod(numbers, 2)
        inside = listed[np.clip(halves, 0, len(listed) - 1)]
        return np.where(odd == 1, self.origin + halves * self.pane, inside)

    @property
    def largest(self) -> int:
        """An upper bound on the numbers of slices within nine millennia of 1970."""
        return 2 * max(_MILLENNIA // self.pane + 2, len(self.edges))

    def __str__(self) -> str:
        return f"{len(self.edges) - 1} slices listed, panes beyond"


Slices = Periodic | Horizon
_MILLENNIA = 1 << 58  # nine of them, in microseconds


def periodic(classes: Iterable[ResidueClass]) -> Periodic | None:
    """The slices between edges that repeat with a period; None if a period holds too many."""
    classes = normalized(classes)
    period, pane = composite_period(classes), pane_length(classes)
    # A few periods' worth of panes tell how densely edges lie without listing a long period.
    span = min(period, pane * _PERIODIC_LIMIT)
    edges = edges_between(classes, 0, span)
    if span == period and len(edges) <= _PERIODIC_LIMIT:
        return Periodic(period, tuple(edges.tolist()))
    if len(edges) and span / pane <= _FEW_PANES * len(edges):
        return Periodic(pane, (classes[0][1] % pane,))
    return None


def horizon(classes: Iterable[ResidueClass], around: int, reach: int | None = None) -> Horizon:
    """The slices between edges that are listed around an instant at which there is data.

    The list is no longer than it need be if most of the data lies within `reach` of that instant:
    a long one costs more than a small batch of rows.
    """
    classes = normalized(classes)
    pane = pane_length(classes)
    shortest = min(slide for slide, _ in classes)
    mean_slice = max(1, shortest // len(classes))
    span = max(pane * _LISTED_PANES, mean_slice * _LISTED_EDGES)
    if reach is not None:
        # Edges lie at both sides of the instant, less than a slide away.
        span = min(span, max(_BEFORE * max(reach, shortest), pane * _FEW_LISTED_PANES))
    start, stop = around - span // _BEFORE, around + span - span // _BEFORE
    edges = edges_between(classes, start, stop)
    return Horizon(tuple(edges.tolist()), pane, classes[0][1] % pane)


def sliced(
    trees: Mapping[int, Sequence[ResidueClass]],
    around: Callable[[], tuple[int, int | None]],
) -> dict[int, Slices]:
    """The slices of each tree of a plan: periodic ones, or listed around where the data is.

    `around` finds an instant at which there is data, and how far from it most of the data lies, if
    that is known; it is called only if edges must be listed.
    """
    slices: dict[int, Slices] = {}
    near: tuple[int, int | None] | None = None
    for tree, classes in trees.items():
        if (repeating := periodic(classes)) is not None:
            slices[tree] = repeating
        else:
            near = near or around()
            slices[tree] = horizon(classes, *near)
    return slices
