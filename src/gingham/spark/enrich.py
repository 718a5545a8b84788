"""Look every table up once, for all queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gingham.core.names import quoted
from gingham.logical.query import Join


def enrich(
    stream: DataFrame,
    tables: Mapping[str, tuple[DataFrame, tuple[str, ...]]],
    joins: Iterable[tuple[Join, bool]],
    columns: Iterable[str] | None = None,
) -> DataFrame:
    """The stream with the columns of its tables, as `table.column`; only these, or all.

    `tables` gives each table's rows and its unique key. A join that does not drop rows also gives
    `table.__matched`, true where there was a match.
    """
    joins = tuple(joins)
    wanted = None if columns is None else set(columns)
    for join, inner in joins:
        table, key = tables[join.table]
        found = [c for c in table.columns if wanted is None or join.column(c) in wanted]
        keys = [f"__lookup_{i}" for i in range(len(join.on))]
        right = table.select(
            *(table[quoted(k)].alias(alias) for k, alias in zip(key, keys, strict=True)),
            *(table[quoted(c)].alias(join.column(c)) for c in found),
            *(() if inner else (F.lit(True).alias(join.matched),)),  # noqa: FBT003
        )
        condition = " AND ".join(f"({on}) = {key}" for on, key in zip(join.on, keys, strict=True))
        stream = stream.join(right, F.expr(condition), "inner" if inner else "left").drop(*keys)
    if wanted is None:
        return stream
    matched = [join.matched for join, inner in joins if not inner]
    present = [c for c in stream.columns if c in wanted or c in matched]
    return stream.select(*(quoted(c) for c in present))

