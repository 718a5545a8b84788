"""Workloads without data, planned without Spark; the plan as `explain` shows it.

A workload is an SQL file with a few lines in its head:

    -- Any remark: what the case shows.
    -- stream: trades(ts timestamp, vol int) time=ts
    -- table: listing(symbol string, r1000 boolean) key=symbol
    -- rows: 4000000 over 3600 seconds             that the rows are many, counted
    -- cost: tree=1.0 grid=0.0                     that some things cost more or less than usual
    -- running: q1, q2                             that the other queries join these later
    -- removed: q1                                 that some of these have left by then
    -- records: all                                that fragments are reduced to records
    -- sketches: 600 words                         that queries are joins, and are estimated

    -- name: q1
    SELECT count(*) AS n FROM trades WHERE vol > 3 GROUP BY window(ts, '5 minutes')
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from gingham.core import names
from gingham.estimates.planning.bound_join import BoundJoin, Measure
from gingham.estimates.planning.explain_sketches import explain_sketches
from gingham.estimates.planning.join_aggregate import JoinAggregate, Relation
from gingham.estimates.planning.parse_joins import parse_join_aggregate
from gingham.estimates.planning.share_sketches import share_sketches
from gingham.inspect.text import explain
from gingham.logical.catalog import Catalog, Stream, Table
from gingham.logical.predicate import expressions, typed
from gingham.logical.query import Query
from gingham.optimizer import optimize
from gingham.optimizer.cost import Cost
from gingham.optimizer.decompose_fragments import decompose_fragments
from gingham.plan.bind_types import bind_types, expressions_to_type
from gingham.plan.bound import BoundQuery, Condition
from gingham.plan.condition_cache import ConditionCache
from gingham.plan.fold import fold_cells
from gingham.plan.row_statistics import RowStatistics
from gingham.sql import parse
from gingham.sql.may_raise import may_raise
from tests.planning.stand_in_types import arrow_type, type_of

FOLDER = Path(__file__).parent
_HEAD = re.compile(r"-- (stream|table|rows|cost|running|removed|records|sketches): (.*)")
_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_RELATION = re.compile(r"(\w+)\((.*)\)(?: (?:time|key)=(\w+))?")
_ROWS = re.compile(r"(\d+) over (\d+) seconds")


def workloads() -> list[Path]:
    """All golden workloads."""
    return sorted(FOLDER.glob("*/*.sql"))


def planned(path: Path) -> str:
    """The plan of a workload as text."""
    workload = _read(path)
    return (_estimated if "sketches" in workload.head else _shared)(workload) + "\n"


def bound_queries(path: Path) -> list[BoundQuery]:
    """The queries of a workload over one stream, with types."""
    workload = _read(path)
    return [_bound(name, sql, workload) for name, sql in workload.queries.items()]


@dataclass(frozen=True, slots=True)
class _Relation:
    """A stream or a table: its columns with their types, and its time or key."""

    name: str
    columns: Mapping[str, str]
    marked: str | None


@dataclass(frozen=True, slots=True)
class _Workload:
    """What is in a file; `head` has the lines that stand there once."""

    streams: tuple[_Relation, ...]
    tables: tuple[_Relation, ...]
    head: Mapping[str, str]
    queries: Mapping[str, str]


def _read(path: Path) -> _Workload:
    first, *parts = _NAME.split(path.read_text(encoding="utf-8"))
    lines = [(found[1], found[2]) for found in map(_HEAD.fullmatch, first.splitlines()) if found]
    return _Workload(
        tuple(_relation(text) for word, text in lines if word == "stream"),
        tuple(_relation(text) for word, text in lines if word == "table"),
        dict(lines),
        dict(zip(parts[::2], (sql.strip().rstrip(";") for sql in parts[1::2]), strict=True)),
    )


def _relation(text: str) -> _Relation:
    found = _RELATION.fullmatch(text)
    assert found is not None, text
    columns = (column.split() for column in found[2].split(","))
    return _Relation(found[1], {name: kind for name, kind in columns}, found[3])  # noqa: C416


def _shared(workload: _Workload) -> str:
    """Plan queries over one stream, in two steps if some of them run already."""
    [stream] = workload.streams
    cost = Cost(**_numbers(workload.head.get("cost", "")))
    load = _load(workload.head.get("rows"))
    queries = [_bound(name, sql, workload) for name, sql in workload.queries.items()]
    running, removed = (workload.head.get(w, "").split(", ") for w in ("running", "removed"))
    before = [query for query in queries if query.name in running]
    after = [query for query in queries if query.name not in removed]
    fixed = optimize(stream.name, before, cost, load).fixed if before else None
    plan = optimize(stream.name, after, cost, load, fixed)
    lines = [explain(plan, fold_cells(plan.forest, ConditionCache()))]
    if "records" in workload.head:
        every_cell = np.arange(plan.forest.cells)
        lines += [
            f"  records of {notice}"
            for notice in decompose_fragments(plan.forest, every_cell, ConditionCache()).notices
        ]
    return "\n".join(lines)


def _numbers(text: str) -> dict[str, float]:
    return {name: float(value) for name, value in (part.split("=") for part in text.split())}


def _load(text: str | None) -> RowStatistics:
    if text is None:
        return RowStatistics()
    found = _ROWS.fullmatch(text)
    assert found is not None, text
    return RowStatistics(rows=float(found[1]), seconds=float(found[2]), counted=True)


def parsed(path: Path) -> Iterator[tuple[Query, dict[str, str]]]:
    """The queries of a workload over one stream, each with the types of the columns it reads."""
    workload = _read(path)
    for name, sql in workload.queries.items():
        yield _parsed(name, sql, workload)


def _parsed(name: str, sql: str, workload: _Workload) -> tuple[Query, dict[str, str]]:
    streams = {s.name: Stream(s.name, s.columns, s.marked or "") for s in workload.streams}
    tables = {t.name: Table(t.name, t.columns, (t.marked or "",)) for t in workload.tables}
    parsed = parse(sql, name, Catalog(streams, tables))
    return parsed.query, dict(parsed.types)


def _bound(name: str, sql: str, workload: _Workload) -> BoundQuery:
    query, columns = _parsed(name, sql, workload)
    results = [
        (names.WINDOW_START, "timestamp"),
        (names.WINDOW_END, "timestamp"),
        *((names.key(i), type_of(key, columns)) for i, key in enumerate(query.keys)),
        *(
            (names.aggregate(i), type_of(selected.sql, columns))
            for i, selected in enumerate(query.aggregates)
        ),
    ]
    return bind_types(
        query,
        {sql: type_of(sql, columns) for sql in expressions_to_type(query)},
        pa.schema([(name, arrow_type(kind)) for name, kind in results]),
        partial(may_raise, types=columns, ansi=True),
        ansi=True,
    )


def _estimated(workload: _Workload) -> str:
    """Plan the sketches of joins."""
    relations = {r.name: r for r in (*workload.streams, *workload.tables)}
    times = {s.name: s.marked for s in workload.streams} | {t.name: None for t in workload.tables}
    catalog = {name: Relation(name, r.columns, times[name]) for name, r in relations.items()}
    bound = [
        _bound_join(parse_join_aggregate(sql, name, catalog).query, relations)
        for name, sql in workload.queries.items()
    ]
    budget = int(workload.head["sketches"].removesuffix(" words"))
    return explain_sketches(share_sketches(bound, times, budget=budget))


def _bound_join(query: JoinAggregate, relations: Mapping[str, _Relation]) -> BoundJoin:
    """Bind a join whose keys and measures are whole numbers: these need no rewriting."""

    def conditions() -> Iterator[tuple[str, Condition]]:
        for alias, selection in query.selections.items():
            columns = relations[query.relations[alias]].columns
            types = {sql: type_of(sql, columns) for sql in expressions(selection.predicate)}
            yield alias, Condition(typed(selection.predicate, types), selection.sql)

    return BoundJoin(
        query=query,
        joins=query.joins,
        measures={a: Measure(f"coalesce({sql}, 0)") for a, sql in query.measures.items()},
        conditions=dict(conditions()),
    )
