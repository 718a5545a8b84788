"""Predicted seconds of queries that go by columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gingham.columns.fill import CHUNK
from gingham.logical.predicate import Span, leaves
from gingham.optimizer.cost import Cost
from gingham.plan.bound import BoundQuery
from gingham.plan.row_statistics import RowStatistics, Trial, expected_occupied

# Taken for granted if nothing was tried: the part of the rows that a condition selects, and the
# bytes of an input.
_SELECTED, _BYTES = 0.3, 8


class ColumnWork(NamedTuple):
    """What queries that go by columns have to be priced for."""

    inputs: int  # of a row, that are handed to Python
    constants: int  # with which inputs are compared
    grids: tuple[GridWork, ...]


class GridWork(NamedTuple):
    """What the price of a grid by columns depends on."""

    selected: float  # the part of the rows
    columns: int  # of its shards
    shards: float


def column_seconds(queries: Sequence[BoundQuery], cost: Cost, statistics: RowStatistics) -> float:
    """Predicted seconds for filling grids by columns, and for reading their shards.

    Every row is handed over with all inputs. What Python does with it was timed in a trial, or is
    put together from its parts.
    """
    work, trial = column_work(queries, statistics), statistics.trial
    row_bytes = work.inputs * _BYTES if trial is None else trial.row_bytes
    per_row = cost.row + work.inputs * cost.input + row_bytes * cost.byte
    in_python = (
        _put_together(work, cost, statistics)
        if trial is None
        else trial.build_seconds + python_seconds(trial, statistics.rows) / cost.cores
    )
    shards = sum(g.shards * (cost.packed + g.columns * cost.packed_column) for g in work.grids)
    return cost.workers + statistics.rows * per_row + in_python + shards


def column_work(queries: Sequence[BoundQuery], statistics: RowStatistics) -> ColumnWork:
    """What queries would have to do by columns."""
    conditions = {c.sql: c for query in queries for c in query.conditions}
    spans = {s for c in conditions.values() for s in leaves(c.predicate) if isinstance(s, Span)}
    inputs = {span.attribute.text or span.attribute.sql for span in spans}
    inputs |= {key for query in queries for key in query.keys}
    partials = [p for query in queries for a in query.aggregates for p in a.aggregate.partials]
    inputs |= {column.sql for partial in partials for column in partial.of_one_row or ()}
    # One more is the event time.
    return ColumnWork(len(inputs) + 1, len(spans), tuple(_grids(queries, statistics)))


def python_seconds(trial: Trial, rows: float) -> float:
    """Predicted seconds in Python workers, those of all cores added up, after a trial."""
    # Every task has a chunk at least, however few rows there are.
    chunks = max(rows / CHUNK, 1.0)
    return chunks * trial.chunk_seconds + rows * trial.row_seconds


def _grids(queries: Sequence[BoundQuery], statistics: RowStatistics) -> Iterator[GridWork]:
    """The grids that queries would have: one for each condition, key set and pattern of slices."""
    trial, rows = statistics.trial, statistics.rows
    together: dict[object, list[BoundQuery]] = {}
    for query in queries:
        name = query.where.sql, query.key_set, query.window.classes, query.window.clock
        together.setdefault(name, []).append(query)
    for first, *others in together.values():
        selected, groups = _SELECTED, statistics.groups ** len(first.key_set)
        if trial is not None:
            selected = trial.selected.get(first.where.sql, selected)
            groups = trial.groups.get(first.key_set, groups)
        of_all = (first, *others)
        columns = {c for q in of_all for a in q.aggregates for p in a.partials for c in p.columns}
        bins = statistics.on(first.window.clock).slices(first.window.classes) * groups
        shards = expected_occupied(max(1.0, rows * selected), bins)
        yield GridWork(selected, len(columns), shards)


def _put_together(work: ColumnWork, cost: Cost, statistics: RowStatistics) -> float:
    """Predicted seconds in Python workers, on all cores, if nothing was tried.

    A row is compared with all constants and looked at for every condition; where it is selected it
    is added to every column.
    """
    of_grids = sum(cost.condition + g.selected * (1 + g.columns) * cost.update for g in work.grids)
    return statistics.rows * (work.constants * cost.comparison + of_grids)
