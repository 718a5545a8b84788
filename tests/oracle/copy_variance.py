"""The variance of one copy of a join's estimate, by going through all pairs of joined rows."""

from collections import Counter
from collections.abc import Mapping
from itertools import product
from math import prod

from gingham.datasets.regions import Table
from gingham.estimates.algebra.join_query import JoinQuery, JoinTree, join_trees


def copy_moments(query: JoinQuery, tables: Mapping[str, Table]) -> tuple[float, float]:
    """The mean and the variance of a product of sketches, from the definition.

    A copy is a sum over all ways to take one row of each relation, joined or not: the product of
    their counts and of a sign for both sides of each join. The mean of a product of signs is 1 if
    every key occurs an even number of times in each family, and else 0.
    """
    tree = join_trees([query])[0]
    taken = list(product(*(range(_size(tables, o.relation)) for o in tree.occurrences)))
    counts = {
        rows: prod(
            int(tables[o.relation].counts[row])
            for o, row in zip(tree.occurrences, rows, strict=True)
        )
        for rows in taken
    }
    keys = {rows: _signed_keys(tree, rows, tables) for rows in taken}
    mean = sum(counts[rows] * _is_even([keys[rows]]) for rows in taken)
    square = sum(
        counts[one] * counts[other] * _is_even([keys[one], keys[other]])
        for one in taken
        for other in taken
    )
    return float(mean), float(square - mean**2)


def _size(tables: Mapping[str, Table], relation: str) -> int:
    return len(tables[relation].counts)


def _signed_keys(
    tree: JoinTree, rows: tuple[int, ...], tables: Mapping[str, Table]
) -> list[tuple[int, int]]:
    """The signs that a choice of rows is multiplied by: the number of the join, and the key."""
    found: list[tuple[int, int]] = []
    for family, edge in enumerate(tree.edges):
        for occurrence, slot in edge:
            taken = tree.occurrences[occurrence]
            values = tables[taken.relation].keys[taken.attributes[slot]]
            found.append((family, int(values[rows[occurrence]])))
    return found


def _is_even(parts: list[list[tuple[int, int]]]) -> bool:
    """Whether signs cancel: each key of each family occurs an even number of times."""
    times = Counter(key for part in parts for key in part)
    return all(count % 2 == 0 for count in times.values())
