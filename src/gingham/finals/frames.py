"""Slices to windows: which windows of which groups hold shards, and the slices of each of them.

A position is a number for a group and an instant: group * (len(instants) + 1) + the rank of the
instant among all instants of the grid. Sorted positions are sorted by group, then by time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gingham.core.arrays import Bools, Ints
from gingham.core.time import FOREVER
from gingham.logical.window import Window


@dataclass(frozen=True, slots=True)
class Frames:
    """Windows of groups: the group and start of each, and its range [low, high) of positions."""

    positions: Ints
    groups: Ints
    starts: Ints
    low: Ints
    high: Ints

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def size(self) -> int:
        """The approximate number of array elements, by which the cache of frames is bounded."""
        return len(self.positions) + 4 * len(self.starts)

    def where(self, chosen: Bools) -> Frames:
        """Only those of the frames (windows of groups) for which the flag in `chosen` is set."""
        return Frames(
            positions=self.positions,
            groups=self.groups[chosen],
            starts=self.starts[chosen],
            low=self.low[chosen],
            high=self.high[chosen],
        )

    def among(self, others: Frames) -> Bools:
        """A flag for each frame: whether the same window of the same group is in `others`."""
        starts, ranks = np.unique(np.concatenate((self.starts, others.starts)), return_inverse=True)
        codes = np.concatenate((self.groups, others.groups)) * max(1, len(starts)) + ranks
        return np.isin(codes[: len(self)], codes[len(self) :])


@dataclass(frozen=True, slots=True)
class Due:
    """Which windows of a query are to be answered after a batch of a stream.

    Windows that end in (closed, closes] are. Of the windows that end after `open`, those that a
    fresh shard lies in are, too: up to `closes`, or all of them when `early`. A window that starts
    at or before `born` never is.
    """

    closed: int
    closes: int
    born: int
    open: int | None = None
    early: bool = False

    def of(self, windows: Frames, touched: Frames, window: Window) -> Bools:
        """A flag for each window: whether it is due; `touched` are those with a fresh shard."""
        ends = windows.starts + window.range
        changed = None
        if self.open is not None:
            changed = (ends > self.open) & windows.among(touched)
        due = due_ends(ends, self.closed, self.closes, changed, early=self.early)
        return due & (windows.starts > self.born)

    def reach(self, window: Window) -> tuple[int, int]:
        """The instants [low, high) within which shards are needed to answer the due windows."""
        lowest = self.closed if self.open is None else min(self.open, self.closed)
        return max(lowest - window.range, self.born), FOREVER if self.early else self.closes


def due_ends(
    ends: Ints, closed: int | Ints, closes: int | Ints, changed: Bools | None, *, early: bool
) -> Bools:
    """A flag for each window, given by its end: whether it is due, as `Due` says.

    `changed` are flags of windows that are open, or were until lately, and have a fresh shard.
    """
    due = (ends > closed) & (ends <= closes)
    if changed is not None:
        due |= changed if early else changed & (ends <= closes)
    return due


def frames(positions: Ints, instants: Ints, window: Window) -> Frames:
    """Find the frames: each window of each group that holds at least one of the positions, once."""
    stride = len(instants) + 1
    groups, ranks = np.divmod(positions, stride)
    starts = instants[ranks] if len(positions) else np.empty(0, dtype=np.int64)
    first = (starts - window.range - window.start) // window.slide + 1
    last = (starts - window.start) // window.slide
    # A window is counted at the first position of its group that lies in it.
    same = np.zeros(len(positions), dtype=bool)
    same[1:] = groups[1:] == groups[:-1]
    uncounted = first.copy()
    uncounted[1:] = np.where(same[1:], np.maximum(first[1:], last[:-1] + 1), first[1:])
    counts = np.maximum(last - uncounted + 1, 0)
    owner = np.repeat(np.arange(len(positions)), counts)
    nth = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    groups, starts = groups[owner], window.start + window.slide * (uncounted[owner] + nth)
    low, high = _ranges(groups, starts, positions, instants, window)
    return Frames(positions=positions, groups=groups, starts=starts, low=low, high=high)


def ranges(windows: Frames, positions: Ints, instants: Ints, window: Window) -> tuple[Ints, Ints]:
    """For each frame, the range of the sorted positions of shards that lie in it; maybe empty."""
    if positions is windows.positions:
        return windows.low, windows.high
    return _ranges(windows.groups, windows.starts, positions, instants, window)


def _ranges(
    groups: Ints, starts: Ints, positions: Ints, instants: Ints, window: Window
) -> tuple[Ints, Ints]:
    """The range of sorted positions in each frame, given by its group and its window's start."""
    base = groups * (len(instants) + 1)
    low = np.searchsorted(positions, base + np.searchsorted(instants, starts))
    high = np.searchsorted(positions, base + np.searchsorted(instants, starts + window.range))
    return low, high
