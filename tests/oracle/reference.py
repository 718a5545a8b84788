"""The oracle: one windowed aggregate query over a list of rows, evaluated as naively as possible.

Every row is put into every window that contains it, every window keeps all its rows, every
aggregate reads them all. Nothing is shared, nothing is clever, nothing is imported from the rest of
the project: sqlglot reads the SQL, and `values`, `expressions` and `aggregates` beside this file
give it Spark's meaning.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

from sqlglot import exp
from sqlglot.dialects import Spark
from sqlglot.tokens import TokenType

from tests.oracle.aggregates import bind_aggregate
from tests.oracle.expressions import Functions, Scalar, bind
from tests.oracle.values import BOOLEAN, Type, Unsupported, order, parse_type, type_of, utc

Table = tuple[list[dict[str, Any]], tuple[str, ...]]
Row = dict[tuple[str, str], Any]  # (table alias, column): value

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RANGE = re.compile(r"\[\s*RANGE\s*'([^']*)'\s*SLIDE\s*'([^']*)'\s*\]", re.IGNORECASE)
_ROWS = re.compile(r"\[\s*ROWS\s+(\d+)\s+SLIDE\s+(\d+)(?:\s+PER\s+([^\]]*))?\s*\]", re.IGNORECASE)
_POSITION = "__position"
_UNITS = {
    "us microsecond microseconds": 1,
    "ms millisecond milliseconds": 1_000,
    "s sec secs second seconds": 1_000_000,
    "m min mins minute minutes": 60_000_000,
    "h hour hours": 3_600_000_000,
    "d day days": 86_400_000_000,
    "w week weeks": 604_800_000_000,
}
_MICROS = {name: micros for names, micros in _UNITS.items() for name in names.split()}


def evaluate(
    sql: str,
    rows: list[dict[str, Any]],
    *,
    time: str,
    tables: Mapping[str, Table] = {},
    functions: Mapping[str, Callable[..., Any]] = {},
    types: Mapping[str, str] = {},
) -> list[dict[str, Any]]:
    """Answer a query: a row for each window and group that a row falls into.

    `types` are Spark's names, by column for the stream ("price"), by table and column for tables
    ("listing.cap"), by call for functions ("midcap()", boolean if not told); they are guessed from
    the values where they are missing. `tables` are (rows, key columns).

    >>> def trade(second, vol):
    ...     return {"ts": EPOCH + timedelta(seconds=second), "vol": vol}
    >>> sql = "SELECT sum(vol) AS n FROM trades WHERE vol > 1 GROUP BY window(ts, '10 s', '5 s')"
    >>> rows = [trade(0, 2), trade(4, 1), trade(5, 3), trade(10, 4)]

    time      -5   0    5    10   15   20
    vol            2   13    4
              [---------)                   2
                   [---------)              2 + 3
                        [---------)         3 + 4
                             [---------)    4

    >>> for row in evaluate(sql, rows, time="ts"):
    ...     print(f"{row['window_start']:%M:%S} {row['window_end']:%M:%S} {row['n']}")
    59:55 00:05 2
    00:00 00:10 5
    00:05 00:15 7
    00:10 00:20 4
    """
    text, by_rows = _cut_rows_clause(sql)
    text, clause = _cut_range_clause(text)
    select = _parse(text)
    if by_rows is not None:
        rows = _with_positions(rows, time, types, by_rows.per)
        types = {**types, _POSITION: "bigint"}
    typed = {name: parse_type(kind) for name, kind in types.items()}
    callables = {n: (f, typed.get(f"{n}()", BOOLEAN)) for n, f in functions.items()}
    scope, joined = _enrich(select, rows, tables, typed, callables)
    window, keys = _grouping(select, clause, by_rows, time, scope)

    def over_row(node: exp.Expression) -> Scalar:
        return bind(node, scope.column, callables)

    where = over_row(select.args["where"].this) if select.args.get("where") else None
    instant, key_values = over_row(window.time), [over_row(k) for k in keys]
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in joined:
        if where is not None and where.of(row) is not True:
            continue
        for start, end in window.containing(instant.of(row)):
            key = (start, end, *(order(k.of(row)) for k in key_values))
            groups.setdefault(key, []).append(row)
    return _answers(select, scope, keys, groups, callables)


@dataclass(frozen=True)
class Window:
    """Windows [start, start + range), their starts at the multiples of slide, moved by offset."""

    time: exp.Expression
    range: int
    slide: int
    offset: int

    def containing(self, moment: datetime | None) -> Iterator[tuple[datetime, datetime]]:
        """All windows that a moment lies in."""
        if moment is None:
            return
        micros = (utc(moment) - EPOCH) // timedelta(microseconds=1)
        start = micros - (micros - self.offset) % self.slide
        while micros < start + self.range:
            yield (
                EPOCH + timedelta(microseconds=start),
                EPOCH + timedelta(microseconds=start + self.range),
            )
            start -= self.slide


@dataclass(frozen=True)
class RowWindow:
    """Windows that end after every `slide` rows, over the last `range` rows by then."""

    range: int
    slide: int
    per: tuple[str, ...]
    time: exp.Expression

    def containing(self, position: int | None) -> Iterator[tuple[int, int]]:
        """All windows that a position lies in."""
        if position is None:
            return
        for end in range(self.slide, position + self.range + 1, self.slide):
            if end - self.range <= position < end:
                yield end - self.range, end


def _with_positions(
    rows: list[dict[str, Any]], time: str, types: Mapping[str, str], per: tuple[str, ...]
) -> list[dict[str, Any]]:
    """Number rows by time, then by all columns in the order of `types`; NULL comes first."""
    columns = [name for name in types if not re.search(r"[.(]", name)]

    def place(row: dict[str, Any]) -> list[Any]:
        values = [utc(row[time]), *(row[c] for c in columns if c != time)]
        return [(value is not None, 0 if value is None else order(value)) for value in values]

    counts: dict[Any, int] = {}
    numbered = [{**row, _POSITION: None} for row in rows if row[time] is None]
    for row in sorted((row for row in rows if row[time] is not None), key=place):
        key = tuple(order(row[c]) for c in per)
        numbered.append({**row, _POSITION: counts.get(key, 0)})
        counts[key] = counts.get(key, 0) + 1
    return numbered


@dataclass(frozen=True)
class Scope:
    """The columns that names may mean, in the order in which tables were joined."""

    types: dict[tuple[str, str], Type]

    def find(self, node: exp.Column) -> tuple[str, str] | None:
        """The first column of that name, in the table if one is named; None if there is none."""
        name, table = node.name.lower(), node.table.lower()
        return next((c for c in self.types if c[1] == name and table in ("", c[0])), None)

    def column(self, node: exp.Expression) -> Scalar | None:
        """Bind a column over a row."""
        if not isinstance(node, exp.Column):
            return None
        place = self.find(node)
        if place is None:
            raise Unsupported(f"no column {node.sql()}")
        return Scalar(self.types[place], lambda row: row[place])


def _cut_range_clause(sql: str) -> tuple[str, tuple[int, int] | None]:
    found = _RANGE.search(sql)
    if found is None:
        return sql, None
    text = sql[: found.start()] + " " + sql[found.end() :]
    return text, (_micros(found[1]), _micros(found[2]))


def _cut_rows_clause(sql: str) -> tuple[str, RowWindow | None]:
    found = _ROWS.search(sql)
    if found is None:
        return sql, None
    text = sql[: found.start()] + " " + sql[found.end() :]
    per = tuple(name.strip() for name in found[3].split(",")) if found[3] else ()
    return text, RowWindow(int(found[1]), int(found[2]), per, exp.column(_POSITION))


def _parse(text: str) -> exp.Select:
    spark = Spark()
    tokens = spark.tokenize(text)
    for token in tokens:
        if token.token_type == TokenType.WINDOW:
            # Right after GROUP BY, sqlglot would take window(...) for the WINDOW clause.
            token.token_type = TokenType.VAR
    (select,) = spark.parser().parse(tokens, text)
    if not isinstance(select, exp.Select):
        raise Unsupported(text)
    return select


def _micros(text: str) -> int:
    terms = re.findall(r"([-+]?[\d.]+)\s*([a-z]+)", text.lower())
    if not terms:
        raise Unsupported(f"length of time {text!r}")
    return int(sum(Fraction(number) * _MICROS[unit] for number, unit in terms))


def _grouping(
    select: exp.Select,
    clause: tuple[int, int] | None,
    by_rows: RowWindow | None,
    time: str,
    scope: Scope,
) -> tuple[Window | RowWindow, list[exp.Expression]]:
    """The window, and the other keys with aliases and positions replaced by what they mean."""
    window: Window | RowWindow | None = by_rows
    if clause:
        window = Window(exp.column(time), *clause, -clause[0])  # ends at multiples
    keys: list[exp.Expression] = []
    for node in select.args["group"].expressions if select.args.get("group") else ():
        if isinstance(node, exp.Anonymous) and node.name.lower() == "window":
            moment, *lengths = node.expressions
            length, *rest = (_micros(text.this) for text in lengths)
            slide, offset = (*rest, *(length, 0)[len(rest) :])
            window = Window(moment, length, slide, offset)
        elif isinstance(node, exp.Literal):
            keys.append(select.expressions[int(node.this) - 1].unalias())
        elif isinstance(node, exp.Column) and scope.find(node) is None:
            keys.append(_named(select)[node.name.lower()])
        else:
            keys.append(node)
    if window is None:
        raise Unsupported("a query without a window")
    return window, keys


def _enrich(
    select: exp.Select,
    rows: list[dict[str, Any]],
    tables: Mapping[str, Table],
    types: Mapping[str, Type],
    functions: Functions,
) -> tuple[Scope, list[Row]]:
    """Join each row with each row of each table that fits."""
    stream = select.args["from_"].this.alias_or_name.lower()
    own = {name: kind for name, kind in types.items() if not re.search(r"[.(]", name)}
    scope = Scope(_columns(stream, rows, own))
    joined = [_row(stream, row, scope) for row in rows]
    for join in select.args.get("joins") or ():
        name, alias = join.this.name, join.alias_or_name.lower()
        own = {c.split(".")[1]: kind for c, kind in types.items() if c.startswith(f"{name}.")}
        added = _columns(alias, tables[name][0], own)
        wider = Scope({**scope.types, **added})
        others = [_row(alias, row, wider) for row in tables[name][0]]
        fits = bind(_condition(join, scope, alias), wider.column, functions)
        pairs: list[Row] = []
        for row in joined:
            matches = [row | other for other in others if fits.of(row | other) is True]
            if not matches and join.side.upper() == "LEFT":
                matches = [row | dict.fromkeys(added)]
            pairs += matches
        scope, joined = wider, pairs
    return scope, joined


def _columns(
    alias: str, rows: list[dict[str, Any]], types: Mapping[str, Type]
) -> dict[tuple[str, str], Type]:
    names = dict.fromkeys([*types, *(name for row in rows for name in row)])
    guess = {n: type_of(next((r[n] for r in rows if r.get(n) is not None), None)) for n in names}
    return {(alias, n.lower()): types.get(n, guess[n]) for n in names}


def _row(alias: str, row: dict[str, Any], scope: Scope) -> Row:
    own = {(alias, name.lower()): value for name, value in row.items()}
    own = {c: utc(v) if isinstance(v, datetime) else v for c, v in own.items()}
    return {c: own.get(c) for c in scope.types if c[0] == alias}


def _condition(join: exp.Join, scope: Scope, alias: str) -> Any:
    using = join.args.get("using")
    if not using:
        return join.args["on"]
    pairs: list[exp.Expression] = []
    for key in using:
        table, name = scope.find(exp.column(key.name)) or ("", key.name)
        pairs.append(exp.EQ(this=exp.column(name, table), expression=exp.column(name, alias)))
    return exp.and_(*pairs)


def _answers(
    select: exp.Select,
    scope: Scope,
    keys: list[exp.Expression],
    groups: dict[tuple[Any, ...], list[Row]],
    functions: Functions,
) -> list[dict[str, Any]]:
    """One row for each group that HAVING lets through."""
    named = _named(select)

    def over_row(node: exp.Expression) -> Scalar:
        return bind(node, scope.column, functions)

    def leaf(node: exp.Expression) -> Scalar | None:
        if (aggregate := bind_aggregate(node, over_row)) is not None:
            return aggregate
        if isinstance(node, exp.Column) and scope.find(node) is None and node.name.lower() in named:
            return bind(named[node.name.lower()], leaf, functions)
        column = scope.column(node)
        # All rows of a group agree on what it is grouped by.
        return column and Scalar(column.type, lambda rows: column.of(rows[0]))

    shown = [item.unalias() for item in select.expressions]
    hidden = [key for key in keys if not any(_same(key, item, scope) for item in shown)]
    items: tuple[Any, ...] = (*hidden, *select.expressions)
    outputs = {_name(item): bind(item.unalias(), leaf, functions) for item in items}
    having = select.args.get("having")
    keep = bind(having.this, leaf, functions) if having else None
    return [
        {"window_start": start, "window_end": end, **{n: o.of(rows) for n, o in outputs.items()}}
        for (start, end, *_), rows in sorted(groups.items(), key=lambda group: group[0][:2])
        if keep is None or keep.of(rows) is True
    ]


def _named(select: exp.Select) -> dict[str, exp.Expression]:
    """What the aliases stand for."""
    return {item.alias.lower(): item.this for item in select.expressions if item.alias}


def _same(a: exp.Expression, b: exp.Expression, scope: Scope) -> bool:
    if isinstance(a, exp.Column) and isinstance(b, exp.Column):
        return scope.find(a) == scope.find(b)
    return a == b


def _name(item: exp.Expression) -> str:
    return item.alias_or_name if isinstance(item, exp.Alias | exp.Column) else item.sql("spark")
