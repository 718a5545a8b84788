"""Predicted seconds of queries that go by columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gingham.columns.fill import CHUNK
from gingham.logical.predicate import Span, leaves
from gingham.optimizer.cost import Cost
from gingham.plan.bound import BoundQuery
from gingham.plan.row_statistics import RowStatistics, Trial, expected_occupied

_SELECTED = 0.3  # the part of the rows that a condition is taken to select if nothing is known


def column_seconds(queries: Sequence[BoundQuery], cost: Cost, statistics: RowStatistics) -> float:
    """Predicted seconds for filling grids by columns, and for reading their shards.

    Every row is handed over with all inputs. What Python does with it was timed in a trial, or is
    put together from its parts.
    """
    conditions = {c.sql: c for query in queries for c in query.conditions}
    spans = {s for c in conditions.values() for s in leaves(c.predicate) if isinstance(s, Span)}
    inputs = {span.attribute.text or span.attribute.sql for span in spans}
    inputs |= {key for query in queries for key in query.keys}
    partials = [p for query in queries for a in query.aggregates for p in a.aggregate.partials]
    inputs |= {column.sql for partial in partials for column in partial.of_one_row or ()}
    grids = list(_grids(queries, statistics))
    handed_over = statistics.rows * (cost.row + len(inputs) * cost.input)
    in_python = (
        _parts_in_python(grids, len(spans), cost, statistics)
        if statistics.trial is None
        else _tried_in_python(statistics.trial, cost, statistics)
    )
    shards = sum(g.shards * (cost.packed + g.columns * cost.packed_column) for g in grids)
    return cost.workers + handed_over + in_python + shards


class _GridPrice(NamedTuple):
    """What the price of a grid by columns depends on."""

    selected: float  # the part of the rows
    columns: int  # of its shards
    shards: float


def _grids(queries: Sequence[BoundQuery], statistics: RowStatistics) -> Iterator[_GridPrice]:
    """The grids that queries would have: one for each condition, key set and pattern of slices."""
    trial, rows = statistics.trial, statistics.rows
    together: dict[object, list[BoundQuery]] = {}
    for query in queries:
        name = query.where.sql, query.key_set, query.window.classes
        together.setdefault(name, []).append(query)
    for first, *others in together.values():
        selected, groups = _SELECTED, statistics.groups ** len(first.key_set)
        if trial is not None:
            selected = trial.selected.get(first.where.sql, selected)
            groups = trial.groups.get(first.key_set, groups)
        of_all = (first, *others)
        columns = {c for q in of_all for a in q.aggregates for p in a.partials for c in p.columns}
        bins = statistics.slices(first.window.classes) * groups
        shards = expected_occupied(max(1.0, rows * selected), bins)
        yield _GridPrice(selected, len(columns), shards)


def _tried_in_python(trial: Trial, cost: Cost, statistics: RowStatistics) -> float:
    """Predicted seconds in Python workers, all cores together, after a trial."""
    # Every core has a chunk at least.
    chunks = max(statistics.rows / CHUNK, cost.cores)
    of_one_core = chunks * trial.chunk_seconds + statistics.rows * trial.row_seconds
    return of_one_core / cost.cores


def _parts_in_python(
    grids: Sequence[_GridPrice], spans: int, cost: Cost, statistics: RowStatistics
) -> float:
    """Predicted seconds in Python workers, all cores together, if nothing was tried.

    A row is compared with all constants and looked at for every condition; where it is selected it
    is added to every column.
    """
    of_grids = sum(cost.condition + g.selected * (1 + g.columns) * cost.update for g in grids)
    return statistics.rows * (spans * cost.comparison + of_grids)
