"""Conditions that would make too many cells are simplified until they make few."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import NamedTuple

from gingham.logical.predicate import Attribute, opaque
from gingham.optimizer.axes import all_axes
from gingham.optimizer.cost import MOST_CELLS
from gingham.plan.bound import BoundQuery, Condition, ConditionalAggregate
from gingham.plan.forest import FixedDecisions

_STEPS = ("nothing", "filters", "predicate")  # what is evaluated by Spark after so many steps


class SimplifiedQueries(NamedTuple):
    """Queries with simpler conditions; by how many steps each was simplified; and why."""

    queries: tuple[BoundQuery, ...]
    simplifications: dict[str, int]
    notices: tuple[str, ...]


def simplify_conditions(
    queries: tuple[BoundQuery, ...], fixed: FixedDecisions
) -> SimplifiedQueries:
    """Let Spark evaluate what has too many intervals: first filters, then the predicate itself.

    sum(x) FILTER (WHERE f)            ->     the filter is part of the partial sum
    a > 1 AND b > 2 AND ... z > 26     ->     one boolean attribute: (a > 1 AND ... z > 26)

    Queries that run already stay as they are: where one of their grids would get too many cells,
    the new queries that cut it are simplified.
    """
    steps = {q.name: fixed.simplifications.get(q.name, 0) for q in queries}
    notices: list[str] = []
    while True:
        simple = tuple(_simplified(q, steps[q.name]) for q in queries)
        chosen = {
            name: cells
            for name, cells in _excessive_cells(simple, fixed).items()
            if steps[name] < len(_STEPS) - 1
        }
        if not chosen:
            return SimplifiedQueries(simple, steps, tuple(notices))
        for name, cells in chosen.items():
            steps[name] += 1
            notices.append(
                f"{_STEPS[steps[name]]} of {name} evaluated by Spark as a whole: "
                f"{cells:,} cells otherwise"
            )


def _excessive_cells(queries: Sequence[BoundQuery], fixed: FixedDecisions) -> dict[str, int]:
    """The new queries that make too many cells, alone or in a fixed grid, and how many."""
    axes = all_axes(queries)

    def cells(attributes: frozenset[Attribute]) -> int:
        """The number of cells of a grid over these attributes."""
        return prod(len(axes[a].cuts) + 2 for a in attributes)

    fixed_grids: dict[int, frozenset[Attribute]] = {}
    for query in queries:
        if (number := fixed.grid_of_query.get(query.name)) is not None:
            fixed_grids[number] = fixed_grids.get(number, frozenset()) | query.attributes
    full = [attributes for attributes in fixed_grids.values() if cells(attributes) > MOST_CELLS]
    excessive: dict[str, int] = {}
    for query in queries:
        if query.name not in fixed.grid_of_query:
            grids = [query.attributes, *(grid for grid in full if grid & query.attributes)]
            most = max(map(cells, grids))
            if most > MOST_CELLS:
                excessive[query.name] = most
    return excessive


def _simplified(query: BoundQuery, steps: int) -> BoundQuery:
    """The query after so many steps of simplification: its filters first, then its WHERE."""
    if steps >= 1:
        query = _filters_in_partials(query)
    return _opaque_predicate(query) if steps >= 2 else query


def _filters_in_partials(query: BoundQuery) -> BoundQuery:
    """Move FILTER clauses of a query into its partials, so that they cut no attributes."""

    def moved(aggregate: ConditionalAggregate) -> ConditionalAggregate:
        """The aggregate with its FILTER evaluated by Spark inside the partials."""
        if aggregate.filter is None:
            return aggregate
        return replace(aggregate, condition=query.where, filter_in_partials=True)

    return query.rewritten(query.where, moved)


def _opaque_predicate(query: BoundQuery) -> BoundQuery:
    """Make the WHERE of a query one boolean attribute, which Spark evaluates."""
    simple = Condition(opaque(query.where.sql), query.where.sql)
    return query.rewritten(simple, lambda aggregate: replace(aggregate, condition=simple))
