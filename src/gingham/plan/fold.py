"""Cells that no query tells apart are folded: one of them stands for all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from gingham.aggregates import Capability, Partial
from gingham.core.arrays import Bools, Ints
from gingham.plan.bound import BoundQuery
from gingham.plan.cells import Cells
from gingham.plan.forest import Forest, Grid

Sets = dict[bytes, Bools]  # sets of cells, by their bytes


@dataclass(frozen=True, slots=True)
class Asked:
    """Partials, and the sets of cells that they are read of."""

    partials: set[Partial] = field(default_factory=set[Partial])
    sets: Sets = field(default_factory=dict[bytes, Bools])


def fold(forest: Forest, cells: Cells) -> dict[int, Ints]:
    """For each grid, by its number: the first cell of each cell's fragment, to stand for it.

    No query of the forest tells these apart. Grids of which every cell is a fragment are left out.
    """
    folds: dict[int, Ints] = {}
    for grid in forest.grids:
        queries = [query for query in forest.queries if forest.grid_of(query) is grid]
        asked, present = asked_sets(grid, queries, cells)
        sets = [*present.values(), *united(asked.values()).sets.values()]
        if sets:
            _, fragment_of = distinct_rows(np.column_stack(sets))
            _, first, number = np.unique(fragment_of, return_index=True, return_inverse=True)
            if len(first) < grid.cells:
                folds[grid.number] = first[number.ravel()]
    return folds


def asked_sets(
    grid: Grid, queries: Sequence[BoundQuery], cells: Cells
) -> tuple[dict[Capability, Asked], Sets]:
    """The sets of cells that partials are read of, and those that may hold no row at all."""
    asked: dict[Capability, Asked] = {}
    present: Sets = {}
    for query in queries:
        for reading in (*query.readings, *query.guards):
            true = cells.of(grid, reading.condition).true
            for partial in reading.partials:
                one = asked.setdefault(partial.monoid.capability, Asked())
                one.partials.add(partial)
                one.sets[true.tobytes()] = true
        where = cells.of(grid, query.where).true
        present[where.tobytes()] = where
        for condition in query.conditions:
            raises = cells.of(grid, condition).raises
            present[raises.tobytes()] = raises
    for sets in (present, *(one.sets for one in asked.values())):
        for name in [name for name, found in sets.items() if not found.any()]:
            del sets[name]
    return asked, present


def united(parts: Iterable[Asked]) -> Asked:
    """All partials and sets of some parts."""
    union = Asked()
    for part in parts:
        union.partials.update(part.partials)
        union.sets.update(part.sets)
    return union


def distinct_rows(inside: Bools) -> tuple[Bools, Ints]:
    """The different rows that are not all zero, and for each row which of these it is, or -1."""
    packed = np.packbits(inside, axis=1)
    if not packed.shape[1]:
        return np.zeros((0, 0), dtype=bool), np.full(len(inside), -1, dtype=np.int64)
    names = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, number = np.unique(names, return_index=True, return_inverse=True)
    some = inside[first].any(axis=1)
    renumbered = np.where(some, np.cumsum(some) - 1, -1)
    return inside[first[some]], renumbered[number.ravel()]
