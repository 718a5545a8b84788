"""Look every table up once, for all queries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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


class Lookups:
    """The tables of a loom. Small ones are read once and kept in memory."""

    def __init__(self) -> None:
        self._tables: dict[str, Lookup] = {}
        self._kept: dict[object, tuple[DataFrame, bool]] = {}

    def __setitem__(self, name: str, lookup: Lookup) -> None:
        self._tables[name] = lookup

    def __getitem__(self, name: str) -> Lookup:
        return self._tables[name]

    def enrich(
        self,
        stream: DataFrame,
        joins: Iterable[tuple[Join, bool]],
        columns: Iterable[str] | None = None,
        *,
        few: bool = False,
    ) -> DataFrame:
        """The stream with the columns of its tables, as `table.column`; only these, or all.

        A join that does not drop rows also gives `table.__matched`, true where there was a match.
        Few rows are looked up in one task, which reads small tables itself: that is quicker than
        to broadcast them.
        """
        joins = tuple(joins)
        if few:
            stream = stream.coalesce(1)
        for (on, inner), group in groupby(joins, key=lambda pair: (pair[0].on, pair[1])):
            together, small = self._together([join for join, _ in group], inner=inner)
            if small:
                together = together.hint("shuffle_hash") if few else F.broadcast(together)
            keys = [_key(i) for i in range(len(on))]
            condition = " AND ".join(f"({o}) = {key}" for o, key in zip(on, keys, strict=True))
            how = "inner" if inner else "left"
            stream = stream.join(together, F.expr(condition), how).drop(*keys)
        if columns is None:
            return stream
        wanted = {*columns, *(join.matched for join, inner in joins if not inner)}
        return stream.select(*(quoted(c) for c in stream.columns if c in wanted))

    def _together(self, joins: Sequence[Join], *, inner: bool) -> tuple[DataFrame, bool]:
        """One lookup for all tables that have the same key, joined; and whether it is small."""
        name = (tuple(joins), inner)
        if name not in self._kept:
            parts = [_side(join, self._tables[join.table], inner=inner) for join in joins]
            keys = [_key(i) for i in range(len(joins[0].on))]
            together = reduce(lambda a, b: a.join(b, keys, "inner" if inner else "full"), parts)
            # Spark guesses the size of a join of tables, and guesses far too high.
            small = sum(self._tables[join.table].count for join in joins) <= _BROADCAST
            self._kept[name] = together.coalesce(1).persist() if small else together, small
        return self._kept[name]


def _side(join: Join, lookup: Lookup, *, inner: bool) -> DataFrame:
    rows = lookup.rows
    named = [rows[quoted(k)].alias(_key(i)) for i, k in enumerate(lookup.key)]
    named += [rows[quoted(c)].alias(join.column(c)) for c in rows.columns]
    if not inner:
        named.append(F.lit(True).alias(join.matched))
    return rows.select(*named)


def _key(position: int) -> str:
    return f"__lookup_{position}"
