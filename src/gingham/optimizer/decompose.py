"""Fragments to records: n conditions answered from k < n records (Huebsch et al., SIGMOD 2007).

cells       1 2 3 4 5 6        rows fall into these
fragments   a a b c c -        cells of the same conditions; where none holds, nothing is sent
records     x   y   xy         a goes into x, b into y, c into both
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from gingham.aggregates import Capability, Partial
from gingham.algebra.fragments import Covering, Exact, decompose
from gingham.core.arrays import Bools, Floats, Ints
from gingham.finals.records import ROWS
from gingham.plan.bound import BoundQuery
from gingham.plan.cells import Cells
from gingham.plan.fold import Asked, Sets, asked_sets, distinct_rows, united
from gingham.plan.forest import Forest, Grid
from gingham.plan.records import Block, GridRecords, Reduced

# Who tells which rows there are: records that merge whole partials before sums that need a count.
_ORDER: tuple[Capability, ...] = ("idempotent", "general", "linear")
# Weights are fractions with denominators up to here, or they are not used.
_DENOMINATORS = 64


def reduce_forest(forest: Forest, met: Ints, cells: Cells) -> Reduced:
    """Decompose the fragments that were met, given by their cells; all others stay as they are."""
    grids: list[GridRecords] = []
    offset = 0
    for grid in forest.grids:
        own = met[(met >= grid.offset) & (met < grid.offset + grid.cells)] - grid.offset
        queries = [query for query in forest.queries if forest.grid_of(query) is grid]
        blocks = _blocks(grid, queries, own, cells)
        grids.append(GridRecords(grid, offset, blocks, len(queries)))
        offset += grids[-1].cells
    counts = [column for grid in grids for block in grid.blocks for column in _counts(block)]
    return Reduced(tuple(grids), tuple(dict.fromkeys((*forest.columns, *counts))))


def _counts(block: Block) -> Iterator[str]:
    """Beside sums that are subtracted: how many rows and values there were."""
    if block.kind == "linear" and len(block.numerators):
        yield from ROWS.columns
        yield from sorted(p.witness for p in block.partials if p.witness is not None)


def _blocks(
    grid: Grid, queries: Sequence[BoundQuery], met: Ints, cells: Cells
) -> tuple[Block, ...]:
    """A block for each capability, or one that does for several: whatever has fewer records."""
    asked, present = asked_sets(grid, queries, cells)
    known: dict[tuple[Capability, frozenset[bytes]], Block] = {}
    options: list[list[Block]] = []
    for served in _options(tuple(asked)):
        wanted: dict[Capability, Asked] = {
            kind: united(asked[capability] for capability in capabilities)
            for kind, capabilities in served.items()
        }
        home = min(wanted, key=_ORDER.index)
        for name, found in present.items():
            if not any(name in one.sets for one in wanted.values()):
                wanted[home].sets[name] = found
        blocks: list[Block] = []
        for kind, one in wanted.items():
            name = kind, frozenset(one.sets)
            if name not in known:
                known[name] = _block(kind, one.sets, grid.cells, met)
            blocks.append(replace(known[name], partials=frozenset(one.partials)))
        options.append(sorted(blocks, key=lambda block: _ORDER.index(block.kind)))
    return tuple(min(options, key=lambda blocks: (sum(b.size for b in blocks), len(blocks))))


def _options(
    asked: tuple[Capability, ...],
) -> Iterator[Mapping[Capability, tuple[Capability, ...]]]:
    """Which capabilities each kind of decomposition serves; a general one serves all."""
    special: list[Capability] = [capability for capability in asked if capability != "general"]
    for count in range(len(special), -1, -1):
        for apart in combinations(special, count):
            served: dict[Capability, tuple[Capability, ...]] = {one: (one,) for one in apart}
            rest: tuple[Capability, ...] = tuple(one for one in asked if one not in apart)
            # One that can do more is not served by a general decomposition of its own.
            if len(rest) > 1 or rest == ("general",):
                served["general"] = rest
            elif rest:
                continue
            # Without partials the only question is whether there are rows.
            yield served or {"idempotent": ()}


def _block(kind: Capability, sets: Sets, cells: int, met: Ints) -> Block:
    """Decompose the fragments that were met."""
    inside = np.column_stack([*sets.values()]) if sets else np.zeros((cells, 0), dtype=bool)
    fragments, fragment_of = distinct_rows(inside)
    places = np.unique(fragment_of[met])
    places = places[places >= 0]
    here = np.zeros(len(fragments), dtype=bool)
    here[places] = True
    columns = {name: place for place, name in enumerate(sets)}
    known = fragments[places]
    kind, own, numerators, denominators = _decomposed(kind, known)
    reducer = np.zeros((len(fragments), own.shape[1]), dtype=bool)
    reducer[places] = own
    return Block(
        kind,
        frozenset[Partial](),
        columns,
        fragments,
        fragment_of,
        here,
        reducer,
        numerators,
        denominators,
    )


def _decomposed(kind: Capability, known: Bools) -> tuple[Capability, Bools, Ints, Ints]:
    """Which fragments go into which records, and the weights of these; no records if that is best.

    Fragments as they are need no weights, so they are preferred to as many records.
    """
    fragments, columns = known.shape
    ones = np.ones(columns, dtype=np.int64)
    alone = np.zeros((fragments, 0), dtype=bool), np.zeros((0, columns), dtype=np.int64), ones
    if not known.size:
        return kind, *alone
    found = decompose(known, kind)
    if isinstance(found, Exact):
        weights = _fractions(known[:, found.basis], found.coefficients, known)
        if weights is None:
            return _decomposed("general", known)
        if found.size < fragments:
            return kind, known[:, found.basis], *weights
    assert isinstance(found, Covering | Exact)
    if found.size >= fragments:
        return kind, *alone
    assert isinstance(found, Covering)
    return kind, found.reducer, found.rebuilder.astype(np.int64), ones


def _fractions(reducer: Bools, coefficients: Floats, known: Bools) -> tuple[Ints, Ints] | None:
    """The weights as integers over a denominator for each column; proved by multiplying."""
    numerators = np.zeros(coefficients.shape, dtype=np.int64)
    denominators = np.zeros(coefficients.shape[1], dtype=np.int64)
    members, wanted = reducer.astype(np.int64), known.astype(np.int64)
    for denominator in range(1, _DENOMINATORS + 1):
        open_ = np.flatnonzero(denominators == 0)
        if not len(open_):
            break
        tried = np.rint(coefficients[:, open_] * denominator).astype(np.int64)
        right = (members @ tried == denominator * wanted[:, open_]).all(axis=0)
        numerators[:, open_[right]] = tried[:, right]
        denominators[open_[right]] = denominator
    return (numerators, denominators) if denominators.all() else None
