"""Slices to windows: which windows of which groups hold something, and which slices those are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gingham.core.arrays import Bools, Ints
from gingham.core.time import FOREVER
from gingham.logical.window import Window


@dataclass(frozen=True, slots=True)
class Frames:
    """Windows of groups: each a group's number, a window's start, and its range of the places."""

    places: Ints
    groups: Ints
    starts: Ints
    low: Ints
    high: Ints

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def size(self) -> int:
        """About how many numbers it keeps."""
        return len(self.places) + 4 * len(self.starts)

    def where(self, chosen: Bools) -> Frames:
        return Frames(
            self.places,
            self.groups[chosen],
            self.starts[chosen],
            self.low[chosen],
            self.high[chosen],
        )

    def among(self, others: Frames) -> Bools:
        """Which of these are among the others."""
        starts, inverse = np.unique(
            np.concatenate((self.starts, others.starts)), return_inverse=True
        )
        codes = np.concatenate((self.groups, others.groups)) * max(1, len(starts)) + inverse
        return np.isin(codes[: len(self)], codes[len(self) :])


@dataclass(frozen=True, slots=True)
class Due:
    """Which windows of a query are to be answered now.

    Those that end in (closed, closes], and of those that end after `open` the ones that a fresh
    shard lies in, even if they end later when `early`; none that starts at or before `born`.
    """

    closed: int
    closes: int
    born: int
    open: int | None = None
    early: bool = False

    def of(self, found: Frames, touched: Frames, window: Window) -> Bools:
        """Which of the windows found are due."""
        ends = found.starts + window.range
        due = (ends > self.closed) & (ends <= self.closes)
        if self.open is not None:
            changed = (ends > self.open) & found.among(touched)
            due |= changed if self.early else changed & (ends <= self.closes)
        return due & (found.starts > self.born)

    def reach(self, window: Window) -> tuple[int, int]:
        """From which instant to which shards may be needed."""
        lowest = self.closed if self.open is None else min(self.open, self.closed)
        return max(lowest - window.range, self.born), FOREVER if self.early else self.closes


def frames(places: Ints, instants: Ints, window: Window) -> Frames:
    """Every window of every group that holds at least one of the places, each once.

    A place is group * (len(instants) + 1) + the rank of its instant; places are sorted.
    """
    stride = len(instants) + 1
    groups, ranks = np.divmod(places, stride)
    starts = instants[ranks] if len(places) else np.empty(0, dtype=np.int64)
    first = (starts - window.range - window.start) // window.slide + 1
    last = (starts - window.start) // window.slide
    # A window is counted at the first place of its group that lies in it.
    same = np.zeros(len(places), dtype=bool)
    same[1:] = groups[1:] == groups[:-1]
    fresh = first.copy()
    fresh[1:] = np.where(same[1:], np.maximum(first[1:], last[:-1] + 1), first[1:])
    counts = np.maximum(last - fresh + 1, 0)
    owner = np.repeat(np.arange(len(places)), counts)
    nth = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    groups, starts = groups[owner], window.start + window.slide * (fresh[owner] + nth)
    return Frames(places, groups, starts, *_ranges(groups, starts, places, instants, window))


def ranges(found: Frames, places: Ints, instants: Ints, window: Window) -> tuple[Ints, Ints]:
    """For each window of a group, the range of the sorted places that lie in it; maybe empty."""
    if places is found.places:
        return found.low, found.high
    return _ranges(found.groups, found.starts, places, instants, window)


def _ranges(
    groups: Ints, starts: Ints, places: Ints, instants: Ints, window: Window
) -> tuple[Ints, Ints]:
    base = groups * (len(instants) + 1)
    low = np.searchsorted(places, base + np.searchsorted(instants, starts))
    high = np.searchsorted(places, base + np.searchsorted(instants, starts + window.range))
    return low, high
