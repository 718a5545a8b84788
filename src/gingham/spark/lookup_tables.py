"""Enriching a stream: every static table is joined once, for all queries."""

from __future__ import annotations

import re
import threading
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from itertools import groupby

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.window import Window

from gingham.core.errors import CatalogError
from gingham.core.names import quoted
from gingham.logical.query import Join, JoinUse
from gingham.spark.spark_errors import SPARK_ERRORS

_MOST_BROADCAST_ROWS = 500_000  # each executor holds a copy of such a table
_COPIES = "__copies"  # how many rows of a table have the same key
_REPEATED = re.compile(
    r"the key of table ('.*?') is not unique: (.*? stands in \d+ rows)", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class LookupTable:
    """A static table's rows, the columns of its unique key, and its number of rows."""

    rows: DataFrame
    key: tuple[str, ...]
    count: int


@dataclass(frozen=True, slots=True)
class _JoinedTables:
    """The tables of joins on the same key as one DataFrame; a small one is cached in memory."""

    rows: DataFrame
    small: bool


class LookupTables:
    """The static tables of a loom, by name. Small ones are read once and cached in memory."""

    def __init__(self) -> None:
        self._tables: dict[str, LookupTable] = {}
        self._joined: dict[object, _JoinedTables] = {}
        self._lock = threading.Lock()  # queries are bound by several threads

    def __setitem__(self, name: str, table: LookupTable) -> None:
        self._tables[name] = table

    def __getitem__(self, name: str) -> LookupTable:
        return self._tables[name]

    def enrich(
        self,
        stream: DataFrame,
        joins: Iterable[JoinUse],
        columns: Iterable[str] | None = None,
        *,
        few_rows: bool = False,
    ) -> DataFrame:
        """Join the stream with tables, whose columns become `table.column`.

        `joins` are inner if they drop rows without a match; `columns` are those to keep, else all.
        A join that is not inner also gives `table.__matched`, true where the table has a match.
        With `few_rows`, one task joins all rows and reads small tables itself, which is quicker
        than broadcasting them.
        """
        joins = tuple(joins)
        if few_rows:
            stream = stream.coalesce(1)
        for (on, inner), group in groupby(joins, key=lambda pair: (pair[0].on, pair[1])):
            tables = self._join_tables([join for join, _ in group], inner=inner)
            rows = tables.rows
            if tables.small:
                rows = rows.hint("shuffle_hash") if few_rows else F.broadcast(rows)
            keys = [_key_column(i) for i in range(len(on))]
            condition = " AND ".join(f"({o}) = {key}" for o, key in zip(on, keys, strict=True))
            how = "inner" if inner else "left"
            stream = stream.join(rows, F.expr(condition), how).drop(*keys)
        if columns is None:
            return stream
        wanted = {*columns, *(join.matched for join, inner in joins if not inner)}
        return stream.select(*(quoted(c) for c in stream.columns if c in wanted))

    @contextmanager
    def checked(self) -> Generator[None]:
        """Say which table it is, if a job fails because the key of one is not unique any more."""
        try:
            yield
        except SPARK_ERRORS as error:
            repeated = _REPEATED.search(str(error))
            if repeated is None:
                raise
            self._read_again()
            table, copies = repeated.groups()
            raise CatalogError(
                f"the key of table {table} is not unique any more",
                f"{copies}, so a lookup would multiply rows; it was unique when it was registered",
                "rows with one row for each key, then the same again",
            ) from error

    def _read_again(self) -> None:
        """Drop what is cached of tables, also by Spark, so that they are read when needed next."""
        with self._lock:
            for tables in self._joined.values():
                if tables.small:
                    tables.rows.unpersist()
            self._joined.clear()

    def _join_tables(self, joins: Sequence[Join], *, inner: bool) -> _JoinedTables:
        """Join the tables of joins on the same key with each other, so that one lookup does."""
        cache_key = (tuple(joins), inner)
        with self._lock:
            if cache_key not in self._joined:
                tables = [
                    _with_names(join, self._tables[join.table], inner=inner) for join in joins
                ]
                keys = [_key_column(i) for i in range(len(joins[0].on))]
                rows = reduce(lambda a, b: a.join(b, keys, "inner" if inner else "full"), tables)
                # Spark guesses the size of a join of tables, and guesses far too high.
                count = sum(self._tables[join.table].count for join in joins)
                small = count <= _MOST_BROADCAST_ROWS
                rows = rows.coalesce(1).persist() if small else rows
                self._joined[cache_key] = _JoinedTables(rows, small)
            return self._joined[cache_key]


def _with_names(join: Join, table: LookupTable, *, inner: bool) -> DataFrame:
    """A lookup table's rows, with columns named as in the enriched stream, and its key columns."""
    rows = _unique(join.table, table)
    columns = [rows[quoted(k)].alias(_key_column(i)) for i, k in enumerate(table.key)]
    columns += [rows[quoted(c)].alias(join.column(c)) for c in rows.columns]
    if not inner:
        columns.append(F.lit(True).alias(join.matched))
    return rows.select(*columns)


def _unique(name: str, table: LookupTable) -> DataFrame:
    """A lookup table's rows that can be found; the job that reads them fails if a key comes twice.

    The table is read anew, and its files may have changed since its key was checked: a key that
    comes twice would multiply rows for all queries, also for those that do not join the table.
    """
    keys = [F.col(quoted(key)) for key in table.key]
    found = reduce(lambda a, b: a & b, (key.isNotNull() for key in keys))
    copies = F.count(F.lit(1)).over(Window.partitionBy(*keys))
    values = [F.concat(F.lit(f"{k} = "), F.col(quoted(k)).cast("string")) for k in table.key]
    complaint = F.concat(
        F.lit(f"the key of table {name!r} is not unique: "),
        F.concat_ws(", ", *values),
        F.lit(" stands in "),
        F.col(_COPIES).cast("string"),
        F.lit(" rows"),
    )
    once = F.when(F.col(_COPIES) == 1, True).otherwise(F.raise_error(complaint).cast("boolean"))
    counted = table.rows.where(found).withColumn(_COPIES, copies)
    return counted.where(once).drop(_COPIES)


def _key_column(position: int) -> str:
    """The name of a key column in a table that a DataFrame is joined with."""
    return f"__lookup_{position}"
