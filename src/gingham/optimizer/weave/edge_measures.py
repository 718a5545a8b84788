"""How densely edges lie: exactly where that is quick, else on a sample of instants."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, Protocol

import numpy as np

from gingham.algebra.edges import (
    ResidueClass,
    edge_rate,
    normalized,
    pane_length,
)
from gingham.algebra.edges.random_instants import RandomInstants
from gingham.core.arrays import Array, Floats, Ints, Words
from gingham.optimizer.weave.edge_sets import EdgeSets

Row = Any  # an edge set, in the form of the measure that made it

_MOST_PERIOD = 1 << 22  # instants of a period that is looked at as a whole
_MOST_BYTES = 1 << 28  # for the bits of all edge sets
_MOST_SETS_EXACT, _MOST_WORK_EXACT = 600, 2e8
_BLOCKS = 8
_FEWEST_INSTANTS, _MOST_INSTANTS = 1 << 14, 1 << 17
_DOUBTFUL = 2.0  # standard deviations
_WORTH_THREADS = 1 << 24  # pairs of edge sets
_BATCH = 1 << 20  # words that are looked at together: they stay in the cache


class Measure(Protocol):
    """Rates are edges per unit of time."""

    exact: bool
    how: str
    error: float  # three standard deviations of a rate of one edge per tick

    def row(self, classes: Iterable[ResidueClass]) -> Row:
        """An edge set."""
        ...

    def union(self, rows: Sequence[Row]) -> Row:
        """All edges of some sets."""
        ...

    def rate(self, row: Row) -> float:
        """How densely its edges lie."""
        ...

    def overlaps(self, row: Row, others: Sequence[Row]) -> tuple[Floats, Floats]:
        """How densely edges lie that a set has in common with each other one, and the error."""
        ...

    def fits(self, classes: Iterable[ResidueClass]) -> bool:
        """Whether these edges can be measured as well as those that the measure was made for."""
        ...


def choose_measure(classes: Sequence[ResidueClass], sets: int, ticks: int) -> Measure:
    """A measure for trees made of these classes, which are those of so many edge sets."""
    bits = bits_for(classes, sets, ticks)
    if not bits.exact and sets <= _MOST_SETS_EXACT:
        everything = edge_rate(classes, most=2_000_000)
        # What all classes together cost bounds what any tree of them does.
        if everything.exact and sets * everything.operations <= _MOST_WORK_EXACT:
            return Elimination(ticks)
    return bits


def bits_for(classes: Sequence[ResidueClass], sets: int, ticks: int) -> Bits:
    """All instants of a period if the bits of so many sets fit into memory, else random blocks."""
    pane, origin = pane_length(classes), classes[0][1]
    most = _MOST_BYTES * 8 // sets
    period = _period({slide // pane for slide, _ in classes}, min(most, _MOST_PERIOD))
    if period <= min(most, _MOST_PERIOD):
        return Bits(pane, origin, ticks, length=period, period=period)
    instants = max(_FEWEST_INSTANTS, min(_MOST_INSTANTS, 1 << most.bit_length() - 1))
    return Bits(pane, origin, ticks, length=instants // _BLOCKS)


def _period(slides: Iterable[int], most: int) -> int:
    """Their lcm, or something above `most`: that of many slides has too many digits to wait for."""
    period = 1
    for slide in slides:
        period = math.lcm(period, slide)
        if period > most:
            break
    return period


class Bits:
    """A bit per instant: of a whole period, or of random blocks.

    Instants are panes apart, where all edges lie.
    """

    def __init__(
        self, pane: int, origin: int, ticks: int, *, length: int, period: int | None = None
    ) -> None:
        self.exact = period is not None
        self._pane, self._origin, self._length, self._period = pane, origin, length, period
        self._blocks = 1 if self.exact else _BLOCKS
        # Far more bits than any slide has, so that blocks start anywhere in its period.
        self._starts = RandomInstants(self._blocks, bits=2048, seed=1)
        self._instants = self._blocks * length
        self._scale = ticks / pane
        self.error = 0.0 if self.exact else 3.0 * (self._scale / ticks / self._instants) ** 0.5
        self.how = (
            f"all {length:,} instants of a period"
            if self.exact
            else f"{_BLOCKS} random blocks of {length:,} instants"
        )
        self._phases = cache(self._phases_modulo)

    def _phases_modulo(self, slide: int) -> list[int]:
        return [0] if self.exact else self._starts.modulo(slide).tolist()

    def fits(self, classes: Iterable[ResidueClass]) -> bool:
        return all(
            slide % self._pane == 0
            and (residue - self._origin) % self._pane == 0
            and (self._period is None or self._period % (slide // self._pane) == 0)
            for slide, residue in classes
        )

    def row(self, classes: Iterable[ResidueClass]) -> Words:
        marked = np.zeros((self._blocks, self._length), dtype=bool)
        for ticks, residue in classes:
            slide, place = ticks // self._pane, (residue - self._origin) // self._pane
            for block, phase in zip(marked, self._phases(slide), strict=True):
                block[(place - phase) % slide :: slide] = True
        packed = np.packbits(marked)
        return np.pad(packed, (0, -len(packed) % 8)).view(np.uint64)

    def union(self, rows: Sequence[Words]) -> Words:
        return np.bitwise_or.reduce(rows) if len(rows) > 1 else rows[0]

    def rate(self, row: Words) -> float:
        return int(np.bitwise_count(row).sum(dtype=np.int64)) / self._instants * self._scale

    def overlaps(self, row: Words, others: Sequence[Words]) -> tuple[Floats, Floats]:
        step = max(1, _BATCH // len(row))
        counts = np.concatenate(
            [
                np.bitwise_count(np.stack(others[i : i + step]) & row).sum(axis=1, dtype=np.int64)
                for i in range(0, len(others), step)
            ]
            or [np.empty(0, dtype=np.int64)]
        )
        error: Floats = np.zeros(len(counts)) if self.exact else np.sqrt(counts + 1.0)
        per = self._scale / self._instants
        return counts.astype(np.float64) * per, _DOUBTFUL * error * per


class Elimination:
    """Exact rates of any classes, computed anew for each union."""

    exact = True
    how = "elimination of primes"
    error = 0.0

    def __init__(self, ticks: int) -> None:
        self._ticks = ticks
        self.rate = cache(self._rate)

    def fits(self, classes: Iterable[ResidueClass]) -> bool:
        del classes
        return True

    def row(self, classes: Iterable[ResidueClass]) -> tuple[ResidueClass, ...]:
        return normalized(classes)

    def union(self, rows: Sequence[tuple[ResidueClass, ...]]) -> tuple[ResidueClass, ...]:
        return normalized(c for row in rows for c in row)

    def _rate(self, row: tuple[ResidueClass, ...]) -> float:
        return float(edge_rate(row)) * self._ticks

    def overlaps(
        self, row: tuple[ResidueClass, ...], others: Sequence[tuple[ResidueClass, ...]]
    ) -> tuple[Floats, Floats]:
        mine = self.rate(row)
        found = [mine + self.rate(other) - self.rate(self.union((row, other))) for other in others]
        return np.maximum(found, 0.0), np.zeros(len(found))


def pair_overlaps(one: tuple[Ints, Ints, Ints], others: tuple[Ints, Ints, Ints]) -> Floats:
    """Common edges per tick of every window of one lot with every window of another.

    A lot is slides, smaller and larger residues; equal residues are one. Two classes meet once in
    the lcm of their slides if their residues are equal modulo the gcd, else never.

    >>> slides, zero, four = np.array([6]), np.array([0]), np.array([4])
    >>> pair_overlaps((slides, zero, four), (np.array([9]), zero, np.array([3]))) * 18
    array([[2.]])
    """
    slides, lows, highs = (part[:, None] for part in one)
    other_slides, other_lows, other_highs = (part[None, :] for part in others)
    common = np.gcd(slides, other_slides)
    meets = ((lows - other_lows) % common == 0).astype(np.int8)
    two, other_two = lows != highs, other_lows != other_highs
    if other_two.any():
        meets += ((lows - other_highs) % common == 0) & other_two
    if two.any():
        meets += ((highs - other_lows) % common == 0) & two
        if other_two.any():
            meets += ((highs - other_highs) % common == 0) & two & other_two
    return meets * (common / slides / other_slides)


def fill_overlaps(found: Array, sets: EdgeSets) -> None:
    """The same for all edge sets with all, per unit of time, some slides at a time on all cores.

    Slides without a common divisor need no look at residues: each pair meets once in their
    product.
    """
    narrow = np.int32 if sets.slides.max() < 1 << 31 else np.int64
    slides, index = np.unique(sets.slides, return_inverse=True)
    lows, highs = sets.lows.astype(narrow), sets.highs.astype(narrow)
    different = slides.astype(narrow)
    two = lows != highs
    counts = (1 + two).astype(found.dtype)
    order = np.argsort(index, kind="stable")
    stops = np.cumsum(np.bincount(index)).tolist()

    def fill(number: int) -> None:
        slide, rows = different[number], order[stops[number - 1] if number else 0 : stops[number]]
        common = np.gcd(different, slide)
        # Once in the lcm, per unit of time.
        once = (common / slide / slides * sets.ticks).astype(found.dtype)[index]
        block = counts[rows, None] * (counts * once)
        tied = np.flatnonzero((common > 1)[index])
        places, divisors = index[tied], common[index[tied]]
        # A second residue that is not there meets nothing.
        low, high = lows[tied] % divisors, np.where(two[tied], highs[tied] % divisors, -1)
        own_low = np.take(lows[rows, None] % common, places, axis=1)
        own_high = np.where(two[rows, None], highs[rows, None] % common, -2)
        own_high = np.take(own_high, places, axis=1)
        meets = (own_low == low).astype(np.int8)
        meets += own_low == high
        meets += own_high == low
        meets += own_high == high
        block[:, tied] = meets * once[tied]
        found[rows] = block

    def fill_each(first: int) -> None:
        for number in range(first, len(different), workers):
            fill(number)

    workers = (os.cpu_count() or 1) if found.size > _WORTH_THREADS else 1
    with ThreadPoolExecutor(workers) as pool:
        for _ in pool.map(fill_each, range(workers)):
            pass  # it raises what was raised there
