"""Sketches by slice as Arrow tables, added up to the sketches of windows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gingham.core import names
from gingham.core.arrays import Bools, Floats, Ints, Positions, Words
from gingham.estimates.algebra import SharingPlan
from gingham.estimates.algebra.counters import overflow
from gingham.logical.window import Window

# Counters are 64-bit integers; magnitudes below this fit.
_LIMIT = 2.0**63
_BYTES = 8


class SketchTable:
    """The sketches of a plan, read from an Arrow table (`__instant`, `__sketch`, `__counters`).

    The table may have several rows for one instant and sketch; they are added up on reading. A row
    may have fewer counters than its sketch has words, the first ones: the others were dropped.
    """

    def __init__(self, table: pa.Table, sharing: SharingPlan) -> None:
        self.table = table
        self.sharing = sharing
        self._cache: dict[int, SlicedSketch] = {}

    def of(self, vertex: int) -> SlicedSketch:
        """Read the counters of one sketch from the table, by slice."""
        if vertex not in self._cache:
            self._cache[vertex] = self._load(vertex)
        return self._cache[vertex]

    def condensed(self, floors: Mapping[int, int]) -> pa.Table:
        """Add up the sketch table to one row per sketch and slice.

        Slices before the floor of their sketch, by its number, are dropped.
        """
        batches: list[pa.RecordBatch] = []
        for vertex in self.sharing.vertices:
            sketch, since = self.of(vertex.number), floors[vertex.number]
            recent = sketch.instants >= since
            overflown = sketch.overflown[sketch.overflown >= since]
            batches += [
                pack_counters(
                    vertex.number,
                    pa.array(sketch.instants[recent]),
                    sketch.counters[recent],
                    sketch.copies[recent],
                ),
                pack_counters(vertex.number, pa.array(overflown), None),
            ]
        return pa.Table.from_batches(batches)

    def _load(self, vertex: int) -> SlicedSketch:
        """Read and add up the counters of one sketch from the Arrow table."""
        numbers = self.table[names.SKETCH].to_numpy()
        rows = self.table.filter(pa.array(numbers == vertex))
        words = self.sharing.words[vertex]
        timed, has_counters = (_valid(rows[name]) for name in (names.INSTANT, names.COUNTERS))
        row_instants = rows[names.INSTANT].fill_null(0).to_numpy().astype(np.int64)
        packed = rows[names.COUNTERS].drop_null().to_pylist()
        counters = np.zeros((len(has_counters), words), dtype=np.int64)
        row_copies = np.full(len(has_counters), words, dtype=np.int64)
        for row, values in zip(np.flatnonzero(has_counters), packed, strict=True):
            row_copies[row] = len(values) // _BYTES
            counters[row, : row_copies[row]] = np.frombuffer(values, dtype="<i8")
        instants, position = np.unique(row_instants[timed], return_inverse=True)
        sums, fits = _add_counters_by(position, counters[timed], len(instants))
        fits[position[~has_counters[timed]]] = False
        timeless, timeless_fits = _add_counters_by(
            np.zeros((~timed).sum(), dtype=np.intp), counters[~timed], 1
        )
        all_there = timeless_fits[0] and has_counters[~timed].all()
        copies = np.full(len(instants), words, dtype=np.int64)
        np.minimum.at(copies, position, row_copies[timed])
        return SlicedSketch(
            instants=instants[fits],
            counters=sums[fits],
            copies=copies[fits],
            timeless=timeless[0] if all_there else None,
            timeless_copies=int(row_copies[~timed].min(initial=words)),
            overflown=instants[~fits],
        )


class AddedSketches(NamedTuple):
    """Sketches of windows: a row of counters for each, of which the first `copies` are there."""

    counters: Ints
    copies: Ints


@dataclass(frozen=True)  # no slots: what is derived is kept once computed
class SlicedSketch:
    """One sketch by slice of time.

    `instants` are the starts of slices in ascending order, `counters` has a row for each, of which
    the first `copies` are there. `timeless` are the counters of rows that are not cut into slices,
    None if they overflow 64 bits. `overflown` are the starts of slices whose counters overflow.
    """

    instants: Ints
    counters: Ints
    copies: Ints
    timeless: Ints | None
    timeless_copies: int
    overflown: Ints

    def total(self) -> AddedSketches:
        """Add up the sketch of all rows over all slices: one row of counters."""
        if self.timeless is None or len(self.overflown):
            raise overflow()
        everything = np.vstack([self.counters, self.timeless])
        refuse_overflow(magnitudes(everything).sum())
        copies = self.copies.min(initial=self.timeless_copies)
        return AddedSketches(everything.sum(axis=0, keepdims=True), np.array([copies]))

    def windows(self, starts: Ints, window: Window) -> AddedSketches:
        """Add up slices to the sketches of windows: a row of counters for each start."""
        overflown = np.searchsorted(self.overflown, [starts, starts + window.range])
        if (overflown[0] < overflown[1]).any():
            raise overflow()
        low = np.searchsorted(self.instants, starts)
        high = np.searchsorted(self.instants, starts + window.range)
        refuse_overflow((self._bounds[high] - self._bounds[low]).max(initial=0.0))
        counters = (self._prefix_sums[high] - self._prefix_sums[low]).view(np.int64)
        words = counters.shape[1]
        spans = zip(low.tolist(), high.tolist(), strict=True)
        copies = [int(self.copies[a:b].min(initial=words)) for a, b in spans]
        return AddedSketches(counters, np.array(copies, dtype=np.int64))

    @cached_property
    def _prefix_sums(self) -> Words:
        """The sum of sketches of all slices before each; differences are exact modulo 2^64."""
        sums = np.zeros((len(self.counters) + 1, self.counters.shape[1]), dtype=np.uint64)
        np.cumsum(self.counters.view(np.uint64), axis=0, out=sums[1:])
        return sums

    @cached_property
    def _bounds(self) -> Floats:
        """Prefix sums of the largest counters of slices: differences bound those of windows."""
        return np.concatenate([[0.0], np.cumsum(magnitudes(self.counters))])


def pack_counters(
    vertex: int, instants: pa.Array, counters: Ints | None, copies: Ints | None = None
) -> pa.RecordBatch:
    """Write a row of a sketch table for each instant; without counters if they overflow 64 bits.

    `copies` says how many counters of each row are written, the first ones; all by default.
    """
    if counters is None:
        rows = [None] * len(instants)
    elif copies is None:
        rows = [row.astype("<i8").tobytes() for row in counters]
    else:
        rows = [row[:n].astype("<i8").tobytes() for row, n in zip(counters, copies, strict=True)]
    return pa.record_batch(
        {
            names.INSTANT: instants,
            names.SKETCH: pa.array(np.full(len(rows), vertex, dtype=np.int32)),
            names.COUNTERS: pa.array(rows, pa.binary()),
        }
    )


def no_sketches() -> pa.Table:
    """Make a sketch table without rows."""
    types = {names.INSTANT: pa.int64(), names.SKETCH: pa.int32(), names.COUNTERS: pa.binary()}
    return pa.table({name: pa.array([], kind) for name, kind in types.items()})


def words_of(table: pa.Table) -> Ints:
    """The number of counters in each row of a sketch table."""
    lengths = pc.call_function("binary_length", [table[names.COUNTERS]]).fill_null(0)
    return lengths.to_numpy().astype(np.int64) // _BYTES


def keep_words(table: pa.Table, words: Ints) -> pa.Table:
    """Drop all but the first counters of each row of a sketch table: so many are kept."""
    counters = table[names.COUNTERS].to_pylist()
    kept = [c and c[: _BYTES * n] for c, n in zip(counters, words.tolist(), strict=True)]
    column = table.column_names.index(names.COUNTERS)
    return table.set_column(column, names.COUNTERS, pa.array(kept, pa.binary()))


def magnitudes(counters: Ints) -> Floats:
    """The largest magnitude of each row of counters, as a float: -2^63 has no positive one."""
    return np.abs(counters.astype(np.float64)).max(axis=1, initial=0.0)


def refuse_overflow(magnitude: float) -> None:
    """Raise if sketch counters of this magnitude do not fit into 64 bits."""
    if magnitude >= _LIMIT:
        raise overflow()


class _Sums(NamedTuple):
    """Rows of sketch counters added up, and whether 64 bits hold them."""

    counters: Ints  # a row for each position
    fits: Bools  # whether 64 bits hold them


def _add_counters_by(position: Positions, counters: Ints, size: int) -> _Sums:
    """Add up the rows of counters that have the same position, for positions below `size`."""
    if not len(counters):
        return _Sums(
            np.zeros((size, counters.shape[1]), dtype=np.int64), np.ones(size, dtype=np.bool_)
        )
    order = np.argsort(position, kind="stable")
    starts = np.searchsorted(position[order], np.arange(size))
    sums = np.add.reduceat(counters[order], starts, axis=0)
    return _Sums(sums, np.bincount(position, magnitudes(counters), minlength=size) < _LIMIT)


def _valid(column: pa.ChunkedArray) -> Bools:
    """Which rows of a sketch table's column are not NULL."""
    return column.is_valid().to_numpy().astype(np.bool_)
