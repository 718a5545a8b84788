"""Rows, queries and shards made by hand: one attribute, one key, one window, no Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from gingham.aggregates import Aggregate, Call, bind
from gingham.core import names
from gingham.logical.domain import END, INTEGER, START
from gingham.logical.predicate import Attribute, Axis, Or, Span
from gingham.logical.query import Query
from gingham.logical.window import Window
from gingham.plan.bound import BoundQuery, Condition, ConditionalAggregate
from gingham.plan.grid import Grid

CELLS = 6  # of one attribute: below 0, 0, 1, ..., above
AXIS = Axis(Attribute("x", INTEGER), tuple(range(CELLS - 1)))
GRID = Grid((AXIS,), ("k",), 0, 0)
WINDOW = Window.starting_at(20, 10)

# What Spark would compute of rows (value or None).
COMPUTED: dict[str, Callable[[list[int | None]], Any]] = {
    "count(*)": len,
    "count(v)": lambda values: len(_known(values)),
    "sum(v)": lambda values: sum(_known(values)) if _known(values) else None,
    "max(v)": lambda values: max(_known(values), default=None),
    "bit_xor(v)": lambda values: (
        int(np.bitwise_xor.reduce(_known(values))) if _known(values) else None
    ),
}


@dataclass(frozen=True)
class Row:
    instant: int
    cell: int
    key: str
    value: int | None


def query(name: str, cells: Iterable[int], calls: list[str]) -> BoundQuery:
    where = condition(cells)
    readings = tuple(ConditionalAggregate(_aggregate(call), where) for call in calls)
    slots = pa.schema(
        [
            (names.WINDOW_START, pa.int64()),
            (names.WINDOW_END, pa.int64()),
            (names.key(0), pa.string()),
            *((names.aggregate(i), r.aggregate.call.result) for i, r in enumerate(readings)),
        ]
    )
    parsed = Query(
        name, "", "s", (), where.predicate, where.sql, ("k",), WINDOW, (), (), None, frozenset()
    )
    return BoundQuery(parsed, where, ("k",), readings, slots)


def condition(cells: Iterable[int]) -> Condition:
    bounds = [START, *AXIS.cuts, END]
    spans = [Span(AXIS.attribute, bounds[c], bounds[c + 1]) for c in sorted(cells)]
    return Condition(Or(tuple(spans)), f"x in {sorted(cells)}")


def _aggregate(call: str) -> Aggregate:
    function, argument = call.removesuffix(")").split("(")
    # Sums of integers up to 2^61 stay within a decimal of 28 digits.
    kind, result = (
        ("decimal(28,0)", pa.decimal128(38, 0)) if function == "sum" else ("bigint", pa.int64())
    )
    return bind(Call(function, (argument,), (kind,), result))


def collected(
    rows: list[Row], computed: Sequence[str], numbers: Callable[[int], Iterable[int]]
) -> pa.Table:
    """What Spark would collect: the rows grouped by instant, number and key."""
    groups: dict[tuple[int, int, str], list[int | None]] = {}
    for row in rows:
        for number in numbers(row.cell):
            groups.setdefault((row.instant, number, row.key), []).append(row.value)
    columns = {
        names.INSTANT: pa.array([group[0] for group in groups], pa.int64()),
        names.CELL: pa.array([group[1] for group in groups], pa.int64()),
        names.key(0): pa.array([group[2] for group in groups], pa.string()),
    }
    for place, column in enumerate(computed):
        kind = pa.decimal128(38, 0) if column == "sum(v)" else pa.int64()
        values = [COMPUTED[column](found) for found in groups.values()]
        columns[names.partial(place)] = pa.array(values, kind)
    return pa.table(columns)


def sorted_rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)


def _known(values: list[int | None]) -> list[int]:
    return [value for value in values if value is not None]
