"""Queries whose conditions would make too many cells are simplified until they make few."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import prod

from gingham.logical.predicate import Attribute, whole
from gingham.optimizer.axes import all_axes
from gingham.optimizer.cost import MOST_CELLS
from gingham.plan.bound import BoundQuery, Condition, Reading
from gingham.plan.forest import Standing

_STEPS = ("nothing", "filters", "predicate")


def take_whole(
    queries: tuple[BoundQuery, ...], standing: Standing
) -> tuple[tuple[BoundQuery, ...], dict[str, int], tuple[str, ...]]:
    """Let Spark evaluate what has too many intervals: first filters, then the predicate itself.

    sum(x) FILTER (WHERE f)            ->     the filter is part of the partial sum
    a > 1 AND b > 2 AND ... z > 26     ->     one boolean attribute: (a > 1 AND ... z > 26)

    Queries that run already stay as they are: where one of their grids would get too many cells,
    the newcomers that cut it are simplified. Also gives how far each query was.
    """
    steps = {q.name: standing.whole.get(q.name, 0) for q in queries}
    notices: list[str] = []
    while True:
        simple = tuple(_simplified(q, steps[q.name]) for q in queries)
        chosen = {
            name: cells
            for name, cells in _crowding(simple, standing).items()
            if steps[name] < len(_STEPS) - 1
        }
        if not chosen:
            return simple, steps, tuple(notices)
        for name, cells in chosen.items():
            steps[name] += 1
            notices.append(
                f"{_STEPS[steps[name]]} of {name} evaluated by Spark as a whole: "
                f"{cells:,} cells otherwise"
            )


def _crowding(queries: Iterable[BoundQuery], standing: Standing) -> dict[str, int]:
    """Newcomers that make too many cells, and how many, among their own or in a standing grid."""
    queries = tuple(queries)
    axes = all_axes(queries)

    def cells(attributes: frozenset[Attribute]) -> int:
        return prod(len(axes[a].cuts) + 2 for a in attributes)

    grids: dict[int, frozenset[Attribute]] = {}
    for query in queries:
        if (number := standing.grids.get(query.name)) is not None:
            grids[number] = grids.get(number, frozenset()) | query.attributes
    full = [attributes for attributes in grids.values() if cells(attributes) > MOST_CELLS]
    found: dict[str, int] = {}
    for query in queries:
        if query.name not in standing.grids:
            own = query.attributes
            crowded = [own, *(attributes for attributes in full if attributes & own)]
            most = max(map(cells, crowded))
            if most > MOST_CELLS:
                found[query.name] = most
    return found


def _simplified(query: BoundQuery, step: int) -> BoundQuery:
    if step >= 1:
        query = _filters_in_partials(query)
    return _predicate_whole(query) if step >= 2 else query


def _filters_in_partials(query: BoundQuery) -> BoundQuery:
    def read(reading: Reading) -> Reading:
        if reading.filter is None:
            return reading
        return replace(reading, condition=query.where, in_partials=True)

    return query.rewritten(query.where, read)


def _predicate_whole(query: BoundQuery) -> BoundQuery:
    simple = Condition(whole(query.where.sql), query.where.sql)
    return query.rewritten(simple, lambda reading: replace(reading, condition=simple))
