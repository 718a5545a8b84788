"""Fragments to records: n conditions answered from k < n records (Huebsch et al., SIGMOD 2007).

cells       1 2 3 4 5 6        rows fall into these
fragments   a a b c c -        cells of the same conditions; where none holds, nothing is sent
records     x   y   xy         a goes into x, b into y, c into both

A fragment in which no row was seen goes into records, too, if they can take it in: if it reaches
its conditions through them, and no others. Otherwise it is sent as it is (Section 8.1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from gingham.aggregates import Capability
from gingham.algebra.fragments import Covering, ExactDecomposition, decompose
from gingham.core.arrays import Bools, Floats, Ints
from gingham.finals.record_table import ROWS
from gingham.plan.cell_sets import (
    CellSets,
    GridReads,
    PartialReads,
    find_fragments,
    grid_reads,
    union_of,
)
from gingham.plan.condition_cache import ConditionCache
from gingham.plan.forest import Forest
from gingham.plan.forest_records import Block, ForestRecords, GridRecords

# The first kind of these tells which rows there are: merged partials do so without a count.
_ORDER: tuple[Capability, ...] = ("idempotent", "general", "linear")
# Weights are fractions with denominators up to here, or they are not used.
_DENOMINATORS = 64


def decompose_fragments(
    forest: Forest, occupied: Ints | None, conditions: ConditionCache, *, generation: int = 0
) -> ForestRecords:
    """Choose the records of every grid by cells; `occupied` are the cells that rows were seen in.

    Without `occupied` all fragments that may occur are decomposed: no row has to be seen before,
    but there may be more records. Records are numbered after the cells of all grids.
    """
    if occupied is None:
        occupied = np.arange(forest.cells)
    grids: list[GridRecords] = []
    offset = forest.cells
    for grid in forest.by_cells.grids:
        in_grid = (occupied >= grid.offset) & (occupied < grid.offset + grid.cells)
        queries = [query for query in forest.queries if forest.grid_of(query) is grid]
        reads = grid_reads(grid, queries, conditions)
        blocks = _blocks(reads, grid.cells, occupied[in_grid] - grid.offset)
        records = GridRecords(
            grid=grid,
            offset=offset,
            blocks=blocks,
            queries=len(queries),
            counts=_counts_beside_sums(reads, blocks),
            generation=generation,
        )
        grids.append(records)
        offset += records.cells
    counts = (column for grid in grids for column in grid.counts)
    return ForestRecords(tuple(grids), tuple(dict.fromkeys((*forest.columns, *counts))))


def _counts_beside_sums(reads: GridReads, blocks: Sequence[Block]) -> tuple[str, ...]:
    """The counts of rows and values that must be sent beside sums of records to subtract."""
    subtracted = [b.partials for b in blocks if b.kind == "linear" and len(b.numerators)]
    if not subtracted:
        return ()
    partials = union_of(reads.by_capability.values()).partials
    witnesses = {
        p.witness
        for p in partials
        if p.witness is not None and any(p.columns in served for served in subtracted)
    }
    return (*ROWS.columns, *sorted(witnesses))


def _blocks(reads: GridReads, cells: int, occupied: Ints) -> tuple[Block, ...]:
    """The blocks of records of a grid: one per capability or for several, whatever is fewest."""
    cache: dict[tuple[Capability, frozenset[bytes]], Block] = {}
    options: list[list[Block]] = []
    for served in _ways_to_serve(tuple(reads.by_capability)):
        reads_of: dict[Capability, PartialReads] = {
            kind: union_of(reads.by_capability[capability] for capability in capabilities)
            for kind, capabilities in served.items()
        }
        told = {name for part in reads_of.values() for name in part.cell_sets}
        untold = {name: cells for name, cells in reads.presence.items() if name not in told}
        # Whether there are rows is linear and idempotent at once: a count above zero, or a record.
        # So sets of which only that is asked may go into a block of any kind.
        for home in sorted(reads_of, key=_ORDER.index)[: None if untold else 1]:
            blocks: list[Block] = []
            for kind, part in reads_of.items():
                cell_sets = {**part.cell_sets, **untold} if kind == home else part.cell_sets
                name = kind, frozenset(cell_sets)
                if name not in cache:
                    cache[name] = _block(kind, cell_sets, cells, occupied)
                served_by = frozenset(partial.columns for partial in part.partials)
                blocks.append(replace(cache[name], partials=served_by))
            options.append(sorted(blocks, key=lambda block: _ORDER.index(block.kind)))
    return tuple(min(options, key=lambda blocks: (sum(b.size for b in blocks), len(blocks))))


def _ways_to_serve(
    capabilities: tuple[Capability, ...],
) -> Iterator[Mapping[Capability, tuple[Capability, ...]]]:
    """Ways to serve all capabilities: for each kind of decomposition, those that it serves.

    A general decomposition serves all capabilities.
    """
    special: list[Capability] = [c for c in capabilities if c != "general"]
    for count in range(len(special), -1, -1):
        for apart in combinations(special, count):
            served: dict[Capability, tuple[Capability, ...]] = {c: (c,) for c in apart}
            rest: tuple[Capability, ...] = tuple(c for c in capabilities if c not in apart)
            # A single capability that can do more needs no general decomposition.
            if len(rest) > 1 or rest == ("general",):
                served["general"] = rest
            elif rest:
                continue
            if served:
                yield served
    if not capabilities:
        # Without partials the only question is whether there are rows.
        yield {"idempotent": ()}
        yield {"linear": ()}


def _block(kind: Capability, cell_sets: CellSets, cells: int, occupied: Ints) -> Block:
    """Decompose the fragments of some sets of cells, as far as they have rows, into records."""
    membership = np.column_stack([*cell_sets.values()]) if cell_sets else np.zeros((cells, 0), bool)
    fragments, fragment_of = find_fragments(membership)
    present = np.unique(fragment_of[occupied])
    present = present[present >= 0]
    is_present = np.zeros(len(fragments), dtype=bool)
    is_present[present] = True
    decomposition = _decomposed(kind, fragments[present])
    reducer = np.zeros((len(fragments), decomposition.reducer.shape[1]), dtype=bool)
    reducer[present] = decomposition.reducer
    reducer[~is_present] = _taken_in(decomposition, fragments[~is_present])
    return Block(
        kind=decomposition.kind,
        partials=frozenset(),
        fragments=fragments,
        fragment_of=fragment_of,
        occupied=is_present,
        reducer=reducer,
        numerators=decomposition.numerators,
        denominators=decomposition.denominators,
    )


class _Decomposed(NamedTuple):
    """Which fragments go into which records, and the weights of records in the cell sets."""

    kind: Capability
    reducer: Bools  # fragments x records
    numerators: Ints  # records x columns
    denominators: Ints  # of each column
    basis: Ints | None = None  # linear: the column that each record is the answer of


def _taken_in(decomposition: _Decomposed, fragments: Bools) -> Bools:
    """The records that take in each of some more fragments; none where they cannot.

    A linear record is the answer of a condition, so it takes in the fragments of that; they fit if
    all other answers come out, too. Of other records the largest come first: those that reach no
    further conditions, and none twice unless that does no harm.
    """
    numerators, wanted = decomposition.numerators, fragments.astype(np.int64)
    taken = np.zeros((len(fragments), len(numerators)), dtype=bool)
    if decomposition.basis is not None:
        taken = fragments[:, decomposition.basis]
        answers = taken.astype(np.int64) @ numerators
        fits = np.equal(answers, wanted * decomposition.denominators).all(axis=1, keepdims=True)
        return taken & fits
    reached = numerators.astype(bool)
    left_over = fragments.copy()
    for record in np.argsort(-reached.sum(axis=1), kind="stable"):
        columns = reached[record]
        useful = left_over[:, columns]
        fits = fragments[:, columns].all(axis=1) & useful.any(axis=1)
        if decomposition.kind != "idempotent":
            fits &= useful.all(axis=1)
        taken[fits, record] = True
        left_over[np.ix_(fits, columns)] = False
    return taken & ~left_over.any(axis=1, keepdims=True)


def _decomposed(kind: Capability, fragments: Bools) -> _Decomposed:
    """Decompose fragments into fewer records; no records if each fragment is sent as it is.

    A fragment as it is needs no weights, so it is preferred to as many records.
    """
    rows, columns = fragments.shape
    ones = np.ones(columns, dtype=np.int64)
    no_records = _Decomposed(
        kind=kind,
        reducer=np.zeros((rows, 0), dtype=bool),
        numerators=np.zeros((0, columns), dtype=np.int64),
        denominators=ones,
    )
    if not fragments.size:
        return no_records
    decomposition = decompose(fragments, kind)
    if isinstance(decomposition, ExactDecomposition):
        basis = fragments[:, decomposition.basis]
        weights = _weights_as_fractions(basis, decomposition.coefficients, fragments)
        if weights is None:
            return _decomposed("general", fragments)
        if decomposition.size < rows:
            return _Decomposed(kind, basis, *weights, basis=decomposition.basis)
    assert isinstance(decomposition, Covering | ExactDecomposition)
    if decomposition.size >= rows:
        return no_records
    assert isinstance(decomposition, Covering)
    return _Decomposed(kind, decomposition.reducer, decomposition.rebuilder.astype(np.int64), ones)


def _weights_as_fractions(
    reducer: Bools, coefficients: Floats, fragments: Bools
) -> tuple[Ints, Ints] | None:
    """The weights of records as numerators and denominators, proved by multiplying.

    None if they are no fractions with small denominators.
    """
    numerators = np.zeros(coefficients.shape, dtype=np.int64)
    denominators = np.zeros(coefficients.shape[1], dtype=np.int64)
    members, wanted = reducer.astype(np.int64), fragments.astype(np.int64)
    for denominator in range(1, _DENOMINATORS + 1):
        unsolved = np.flatnonzero(denominators == 0)
        if not len(unsolved):
            break
        tried = np.rint(coefficients[:, unsolved] * denominator).astype(np.int64)
        right = (members @ tried == denominator * wanted[:, unsolved]).all(axis=0)
        numerators[:, unsolved[right]] = tried[:, right]
        denominators[unsolved[right]] = denominator
    return (numerators, denominators) if denominators.all() else None
