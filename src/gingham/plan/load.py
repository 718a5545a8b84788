"""What is known, or assumed, of the rows of a stream."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, TypeVar

import numpy as np

from gingham.core.arrays import Floats, Ints
from gingham.logical.domain import sort_key
from gingham.logical.predicate import Attribute, Axis

_Parts = tuple[Sequence[Axis], Sequence[str]]

Value = TypeVar("Value", float, Floats)

_COUNTLESS = 1e15
_CHUNKS = 8  # parts of a sample that are looked at one by one


@dataclass(frozen=True, eq=False)
class Sample:
    """Some rows in a row: for each the interval of every attribute, and its keys as numbers."""

    rows: int
    axes: Mapping[Attribute, Axis]
    intervals: Mapping[Attribute, Ints]
    keys: Mapping[str, Ints]
    _known: dict[object, float] = field(default_factory=dict[object, float])

    def filled(self, axes: Sequence[Axis], keys: Sequence[str], rows: float) -> float:
        """How many combinations of interval and key value so many rows of a slice fall into."""
        name = tuple(axes), tuple(keys), round(rows)
        if name not in self._known:
            self._known[name] = self._count(axes, keys, rows)
        return self._known[name]

    def _count(self, axes: Sequence[Axis], keys: Sequence[str], rows: float) -> float:
        codes = self._codes(axes, keys)
        if not len(codes):
            return 1.0
        length = max(1, min(len(codes), round(rows)))
        starts = range(0, len(codes) - length + 1, max(length, len(codes) // _CHUNKS))
        counts = [len(np.unique(codes[i : i + length])) for i in starts]
        found = sum(counts) / max(1, len(counts))
        if rows <= len(codes):
            return max(found, 1.0)
        return expected_places(rows, spread(len(codes), found))

    def _codes(self, axes: Sequence[Axis], keys: Sequence[str]) -> Ints:
        codes = np.zeros(self.rows, dtype=np.int64)
        for axis in axes:
            finest = self.axes[axis.attribute]
            codes = codes * axis.size + _coarser(finest, axis)[self.intervals[axis.attribute]]
        for key in keys:
            codes = codes * 1_000_003 ^ self.keys[key]  # wraps around, as a hash does
        return codes


def _coarser(fine: Axis, coarse: Axis) -> Ints:
    """For every interval of an attribute, that of fewer cuts which it lies in."""
    cuts = [sort_key(c) for c in coarse.cuts]
    within = [0, *(bisect_right(cuts, sort_key(c)) for c in fine.cuts)]
    return np.array([*within, coarse.null, coarse.null + 1], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Load:
    """How many rows there are, over how much event time, and how some of them spread."""

    rows: float = 1e6
    seconds: float = 1e3
    groups: float = 1e3  # different values of a key
    counted: bool = False  # or assumed?
    sample: Sample | None = None

    @property
    def rate(self) -> float:
        """Rows per second of event time."""
        return self.rows / self.seconds

    def shards(self, slices: float, axes: Iterable[Axis], keys: Sequence[str]) -> float:
        """How many shards the rows make in so many slices."""
        axes = tuple(axes)
        if self.sample is None:
            return expected_places(self.rows, slices * self._most(axes, keys))
        rows, seen, unseen = self.rows / slices, *self._seen(axes, keys)
        filled = self.sample.filled(*seen, rows)
        if (more := self._most(*unseen)) > 1:
            filled = expected_places(rows, filled * more)
        return min(self.rows, slices * filled)

    def places(self, axes: Iterable[Axis], keys: Sequence[str]) -> float:
        """Into how many equal places the rows of a slice might as well fall."""
        axes = tuple(axes)
        most = self._most(axes, keys)
        if self.sample is None:
            return most
        rows, seen, unseen = self.sample.rows, *self._seen(axes, keys)
        return min(most, spread(rows, self.sample.filled(*seen, rows)) * self._most(*unseen))

    def _seen(self, axes: Sequence[Axis], keys: Sequence[str]) -> tuple[_Parts, _Parts]:
        """What the sample was coded by, and what queries that came later have brought."""
        sample = self.sample
        assert sample is not None

        def part(*, seen: bool) -> _Parts:
            return (
                [axis for axis in axes if (axis.attribute in sample.axes) == seen],
                [key for key in keys if (key in sample.keys) == seen],
            )

        return part(seen=True), part(seen=False)

    def _most(self, axes: Sequence[Axis], keys: Sequence[str]) -> float:
        return prod(len(axis.cuts) + 1 for axis in axes) * self.groups ** len(keys)


def expected_places(rows: float, places: Value) -> Value:
    """How many of some places hold a row, if rows fall into any of them alike.

    >>> round(expected_places(1000, 100.0)), round(expected_places(1000, 1e6))
    (100, 1000)
    """
    bins: Any = np.clip(places, 1e-9, _COUNTLESS)
    return bins * -np.expm1(-rows / bins)


def spread(rows: float, filled: float) -> float:
    """Into how many equal places rows must fall at random to fill so many of them.

    >>> round(spread(1000, 100)), round(spread(1000, 632)), spread(1000, 0)
    (100, 1000, 1.0)
    """
    if filled >= rows:
        return math.inf
    if filled <= 1:  # or nothing was seen at all
        return 1.0
    low, high = filled, filled * rows + 1.0
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        if expected_places(rows, middle) < filled:
            low = middle
        else:
            high = middle
    return high
