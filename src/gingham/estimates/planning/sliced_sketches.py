"""Sketches to estimates: slices to windows, products of counters to answers with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from gingham.core import names
from gingham.core.arrays import Bools, Floats, Ints, Positions, Words
from gingham.estimates.algebra import SharingPlan, median_of_means
from gingham.estimates.algebra.counters import overflow
from gingham.estimates.algebra.fragments import Factor
from gingham.estimates.algebra.weights import weight_of
from gingham.estimates.planning.sketch_plan import BoundJoin
from gingham.finals.frames import frames
from gingham.logical.window import Window

Starts = Ints | None  # of windows; None for a query without them

# Windows at a time: their products of counters have so many numbers.
_NUMBERS = 1 << 22
_LIMIT = 2.0**63


@dataclass(frozen=True)  # no slots: what is derived is kept once computed
class SlicedSketch:
    """One sketch by slice of time: where slices begin, in order, and a row of counters for each.

    `timeless` are the counters of rows that have no time, None if 64 bits do not hold them; `lost`
    is where slices begin of which they do not.
    """

    instants: Ints
    counters: Ints
    timeless: Ints | None
    lost: Ints

    def total(self) -> Ints:
        """The sketch of all rows."""
        if self.timeless is None or len(self.lost):
            raise overflow()
        everything = np.vstack([self.counters, self.timeless])
        _refuse_overflow(_magnitudes(everything).sum())
        return everything.sum(axis=0, keepdims=True)

    def windows(self, starts: Ints, window: Window) -> Ints:
        """The sketches of some windows, each a row."""
        lost = np.searchsorted(self.lost, [starts, starts + window.range])
        if (lost[0] < lost[1]).any():
            raise overflow()
        low = np.searchsorted(self.instants, starts)
        high = np.searchsorted(self.instants, starts + window.range)
        _refuse_overflow((self._largest[high] - self._largest[low]).max(initial=0.0))
        return (self._sums[high] - self._sums[low]).view(np.int64)

    @cached_property
    def _sums(self) -> Words:
        """The sum of all slices before each; differences are exact modulo 2^64."""
        sums = np.zeros((len(self.counters) + 1, self.counters.shape[1]), dtype=np.uint64)
        np.cumsum(self.counters.view(np.uint64), axis=0, out=sums[1:])
        return sums

    @cached_property
    def _largest(self) -> Floats:
        """A bound on those sums, as floats."""
        return np.concatenate([[0.0], np.cumsum(_magnitudes(self.counters))])


def packed(vertex: int, instants: pa.Array, counters: Ints | None) -> pa.RecordBatch:
    """A row for each instant; without counters if they would not fit 64 bits."""
    rows = (
        [None] * len(instants)
        if counters is None
        else [row.astype("<i8").tobytes() for row in counters]
    )
    return pa.record_batch(
        {
            names.INSTANT: instants,
            names.SKETCH: pa.array(np.full(len(rows), vertex, dtype=np.int32)),
            names.COUNTERS: pa.array(rows, pa.binary()),
        }
    )


def no_sketches() -> pa.Table:
    """The sketches of no rows."""
    types = {names.INSTANT: pa.int64(), names.SKETCH: pa.int32(), names.COUNTERS: pa.binary()}
    return pa.table({name: pa.array([], kind) for name, kind in types.items()})


class SketchTable:
    """Sketches of a plan: one row for each instant and sketch, or several that are yet to add."""

    def __init__(self, table: pa.Table, sharing: SharingPlan) -> None:
        self.table = table
        self.sharing = sharing
        self._known: dict[int, SlicedSketch] = {}

    def of(self, vertex: int) -> SlicedSketch:
        """One sketch."""
        if vertex not in self._known:
            self._known[vertex] = self._load(vertex)
        return self._known[vertex]

    def condensed(self, since: int) -> pa.Table:
        """One row for each sketch and slice that begins here or later."""
        parts: list[pa.RecordBatch] = []
        for vertex in self.sharing.vertices:
            found = self.of(vertex.number)
            kept = found.instants >= since
            parts += [
                packed(vertex.number, pa.array(found.instants[kept]), found.counters[kept]),
                packed(vertex.number, pa.array(found.lost[found.lost >= since]), None),
            ]
        return pa.Table.from_batches(parts)

    def _load(self, vertex: int) -> SlicedSketch:
        numbers = self.table[names.SKETCH].to_numpy()
        rows = self.table.filter(pa.array(numbers == vertex))
        words = self.sharing.words[vertex]
        timed, there = (_valid(rows[name]) for name in (names.INSTANT, names.COUNTERS))
        instants = rows[names.INSTANT].fill_null(0).to_numpy().astype(np.int64)
        packed = b"".join(rows[names.COUNTERS].drop_null().to_pylist())
        counters = np.zeros((len(there), words), dtype=np.int64)
        counters[there] = np.frombuffer(packed, dtype="<i8").reshape(-1, words)
        found, place = np.unique(instants[timed], return_inverse=True)
        added, fits = _added(counters[timed], place, len(found))
        fits[place[~there[timed]]] = False
        timeless, fit = _added(counters[~timed], np.zeros((~timed).sum(), dtype=np.intp), 1)
        return SlicedSketch(
            found[fits],
            added[fits],
            timeless[0] if fit[0] and there[~timed].all() else None,
            found[~fits],
        )


@dataclass(frozen=True, slots=True)
class Estimated:
    """The answers of a query, and how hard it turned out to be; None if nothing tells."""

    table: pa.Table
    weight: float | None


def estimated(
    query: BoundJoin,
    sketches: SketchTable,
    sliced: frozenset[str],
    starts: Starts,
    confidence: float,
    instant: pa.DataType,
) -> Estimated:
    """One row for the query, or one for each of its windows that start here.

    `sliced` are the relations whose sketches are cut into slices; `instant` is the type of bounds.
    """
    sharing, window = sketches.sharing, query.query.window
    count = 1 if starts is None else len(starts)
    copies = sharing.copies[query.name]
    found: list[tuple[float, float, float]] = []
    weights: list[float] = []
    step = max(1, _NUMBERS // copies)
    for first in range(0, count, step):
        some = None if starts is None else starts[first : first + step]
        for samples in _samples(query, sketches, sliced, some):
            one = median_of_means(samples, confidence)
            found.append((one.value, one.lower, one.upper))
            weights += [weight] if (weight := weight_of(samples)) is not None else []
    numbers = query.unit * np.array(found, dtype=np.float64).reshape(-1, 3)
    columns: dict[str, pa.Array] = {}
    if starts is not None and window is not None:
        columns[names.WINDOW_START] = pa.array(starts).cast(instant)
        columns[names.WINDOW_END] = pa.array(starts + window.range).cast(instant)
    columns |= {name: pa.array(numbers[:, i]) for i, name in enumerate(_BOUNDS)}
    columns["words"] = pa.array(np.full(len(numbers), sharing.space(query.name), dtype=np.int64))
    return Estimated(pa.table(columns), float(np.mean(weights)) if weights else None)


_BOUNDS = ("estimate", "lower", "upper")


def window_starts(query: BoundJoin, sketches: SketchTable, sliced: frozenset[str]) -> Starts:
    """Where the windows start in which every stream of the query has rows; None without windows."""
    window, found = query.query.window, None
    if window is None:
        return None
    for factor in sketches.sharing.factors[query.name]:
        if not _is_sliced(factor, sketches, sliced):
            continue
        instants = np.unique(
            np.concatenate([sketches.of(v).instants for v, _ in factor] or [np.empty(0, np.int64)])
        )
        starts = frames(np.arange(len(instants)), instants, window).starts
        found = starts if found is None else np.intersect1d(found, starts)
    return found


def _samples(
    query: BoundJoin, sketches: SketchTable, sliced: frozenset[str], starts: Starts
) -> Floats:
    """Independent estimates, each right on average: a row for each window, one for each copy."""
    sharing, window = sketches.sharing, query.query.window
    copies = sharing.copies[query.name]
    product = np.ones((1 if starts is None else len(starts), copies))
    for factor in sharing.factors[query.name]:
        total = np.zeros((1, copies), dtype=np.int64)
        magnitude = 0.0
        for vertex, times in factor:
            slices = sketches.of(vertex)
            if starts is None or window is None or not _is_sliced(factor, sketches, sliced):
                counters = slices.total()
            else:
                counters = slices.windows(starts, window)
            magnitude += abs(times) * _magnitudes(counters).max(initial=0.0)
            _refuse_overflow(magnitude)
            total = total + times * counters[:, :copies]
        product = product * total
    return product


def _is_sliced(factor: Factor, sketches: SketchTable, sliced: frozenset[str]) -> bool:
    return any(sketches.sharing.vertices[vertex].relation in sliced for vertex, _ in factor)


def _added(counters: Ints, place: Positions, places: int) -> tuple[Ints, Bools]:
    """Rows added up by place, and for which places 64 bits hold what comes out."""
    if not len(counters):
        return np.zeros((places, counters.shape[1]), dtype=np.int64), np.ones(
            places, dtype=np.bool_
        )
    order = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[order], np.arange(places))
    sums = np.add.reduceat(counters[order], starts, axis=0)
    return sums, np.bincount(place, _magnitudes(counters), minlength=places) < _LIMIT


def _valid(column: pa.ChunkedArray) -> Bools:
    return column.is_valid().to_numpy().astype(np.bool_)


def _magnitudes(counters: Ints) -> Floats:
    """The largest counter of each row, as a float: -2^63 has no positive counterpart."""
    return np.abs(counters.astype(np.float64)).max(axis=1, initial=0.0)


def _refuse_overflow(magnitude: float) -> None:
    if magnitude >= _LIMIT:
        raise overflow()
