"""Predicted seconds of queries that go by columns."""

from __future__ import annotations

from collections.abc import Sequence

from gingham.logical.predicate import Span, leaves
from gingham.optimizer.cost import Cost
from gingham.plan.bound import BoundQuery
from gingham.plan.row_statistics import RowStatistics, expected_occupied

_SELECTED = 0.3  # the part of the rows that a condition is taken to select if nothing is known


def column_seconds(queries: Sequence[BoundQuery], cost: Cost, statistics: RowStatistics) -> float:
    """Predicted seconds for filling grids by columns, and for reading their shards.

    Every row is handed over with all inputs, compared with all constants, and looked at for every
    condition; the rows that a condition selects are added up for every partial.
    """
    trial = statistics.trial
    rows = statistics.rows
    conditions = {c.sql: c for query in queries for c in query.conditions}
    spans = {s for c in conditions.values() for s in leaves(c.predicate) if isinstance(s, Span)}
    inputs = {span.attribute.text or span.attribute.sql for span in spans}
    inputs |= {key for query in queries for key in query.keys}
    partials = [p for query in queries for a in query.aggregates for p in a.aggregate.partials]
    inputs |= {column.sql for partial in partials for column in partial.of_one_row or ()}
    per_row = len(inputs) * cost.input + len(spans) * cost.comparison
    if trial is not None and trial.rows:
        per_row += trial.text_seconds / trial.rows / cost.cores
    grids = {(q.where.sql, q.key_set, q.window.classes): q for q in queries}
    seconds = cost.workers
    for (condition, keys, classes), query in grids.items():
        selected = _SELECTED if trial is None else trial.selected.get(condition, _SELECTED)
        groups = statistics.groups ** len(keys)
        if trial is not None:
            groups = trial.groups.get(keys, groups)
        columns = {c for a in query.aggregates for p in a.partials for c in p.columns}
        per_row += cost.condition + selected * (1 + len(columns)) * cost.update
        bins = statistics.slices(classes) * groups
        shards = expected_occupied(max(1.0, rows * selected), bins)
        seconds += shards * (cost.packed + len(columns) * cost.packed_column)
    return seconds + rows * (cost.row + per_row)
