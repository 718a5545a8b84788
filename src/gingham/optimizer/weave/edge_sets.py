"""Windows as arrays of slides, residues and overlap factors, grouped by equal sets of edges."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gingham.algebra.edges import ResidueClass
from gingham.core.arrays import Floats, Ints
from gingham.core.errors import QueryError
from gingham.core.time import SECOND
from gingham.logical.window import Window

AnyWindow = tuple[int, int] | Window

_LONGEST_SPAN = 1 << 62


@dataclass(frozen=True, eq=False)
class Windows:
    """The windows to weave into trees, as arrays in the order given.

    Pairs (range, slide) are in any unit of time, the rate then being rows per unit; windows of
    queries are in microseconds, and the rate is rows per second.
    """

    given: Sequence[AnyWindow]
    slides: Ints
    lows: Ints  # the smaller residue
    highs: Ints  # the other one; the same if there is only one
    factors: Floats  # overlap factors, which add up over a tree: range / slide unless given
    ticks: int  # per unit of time

    def __len__(self) -> int:
        return len(self.given)

    @cached_property
    def sets(self) -> EdgeSets:
        """The distinct sets of edges of the windows to weave."""
        return _distinct_sets(self)


@dataclass(frozen=True, eq=False)
class EdgeSets:
    """Distinct edge sets of windows to weave, each with the sum of its windows' overlap factors."""

    slides: Ints
    lows: Ints
    highs: Ints
    factors: Floats
    of_window: Ints  # the index of each window's set
    ticks: int

    def __len__(self) -> int:
        return len(self.slides)

    @property
    def rates(self) -> Floats:
        """Edges per unit of time of each edge set."""
        return np.where(self.lows == self.highs, 1.0, 2.0) / self.slides * self.ticks

    def classes(self, i: int) -> tuple[ResidueClass, ...]:
        """The one or two residue classes of an edge set."""
        slide, low, high = int(self.slides[i]), int(self.lows[i]), int(self.highs[i])
        return ((slide, low),) if low == high else ((slide, low), (slide, high))

    def all_classes(self) -> list[ResidueClass]:
        """The residue classes of all edge sets, each once."""
        pairs = np.stack([np.tile(self.slides, 2), np.append(self.lows, self.highs)])
        return list(map(tuple, np.unique(pairs, axis=1).T.tolist()))

    def subset(self, which: Ints) -> EdgeSets:
        """The edge sets at these indices; windows of other sets get the set -1."""
        new_index = np.full(len(self), -1)
        new_index[which] = np.arange(len(which))
        return EdgeSets(
            slides=self.slides[which],
            lows=self.lows[which],
            highs=self.highs[which],
            factors=self.factors[which],
            of_window=new_index[self.of_window],
            ticks=self.ticks,
        )


def read_windows(windows: Iterable[AnyWindow], factors: Sequence[float] | None = None) -> Windows:
    """Check the windows to weave and convert them to arrays; factors are range / slide by default.

    >>> four = read_windows([(12, 9), (10, 6), (8, 4), (9, 6)])
    >>> [four.sets.classes(i) for i in range(4)]
    [((9, 0), (9, 3)), ((6, 0), (6, 4)), ((4, 0),), ((3, 0),)]
    """
    # Pairs may be lists or rows of an array; as tuples they can be dictionary keys.
    raw: list[Any] = list(windows)
    given: list[AnyWindow] = [tuple(w) if isinstance(w, list | np.ndarray) else w for w in raw]
    if not given:
        raise QueryError(
            "no windows", "a plan needs at least one", "for example weave([(600, 300)], rate=100)"
        )
    logical = sum(isinstance(window, Window) for window in given)
    if logical == len(given):
        spans = [(w.range, w.slide, w.start) for w in given if isinstance(w, Window)]
        return _as_arrays(given, np.array(spans, dtype=np.int64), SECOND, factors)
    if logical:
        raise QueryError(
            "pairs among windows of queries",
            "pairs are in a unit of your own, windows of queries in microseconds",
            "all of one kind",
        )
    return _as_arrays(given, _window_pairs(given), 1, factors)


def _window_pairs(given: Sequence[AnyWindow]) -> Ints:
    """Read windows to weave that are given as pairs (range, slide); anything else is refused."""
    try:
        spans = np.asarray(given)
    except (ValueError, OverflowError):
        spans = np.empty((0, 0))
    if spans.ndim != 2 or spans.shape[1] != 2:
        odd = next((w for w in given if not _is_pair(w)), given[0])
        raise QueryError(
            f"{odd!r} is no window",
            "a window is a pair of whole numbers: range and slide",
            "for example (600, 300)",
        )
    if spans.dtype.kind not in "iu" or spans.max() > _LONGEST_SPAN:
        odd = next((w for w in given if not _is_whole(w)), given[0])
        raise QueryError(
            f"a window {odd!r}",
            f"range and slide are whole numbers of up to {_LONGEST_SPAN:.1e}",
            "count in milliseconds or microseconds where seconds are too coarse",
        )
    return spans.astype(np.int64)


def _is_pair(window: Any) -> bool:
    """Whether a window to weave is given as a pair (range, slide)."""
    return isinstance(window, tuple) and len(window) == 2  # pyright: ignore[reportUnknownArgumentType]


def _is_whole(window: object) -> bool:
    """Whether range and slide of a window to weave are integers within the longest span."""
    parts: Sequence[object] = tuple(window) if isinstance(window, list | tuple) else ()
    return all(isinstance(part, int | np.integer) and abs(part) <= _LONGEST_SPAN for part in parts)


def _as_arrays(
    given: Sequence[AnyWindow], spans: Ints, ticks: int, factors: Sequence[float] | None
) -> Windows:
    """Convert windows to weave from rows of (range, slide) or (range, slide, start) to arrays."""
    ranges, slides = spans[:, 0], spans[:, 1]
    wrong = np.flatnonzero((ranges <= 0) | (slides <= 0))
    if len(wrong):
        raise QueryError(
            f"a window {given[wrong[0]]!r}",
            "range and slide must be longer than nothing",
            "for example (600, 300)",
        )
    starts = spans[:, 2] % slides if spans.shape[1] > 2 else np.zeros_like(slides)
    # Added only after the modulo: both together are below twice the slide.
    ends = (starts + ranges % slides) % slides
    lows, highs = np.minimum(starts, ends), np.maximum(starts, ends)
    overlap = ranges / slides if factors is None else np.asarray(factors, dtype=np.float64)
    return Windows(given=given, slides=slides, lows=lows, highs=highs, factors=overlap, ticks=ticks)


def _distinct_sets(windows: Windows) -> EdgeSets:
    """Group windows to weave by their edges, and add up the overlap factors of each group."""
    slides, lows, highs = windows.slides, windows.lows, windows.highs
    # Two residues half a slide apart are one residue modulo half the slide.
    half = (highs - lows) * 2 == slides
    slides = np.where(half, slides // 2, slides)
    lows = np.where(half, lows % slides, lows)
    highs = np.where(half, lows, highs)
    order = np.lexsort((highs, lows, slides))
    keys = np.stack([slides, lows, highs])[:, order]
    first = np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0))
    # Sets stand in the order of their first windows, as the trees of Weave Share do.
    rank = np.argsort(order[first])
    number = np.empty(len(rank), dtype=np.int64)
    number[rank] = np.arange(len(rank))
    of_window = np.empty(len(slides), dtype=np.int64)
    of_window[order] = number[np.cumsum(first) - 1]
    slides, lows, highs = keys[:, first][:, rank]
    factors = np.zeros(len(slides))
    np.add.at(factors, of_window, windows.factors)
    return EdgeSets(
        slides=slides,
        lows=lows,
        highs=highs,
        factors=factors,
        of_window=of_window,
        ticks=windows.ticks,
    )


def checked_rate(rate: float) -> float:
    """Refuse a rate of rows to weave windows for that is no finite number of at least zero."""
    if isinstance(rate, bool) or not isinstance(rate, int | float | np.number):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise QueryError(f"a rate {rate!r}", "a rate is a number of rows", "for example rate=100")
    if not math.isfinite(rate) or rate < 0:
        raise QueryError(
            f"a rate of {rate}", "a rate is at least zero, and finite", "for example rate=100"
        )
    return float(rate)
