"""The exact answers of join queries, from leaves to root."""

from collections.abc import Mapping, Sequence

import numpy as np

from gingham.core.arrays import Floats, Ints
from gingham.datasets.regions import Table
from gingham.estimates.algebra.join_query import Join, JoinQuery, JoinTree, join_trees


def join_size(query: JoinQuery | Sequence[Join], tables: Mapping[str, Table]) -> float:
    """COUNT or SUM over the join."""
    tree = join_trees([query])[0]
    left = set(range(len(tree.occurrences)))
    total = 1.0
    while left:
        total *= float(_values(tree, min(left), None, tables, left).sum())
    return total


def _values(
    tree: JoinTree,
    occurrence: int,
    parent: int | None,
    tables: Mapping[str, Table],
    left: set[int],
) -> Floats:
    """For each row of a relation what it joins with, its parent left out."""
    left.discard(occurrence)
    found = tree.occurrences[occurrence]
    table = tables[found.relation]
    values = (table.counts if found.measure is None else (table.sums or {})[found.measure]) * 1.0
    if found.selection is not None:
        assert table.fragments is not None
        values = values * np.isin(table.fragments, list(found.selection))
    children = {
        b[0] if a[0] == occurrence else a[0] for a, b in tree.edges if occurrence in (a[0], b[0])
    }
    for child in children - {parent}:
        below = _values(tree, child, occurrence, tables, left)
        mine, its = (
            _columns(tree, occurrence, child, tables),
            _columns(tree, child, occurrence, tables),
        )
        place = _numbered(np.concatenate([mine, its]))
        sums = np.bincount(place[len(mine) :], weights=below, minlength=int(place.max()) + 1)
        values = values * sums[place[: len(mine)]]
    return values.astype(np.float64, copy=False)


def _columns(tree: JoinTree, one: int, other: int, tables: Mapping[str, Table]) -> Ints:
    """The keys of one occurrence that it is joined with another on."""
    slots = [(a if a[0] == one else b)[1] for a, b in tree.edges if {a[0], b[0]} == {one, other}]
    found = tree.occurrences[one]
    return np.stack([tables[found.relation].keys[found.attributes[s]] for s in slots], axis=1)


def _numbered(rows: Ints) -> Ints:
    """Equal rows get equal numbers."""
    numbers = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        values, place = np.unique(column, return_inverse=True)
        numbers = np.unique(numbers * len(values) + place, return_inverse=True)[1]
    return numbers
