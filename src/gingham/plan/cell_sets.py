"""The sets of cells that queries read from a grid, and the fragments that these sets make.

cells       0 1 2 3 4 5
q1          x x . x x .        the cells in which the condition of q1 holds
q2          . . x x x .
fragments   a a b c c -        cells that belong to the same sets; - where no condition holds
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from gingham.aggregates import Capability, Partial
from gingham.core.arrays import Bools, Ints
from gingham.plan.bound import BoundQuery
from gingham.plan.condition_cache import ConditionCache
from gingham.plan.grid import Grid

CellSets = dict[bytes, Bools]  # a flag for each cell of a grid, by the bytes of these flags


@dataclass(frozen=True, slots=True)
class PartialReads:
    """Partials, and the sets of cells over which queries merge them."""

    partials: set[Partial] = field(default_factory=set[Partial])
    cell_sets: CellSets = field(default_factory=dict[bytes, Bools])


class GridReads(NamedTuple):
    """What queries read from one grid: sets of cells, and the partials that they merge over them.

    `presence` are the sets of which queries ask whether there is any row: those of WHERE
    conditions. Empty sets are left out.
    """

    by_capability: dict[Capability, PartialReads]
    presence: CellSets


class FragmentTable(NamedTuple):
    """The fragments of a grid: which sets each belongs to, and which fragment each cell is of."""

    membership: Bools  # fragments x sets
    fragment_of: Ints  # for each cell, a row of `membership`; -1 where no condition holds


def grid_reads(grid: Grid, queries: Sequence[BoundQuery], conditions: ConditionCache) -> GridReads:
    """Collect the sets of cells that some queries read from their grid."""
    by_capability: dict[Capability, PartialReads] = {}
    presence: CellSets = {}
    for query in queries:
        for aggregate in query.aggregates:
            true = conditions.truths(grid, aggregate.condition).true
            for partial in aggregate.partials:
                reads = by_capability.setdefault(partial.monoid.capability, PartialReads())
                reads.partials.add(partial)
                reads.cell_sets[true.tobytes()] = true
        where = conditions.truths(grid, query.where).true
        presence[where.tobytes()] = where
    for cell_sets in (presence, *(reads.cell_sets for reads in by_capability.values())):
        for name in [name for name, cells in cell_sets.items() if not cells.any()]:
            del cell_sets[name]
    return GridReads(by_capability, presence)


def possible_fragments(
    grid: Grid, queries: Sequence[BoundQuery], conditions: ConditionCache
) -> FragmentTable:
    """The fragments that rows may fall into, found without rows: sets of cells make them.

    It is a superset of the fragments that occur, the same on every node. Where attributes depend
    on each other some of them cannot occur, which conditions alone do not tell.
    """
    reads = grid_reads(grid, queries, conditions)
    cell_sets = {**reads.presence, **union_of(reads.by_capability.values()).cell_sets}
    if not cell_sets:
        return find_fragments(np.zeros((grid.cells, 0), dtype=bool))
    return find_fragments(np.column_stack([*cell_sets.values()]))


def union_of(parts: Iterable[PartialReads]) -> PartialReads:
    """Put the partials and the sets of cells of several reads of a grid into one."""
    union = PartialReads()
    for part in parts:
        union.partials.update(part.partials)
        union.cell_sets.update(part.cell_sets)
    return union


def find_fragments(membership: Bools) -> FragmentTable:
    """Group cells into fragments: those that are in the same sets; `membership` is cells x sets.

    >>> find_fragments(np.array([[1, 0], [0, 0], [1, 1], [1, 0]], dtype=bool)).fragment_of.tolist()
    [0, -1, 1, 0]
    """
    packed = np.packbits(membership, axis=1)
    if not packed.shape[1]:
        nowhere = np.full(len(membership), -1, dtype=np.int64)
        return FragmentTable(np.zeros((0, 0), dtype=bool), nowhere)
    names = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, number = np.unique(names, return_index=True, return_inverse=True)
    some = membership[first].any(axis=1)
    renumbered = np.where(some, np.cumsum(some) - 1, -1)
    return FragmentTable(membership[first[some]], renumbered[number.ravel()])
