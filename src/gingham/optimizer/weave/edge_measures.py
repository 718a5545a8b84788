"""Measures of edge rates and overlaps: exact where that is quick, else on sampled instants."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
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
from gingham.core.arrays import Floats, Words

EncodedEdges = Any  # an edge set, in the form that its measure computes with

_MOST_PERIOD = 1 << 22  # instants of a period that is marked as a whole
_MOST_BYTES = 1 << 28  # for the bits of all edge sets
_MOST_SETS_EXACT, _MOST_WORK_EXACT = 600, 2e8
_BLOCKS = 8
_FEWEST_INSTANTS, _MOST_INSTANTS = 1 << 14, 1 << 17
_ERROR = 2.0  # standard deviations
_BATCH = 1 << 20  # words that are counted together: they stay in the CPU cache


class Measure(Protocol):
    """Encodes edge sets of trees, and computes their rates and overlaps in edges per time unit."""

    exact: bool
    how: str
    error: float  # three standard deviations of a rate of one edge per tick

    def encode(self, classes: Iterable[ResidueClass]) -> EncodedEdges:
        """Encode the edges of a union of residue classes, to measure trees of windows by."""
        ...

    def union(self, sets: Sequence[EncodedEdges]) -> EncodedEdges:
        """Encode the union of some edge sets: the edges of merged trees."""
        ...

    def rate(self, edges: EncodedEdges) -> float:
        """The edges per unit of time of an encoded edge set."""
        ...

    def overlaps(
        self, edges: EncodedEdges, others: Sequence[EncodedEdges]
    ) -> tuple[Floats, Floats]:
        """The common edges per unit of time of an edge set with each of the others, and errors."""
        ...

    def fits(self, classes: Iterable[ResidueClass]) -> bool:
        """Whether the measure can encode these residue classes, though it was made for others."""
        ...


def choose_measure(classes: Sequence[ResidueClass], sets: int, ticks: int) -> Measure:
    """Choose an exact or sampled measure for trees of these residue classes and edge sets."""
    bits = bits_for(classes, sets, ticks)
    if not bits.exact and sets <= _MOST_SETS_EXACT:
        everything = edge_rate(classes, most=2_000_000)
        # No tree takes more operations than all classes together.
        if everything.exact and sets * everything.operations <= _MOST_WORK_EXACT:
            return ExactMeasure(ticks)
    return bits


def bits_for(classes: Sequence[ResidueClass], sets: int, ticks: int) -> BitMeasure:
    """Measure edges by a bit per instant of a period if all bits fit, else of random blocks."""
    pane, origin = pane_length(classes), classes[0][1]
    most = _MOST_BYTES * 8 // sets
    period = _period_up_to({slide // pane for slide, _ in classes}, min(most, _MOST_PERIOD))
    if period <= min(most, _MOST_PERIOD):
        return BitMeasure(pane, origin, ticks, length=period, period=period)
    instants = max(_FEWEST_INSTANTS, min(_MOST_INSTANTS, 1 << most.bit_length() - 1))
    return BitMeasure(pane, origin, ticks, length=instants // _BLOCKS)


def _period_up_to(slides: Iterable[int], most: int) -> int:
    """The composite period of edges, or any number above `most`: the lcm of many slides is huge."""
    period = 1
    for slide in slides:
        period = math.lcm(period, slide)
        if period > most:
            break
    return period


class BitMeasure:
    """Measures edge sets as bit sets: a bit per instant of a whole period, or of random blocks.

    Instants are a pane apart, so that every edge is at an instant.
    """

    def __init__(
        self, pane: int, origin: int, ticks: int, *, length: int, period: int | None = None
    ) -> None:
        self.exact = period is not None
        self._pane, self._origin, self._length, self._period = pane, origin, length, period
        self._blocks = 1 if self.exact else _BLOCKS
        # Far more bits than any slide has, so that block starts are uniform modulo every slide.
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
        """The start of each sampled block of time modulo a slide; zero for a whole period."""
        return [0] if self.exact else self._starts.modulo(slide).tolist()

    def fits(self, classes: Iterable[ResidueClass]) -> bool:
        """Whether all edges of these residue classes fall on the instants that have a bit."""
        return all(
            slide % self._pane == 0
            and (residue - self._origin) % self._pane == 0
            and (self._period is None or self._period % (slide // self._pane) == 0)
            for slide, residue in classes
        )

    def encode(self, classes: Iterable[ResidueClass]) -> Words:
        """Mark the edges of residue classes in a bit set, packed into 64-bit words."""
        marked = np.zeros((self._blocks, self._length), dtype=bool)
        for ticks, residue in classes:
            slide, offset = ticks // self._pane, (residue - self._origin) // self._pane
            for block, phase in zip(marked, self._phases(slide), strict=True):
                block[(offset - phase) % slide :: slide] = True
        packed = np.packbits(marked)
        return np.pad(packed, (0, -len(packed) % 8)).view(np.uint64)

    def union(self, sets: Sequence[Words]) -> Words:
        """The bit set of the edges of merged trees."""
        return np.bitwise_or.reduce(sets) if len(sets) > 1 else sets[0]

    def rate(self, edges: Words) -> float:
        """Count the marked edges, per unit of time."""
        return int(np.bitwise_count(edges).sum(dtype=np.int64)) / self._instants * self._scale

    def overlaps(self, edges: Words, others: Sequence[Words]) -> tuple[Floats, Floats]:
        """Count the marked edges that an edge set shares with each of the others."""
        step = max(1, _BATCH // len(edges))
        counts = np.concatenate(
            [
                np.bitwise_count(np.stack(others[i : i + step]) & edges).sum(axis=1, dtype=np.int64)
                for i in range(0, len(others), step)
            ]
            or [np.empty(0, dtype=np.int64)]
        )
        error: Floats = np.zeros(len(counts)) if self.exact else np.sqrt(counts + 1.0)
        per_instant = self._scale / self._instants
        return counts.astype(np.float64) * per_instant, _ERROR * error * per_instant


class ExactMeasure:
    """Measures edge sets exactly, by computing the edge rate of each union of classes."""

    exact = True
    how = "elimination of primes"
    error = 0.0

    def __init__(self, ticks: int) -> None:
        self._ticks = ticks
        self.rate = cache(self._rate)

    def fits(self, classes: Iterable[ResidueClass]) -> bool:
        """Every residue class can be measured exactly."""
        del classes
        return True

    def encode(self, classes: Iterable[ResidueClass]) -> tuple[ResidueClass, ...]:
        """Encode an edge set as its residue classes, without redundant ones."""
        return normalized(classes)

    def union(self, sets: Sequence[tuple[ResidueClass, ...]]) -> tuple[ResidueClass, ...]:
        """The residue classes of the edges of merged trees."""
        return normalized(c for edges in sets for c in edges)

    def _rate(self, edges: tuple[ResidueClass, ...]) -> float:
        """Compute the exact edge rate of residue classes, per unit of time."""
        return float(edge_rate(edges)) * self._ticks

    def overlaps(
        self, edges: tuple[ResidueClass, ...], others: Sequence[tuple[ResidueClass, ...]]
    ) -> tuple[Floats, Floats]:
        """Compute the common edges with each other set: both rates minus that of the union."""
        own_rate = self.rate(edges)
        overlaps = [
            own_rate + self.rate(other) - self.rate(self.union((edges, other))) for other in others
        ]
        return np.maximum(overlaps, 0.0), np.zeros(len(overlaps))
