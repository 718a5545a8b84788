"""Look every table up once, for all queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import groupby

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gingham.core.names import quoted
from gingham.logical.query import Join

_BROADCAST = 500_000  # rows; each executor keeps such a table


@dataclass(frozen=True, slots=True)
class Lookup:
    """A table's rows, its unique key, and how many rows it has."""

    rows: DataFrame
    key: tuple[str, ...]
    count: int


def enrich(
    stream: DataFrame,
    tables: Mapping[str, Lookup],
    joins: Iterable[tuple[Join, bool]],
    columns: Iterable[str] | None = None,
) -> DataFrame:
    """The stream with the columns of its tables, as `table.column`; only these, or all.

    A join that does not drop rows also gives `table.__matched`, true where there was a match.
    """
    joins = tuple(joins)
    wanted = None if columns is None else set(columns)
    for (on, inner), group in groupby(joins, key=lambda pair: (pair[0].on, pair[1])):
        stream = _look_up(stream, [(j, tables[j.table]) for j, _ in group], on, wanted, inner=inner)
    if wanted is None:
        return stream
    matched = [join.matched for join, inner in joins if not inner]
    present = [c for c in stream.columns if c in wanted or c in matched]
    return stream.select(*(quoted(c) for c in present))


def _look_up(
    stream: DataFrame,
    group: Sequence[tuple[Join, Lookup]],
    on: tuple[str, ...],
    wanted: set[str] | None,
    *,
    inner: bool,
) -> DataFrame:
    """One lookup for all tables that have the same key: they are joined with each other first."""
    keys = [f"__lookup_{i}" for i in range(len(on))]
    parts = [_side(join, lookup, keys, wanted, inner=inner) for join, lookup in group]
    together = reduce(lambda a, b: a.join(b, keys, "inner" if inner else "full"), parts)
    if sum(lookup.count for _, lookup in group) <= _BROADCAST:
        # Spark guesses the size of a join of tables, and guesses far too high.
        together = F.broadcast(together)
    condition = " AND ".join(f"({o}) = {key}" for o, key in zip(on, keys, strict=True))
    return stream.join(together, F.expr(condition), "inner" if inner else "left").drop(*keys)


def _side(
    join: Join, lookup: Lookup, keys: Sequence[str], wanted: set[str] | None, *, inner: bool
) -> DataFrame:
    rows = lookup.rows
    found = [c for c in rows.columns if wanted is None or join.column(c) in wanted]
    named = [rows[quoted(k)].alias(key) for k, key in zip(lookup.key, keys, strict=True)]
    named += [rows[quoted(c)].alias(join.column(c)) for c in found]
    if not inner:
        named.append(F.lit(True).alias(join.matched))
    return rows.select(*named)
