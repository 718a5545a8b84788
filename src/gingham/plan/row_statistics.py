"""Statistics of a stream's rows, counted or assumed: how many shards they will make."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, NamedTuple, TypeVar

import numpy as np

from gingham.algebra.edges import ResidueClass, edge_rate
from gingham.core.arrays import Floats, Ints
from gingham.core.time import SECOND
from gingham.logical.domain import sort_key
from gingham.logical.predicate import Attribute, Axis
from gingham.logical.window import Clock

Value = TypeVar("Value", float, Floats)

_MOST_BINS = 1e15
_CHUNKS = 8  # parts of a sample in which distinct combinations are counted


class _Dimensions(NamedTuple):
    """Axes and keys whose combinations of interval and key value are counted."""

    axes: Sequence[Axis]
    keys: Sequence[str]


@dataclass(frozen=True, eq=False)
class Sample:
    """Consecutive rows of a stream: each row's interval of every attribute, its keys as numbers."""

    rows: int
    axes: Mapping[Attribute, Axis]
    intervals: Mapping[Attribute, Ints]
    keys: Mapping[str, Ints]
    _counts: dict[object, float] = field(default_factory=dict[object, float])

    def combinations(self, axes: Sequence[Axis], keys: Sequence[str], rows: float) -> float:
        """The expected number of combinations of interval and key value in so many rows."""
        name = tuple(axes), tuple(keys), round(rows)
        if name not in self._counts:
            self._counts[name] = self._extrapolate(axes, keys, rows)
        return self._counts[name]

    def _extrapolate(self, axes: Sequence[Axis], keys: Sequence[str], rows: float) -> float:
        """Extrapolate the combinations of interval and key value in the sample to so many rows."""
        codes = self._codes(axes, keys)
        if not len(codes):
            return 1.0
        length = max(1, min(len(codes), round(rows)))
        starts = range(0, len(codes) - length + 1, max(length, len(codes) // _CHUNKS))
        counts = [len(np.unique(codes[i : i + length])) for i in starts]
        mean = sum(counts) / max(1, len(counts))
        if rows <= len(codes):
            return max(mean, 1.0)
        return expected_occupied(rows, bins_for_occupied(len(codes), mean))

    def _codes(self, axes: Sequence[Axis], keys: Sequence[str]) -> Ints:
        """A number for each sampled row: equal for equal intervals and key values."""
        codes = np.zeros(self.rows, dtype=np.int64)
        for axis in axes:
            finest = self.axes[axis.attribute]
            codes = codes * axis.size + _coarser(finest, axis)[self.intervals[axis.attribute]]
        for key in keys:
            codes = codes * 1_000_003 ^ self.keys[key]  # wraps around, as a hash does
        return codes


def _coarser(fine: Axis, coarse: Axis) -> Ints:
    """For every interval of the fine axis, the interval of the coarse axis that contains it."""
    cuts = [sort_key(c) for c in coarse.cuts]
    within = [0, *(bisect_right(cuts, sort_key(c)) for c in fine.cuts)]
    return np.array([*within, coarse.null, coarse.null + 1], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Trial:
    """What a sample of a stream's rows tells about queries that would go by columns."""

    rows: int
    selected: Mapping[str, float]  # the part of the rows that meets each condition, by its SQL
    groups: Mapping[tuple[str, ...], float]  # how many groups each key set is likely to have
    row_bytes: float  # of a row's inputs
    # Seconds that filling grids takes on one core: for a chunk of rows, however few, and each row.
    chunk_seconds: float
    row_seconds: float
    build_seconds: float = 0.0  # for what every worker builds before its first row


@dataclass(frozen=True, slots=True)
class RowStatistics:
    """The number of rows, the event time that they span, and a sample of them if there is one."""

    rows: float = 1e6
    seconds: float = 1e3
    groups: float = 1e3  # the assumed number of values of a key
    counted: bool = False  # whether rows and seconds were counted, or are assumed
    sample: Sample | None = None
    trial: Trial | None = None

    @property
    def rate(self) -> float:
        """Rows of the stream per second of event time."""
        return self.rows / self.seconds

    def on(self, clock: Clock) -> RowStatistics:
        """The statistics of the same rows on a clock: by rows, an instant is a position."""
        if not clock.by_rows:
            return self
        positions = max(1.0, self.rows / self.groups ** len(clock.per))
        return replace(self, seconds=positions / SECOND)

    def slices(self, classes: Iterable[ResidueClass]) -> float:
        """How many slices these edges cut the event time of the rows into."""
        return max(1.0, edge_rate(classes) * SECOND * self.seconds)

    def shards(self, slices: float, axes: Iterable[Axis], keys: Sequence[str]) -> float:
        """The expected number of shards in a grid of these axes and keys, over so many slices."""
        axes = tuple(axes)
        if self.sample is None:
            return expected_occupied(self.rows, slices * self._most_bins(axes, keys))
        rows, (sampled, unsampled) = self.rows / slices, self._by_sample(axes, keys)
        occupied = self.sample.combinations(*sampled, rows)
        if (more := self._most_bins(*unsampled)) > 1:
            occupied = expected_occupied(rows, occupied * more)
        return min(self.rows, slices * occupied)

    def bins(self, axes: Iterable[Axis], keys: Sequence[str]) -> float:
        """The number of equally likely bins that model the cells and groups of a slice."""
        axes = tuple(axes)
        most = self._most_bins(axes, keys)
        if self.sample is None:
            return most
        rows, (sampled, unsampled) = self.sample.rows, self._by_sample(axes, keys)
        occupied = self.sample.combinations(*sampled, rows)
        return min(most, bins_for_occupied(rows, occupied) * self._most_bins(*unsampled))

    def _by_sample(
        self, axes: Sequence[Axis], keys: Sequence[str]
    ) -> tuple[_Dimensions, _Dimensions]:
        """The axes and keys that the sample has; and the others, of queries added after it."""
        sample = self.sample
        assert sample is not None

        def part(*, in_sample: bool) -> _Dimensions:
            return _Dimensions(
                [axis for axis in axes if (axis.attribute in sample.axes) == in_sample],
                [key for key in keys if (key in sample.keys) == in_sample],
            )

        return part(in_sample=True), part(in_sample=False)

    def _most_bins(self, axes: Sequence[Axis], keys: Sequence[str]) -> float:
        """The upper bound on shards of a slice: all cells times all groups."""
        return prod(len(axis.cuts) + 1 for axis in axes) * self.groups ** len(keys)


def expected_occupied(rows: float, bins: Value) -> Value:
    """The expected number of bins that hold a row, if rows fall into equally likely bins.

    >>> round(expected_occupied(1000, 100.0)), round(expected_occupied(1000, 1e6))
    (100, 1000)
    """
    clipped: Any = np.clip(bins, 1e-9, _MOST_BINS)
    return clipped * -np.expm1(-rows / clipped)


def bins_for_occupied(rows: float, occupied: float) -> float:
    """Inverse of `expected_occupied`: the number of bins of which `rows` rows fill `occupied`.

    >>> round(bins_for_occupied(1000, 100)), round(bins_for_occupied(1000, 632))
    (100, 1000)
    >>> bins_for_occupied(1000, 0)
    1.0
    """
    if occupied >= rows:
        return math.inf
    if occupied <= 1:  # or no row was seen at all
        return 1.0
    low = high = occupied
    while expected_occupied(rows, high) < occupied and high < _MOST_BINS:
        high *= 2
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        if expected_occupied(rows, middle) < occupied:
            low = middle
        else:
            high = middle
    return high
