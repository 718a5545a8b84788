"""Rows in the order of group and time, so that every slice of every group is a run of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gingham.algebra.edges import ResidueClass, edges_between
from gingham.columns.codes import Codes
from gingham.columns.vectors import gathered
from gingham.core.arrays import Array, Ints

_MOST_COMPOSED = 1 << 62
_ROWS_PER_EDGE = 4  # with fewer rows per edge, every row is looked at rather than every edge
_SMALL = 1 << 16  # numbers below this are sorted in linear time


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs of rows in a slice and a group: where each begins, its group and its slice's start."""

    starts: Ints
    groups: Ints
    instants: Ints

    def __len__(self) -> int:
        return len(self.starts)

    def among(self, chosen: Ints | None, count: int) -> tuple[Runs, Ints]:
        """The runs that have chosen rows, in positions among these, and how many each has.

        `chosen` are the positions of `count` rows, sorted; None stands for all rows.
        """
        if chosen is None:
            return self, np.diff(np.append(self.starts, count))
        if len(chosen) < len(self):
            run_of = np.searchsorted(self.starts, chosen, side="right") - 1
            begins = np.flatnonzero(np.diff(run_of, prepend=-1))
            kept = run_of[begins]
            counts = np.diff(np.append(begins, len(chosen)))
            return Runs(begins, self.groups[kept], self.instants[kept]), counts
        begins = np.searchsorted(chosen, self.starts)
        counts = np.diff(np.append(begins, len(chosen)))
        kept = np.flatnonzero(counts)
        runs = Runs(begins[kept], self.groups[kept], self.instants[kept])
        return runs, counts[kept]


class Arranged:
    """The rows of a chunk, grouped by a key set and ordered by time in every group."""

    def __init__(self, instants: Ints, by_time: Ints | None, keys: Sequence[Codes]) -> None:
        numbers, self.first_rows = _numbered_groups(keys, len(instants))
        self.order = _order(numbers, by_time, len(self.first_rows))
        self.groups = self._in_order(numbers)
        self.instants = self._in_order(instants)

    def _in_order(self, values: Array) -> Array:
        """Values of the rows, in the order of group and time."""
        return values if self.order is None else gathered(values, self.order)

    def runs(self, classes: Sequence[ResidueClass]) -> Runs:
        """The runs of rows between these edges, in every group."""
        _, span = self._span
        edges = sum(span // slide + 2 for slide, _ in classes)
        few = len(self.first_rows) * edges * _ROWS_PER_EDGE <= len(self.instants)
        if few and self._composed is not None:
            return self._runs_by_edges(classes)
        return self._runs_by_rows(classes)

    def _runs_by_edges(self, classes: Sequence[ResidueClass]) -> Runs:
        """Runs found by looking for every edge of every group: best if there are few."""
        lowest, span = self._span
        edges = edges_between(classes, lowest - max(slide for slide, _ in classes), lowest + span)
        edges = edges[np.searchsorted(edges, lowest, side="right") - 1 :]
        composed = self._composed
        assert composed is not None
        offsets = np.maximum(edges - lowest, 0)
        groups = np.arange(len(self.first_rows), dtype=np.int64)
        wanted = (groups[:, None] * span + offsets).ravel()
        starts = np.searchsorted(composed, wanted)
        kept = np.flatnonzero(np.diff(np.append(starts, len(composed))))
        found, edge = np.divmod(kept, len(edges))
        return Runs(starts[kept], found, edges[edge])

    def _runs_by_rows(self, classes: Sequence[ResidueClass]) -> Runs:
        """Runs found by computing the edge before every row."""
        edges = [self.instants - (self.instants - r) % slide for slide, r in classes]
        before = np.maximum.reduce(edges)
        changed = np.ones(len(before), dtype=bool)
        changed[1:] = (before[1:] != before[:-1]) | (self.groups[1:] != self.groups[:-1])
        starts = np.flatnonzero(changed)
        return Runs(starts, self.groups[starts].astype(np.int64), before[starts])

    @cached_property
    def _span(self) -> tuple[int, int]:
        """The first instant, and how many instants there are up to the last."""
        lowest = int(self.instants.min())
        return lowest, int(self.instants.max()) - lowest + 1

    @cached_property
    def _composed(self) -> Ints | None:
        """Group and instant of each row in one number, in order; None if that is too large."""
        lowest, span = self._span
        if len(self.first_rows) * span >= _MOST_COMPOSED:
            return None
        return self.groups.astype(np.int64) * span + (self.instants - lowest)


def _numbered_groups(keys: Sequence[Codes], rows: int) -> tuple[Array, Ints]:
    """Number the combinations of key values; gives each row's number, and a row of each group."""
    if not keys:
        return np.zeros(rows, dtype=np.uint16), np.zeros(1, dtype=np.int64)
    numbers, count = keys[0].numbers, keys[0].count
    for key in keys[1:]:
        if count * key.count >= _MOST_COMPOSED:
            _, numbers = np.unique(numbers, return_inverse=True)
            count = int(numbers.max()) + 1
        numbers = numbers.astype(np.int64) * key.count + key.numbers
        count *= key.count
    if count > 4 * rows:
        _, first, numbers = np.unique(numbers, return_index=True, return_inverse=True)
        return numbers, first
    # Numbers are small: mark those that occur, and close the ranks.
    first = np.full(count, -1, dtype=np.int64)
    first[numbers[::-1]] = np.arange(rows - 1, -1, -1)
    occurs = first >= 0
    if occurs.all():
        return numbers, first
    rank = np.cumsum(occurs) - 1
    return rank[numbers], first[occurs]


def _order(numbers: Array, by_time: Ints | None, groups: int) -> Ints | None:
    """The order of rows by group, then by time; None if they are in that order already."""
    if groups == 1:
        return by_time
    small = numbers.astype(np.uint16) if groups <= _SMALL else numbers
    if by_time is None:
        return np.argsort(small, kind="stable")
    return by_time[np.argsort(small[by_time], kind="stable")]


def time_order(instants: Ints) -> Ints | None:
    """The order of rows by time; None if they are in that order already."""
    if (instants[1:] >= instants[:-1]).all():
        return None
    return np.argsort(instants, kind="stable")
