"""What queries read: streams, and tables that rows are looked up in, registered by name."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from gingham.core.errors import CatalogError
from gingham.core.file_names import check_name
from gingham.core.names import POSITION, quoted
from gingham.core.time import FOREVER, parse_delay
from gingham.logical.catalog import Catalog, Stream, Table
from gingham.logical.query import Query
from gingham.plan.bound import BoundQuery
from gingham.plan.row_statistics import RowStatistics
from gingham.session.stand_ins import StandIns
from gingham.spark.bind_query import bind_query
from gingham.spark.event_time import any_instant
from gingham.spark.expression_types import ExpressionTypes, column_types
from gingham.spark.lookup_tables import LookupTable, LookupTables
from gingham.spark.measure_rows import count_rows
from gingham.spark.positions import order_of_rows, with_positions_by_one_task
from gingham.spark.session_functions import SessionFunctions
from gingham.spark.spark_session import is_ansi
from gingham.sql import parse
from gingham.sql.may_raise import may_raise

_TIMESTAMPS = ("timestamp", "timestamp_ntz")


@dataclass(frozen=True, slots=True)
class RelationSource:
    """The rows of a relation that can be joined; those of a stream have an event time."""

    name: str
    rows: DataFrame
    time: str | None = None
    watermark: str | None = None  # how late rows may come
    ahead: int = FOREVER  # how far in the future they may be, in microseconds
    stand_in: str = ""  # the view without rows that Spark analyses queries over
    changes: str | None = None  # the column that says whether a row was inserted or deleted


@dataclass(frozen=True)
class StreamSource:
    """A registered stream: its DataFrame, and how late rows may come, and how far ahead."""

    info: Stream
    rows: DataFrame
    watermark: str | None
    ahead: int = FOREVER

    @functools.cached_property
    def instant(self) -> int:
        """An instant at which the stream has rows; only speed depends on it, so it is cached."""
        if "counted" in self.__dict__:
            return self.counted[1]
        return any_instant(self.rows, self.info.time)

    @functools.cached_property
    def counted(self) -> tuple[RowStatistics, int]:
        """The statistics of the stream's rows and their first instant, from one pass."""
        return count_rows(self.rows, self.info.time)


class Sources:
    """Streams and tables by their names in lower case, and what Spark has said about them."""

    def __init__(self, spark: SparkSession, allow: Iterable[str] = ()) -> None:
        self.streams: dict[str, StreamSource] = {}
        self.lookups = LookupTables()
        self._spark = spark
        self._tables: dict[str, Table] = {}
        self._types: dict[object, ExpressionTypes] = {}
        self._stand_ins = StandIns(spark)
        self.functions = SessionFunctions(spark, allow)

    def add_stream(
        self,
        name: str,
        rows: DataFrame,
        time: str,
        watermark: str | None,
        ahead: str | None = None,
    ) -> None:
        """Register a stream, or refuse a name or an event time that cannot be used."""
        self._refuse_name(name, "stream")
        if watermark is not None:
            parse_delay(f"the watermark of stream {name!r}", watermark)
        reach = FOREVER if ahead is None else parse_delay(f"ahead of stream {name!r}", ahead)
        columns = column_types(rows)
        if time not in columns:
            raise CatalogError(
                f"stream {name!r} has no column {time!r}",
                "windows are made of event time",
                f"time=... with one of {', '.join(columns)}",
            )
        if columns[time] not in _TIMESTAMPS:
            timestamps = ", ".join(name for name, kind in columns.items() if kind in _TIMESTAMPS)
            raise CatalogError(
                f"{time} of stream {name!r} is a {columns[time]}",
                "event time must be a timestamp",
                (f"time={timestamps}, or " if timestamps else "")
                + f'rows.withColumn("{time}", to_timestamp("{time}")) before it is registered',
            )
        self._stand_ins.add(name, rows, time)
        info = Stream(name, columns, time)
        self.streams[name.lower()] = StreamSource(info, rows, watermark, reach)

    def add_table(self, name: str, rows: DataFrame, keys: tuple[str, ...]) -> None:
        """Register a table that rows are looked up in, or refuse a key that is not unique."""
        self._refuse_name(name, "table")
        columns = column_types(rows)
        missing = [k for k in keys if k not in columns]
        if missing or not keys:
            raise CatalogError(
                f"table {name!r} has no column {', '.join(missing) or '(no key given)'}",
                "a table is looked up by its key",
                f"key=... with one of {', '.join(columns)}",
            )
        self.lookups[name] = LookupTable(rows, keys, _count_unique_rows(name, rows, keys))
        self._stand_ins.add(name, rows)
        self._tables[name.lower()] = Table(name, columns, keys)

    def stream(self, name: str | None) -> StreamSource:
        """Find a stream by its name; without a name the only one there is."""
        if name is None and len(self.streams) == 1:
            return next(iter(self.streams.values()))
        found = self.streams.get((name or "").lower())
        if found is None:
            raise CatalogError(
                f"there is no stream {name!r}" if name else "which stream?",
                "registered: " + (", ".join(self.streams) or "none"),
                "loom.stream(name, df, time=...)",
            )
        return found

    def bind(self, sql: str, name: str) -> BoundQuery:
        """Parse a query and let Spark check it; gives it with types, or raises why not."""
        ansi = is_ansi(self._spark)
        catalog = Catalog(
            {key: s.info for key, s in self.streams.items()},
            self._tables,
            self._stand_ins.views,
            self._stand_ins.views_by_rows,
        )
        parsed = parse(sql, name, catalog, self.functions.is_allowed)
        query = parsed.named(self._stand_ins.compare(parsed.comparison))
        if query.window.clock.by_rows:
            source = self.stream(query.stream)
            order_of_rows(source.rows, source.info.time)
        risk = functools.partial(may_raise, types=parsed.types, ansi=ansi)
        return bind_query(
            query, self._types_for(query), self.stream(query.stream).info.time, risk, ansi=ansi
        )

    def enriched(self, query: Query) -> DataFrame:
        """The DataFrame of a query's stream, with the columns of the tables that it joins."""
        return self._types_for(query).rows

    def alone(self, query: Query) -> tuple[DataFrame, str]:
        """The rows that a query reads without any sharing, and the column that windows cut."""
        source = self.stream(query.stream)
        if not query.window.clock.by_rows:
            return self.enriched(query), source.info.time
        rows = with_positions_by_one_task(source.rows, source.info.time, query.window.clock)
        return self.lookups.enrich(rows, query.joins), POSITION

    def relations(self) -> dict[str, RelationSource]:
        """All registered streams and tables as relations that estimates can join."""
        views = self._stand_ins.views
        streams = {
            key: RelationSource(s.info.name, s.rows, s.info.time, s.watermark, s.ahead, views[key])
            for key, s in self.streams.items()
        }
        tables = {
            key: RelationSource(t.name, self.lookups[t.name].rows, stand_in=views[key])
            for key, t in self._tables.items()
        }
        return {**streams, **tables}

    def _types_for(self, query: Query) -> ExpressionTypes:
        """The cache of expression types over a query's stream and joined tables."""
        key = (query.stream, query.joins)
        if key not in self._types:
            rows = self.stream(query.stream).rows
            self._types[key] = ExpressionTypes(self.lookups.enrich(rows, query.joins))
        return self._types[key]

    def _refuse_name(self, name: str, kind: str) -> None:
        """Raise if a name cannot be used, or a stream or table is registered under it already."""
        check_name(name, kind, CatalogError)
        if name.lower() in {*self.streams, *self._tables}:
            raise CatalogError.registered_twice(name)


def _count_unique_rows(name: str, rows: DataFrame, keys: tuple[str, ...]) -> int:
    """Count the rows of a table that is registered, and refuse it if a key comes twice."""
    each = rows.groupBy(*(F.col(quoted(k)) for k in keys)).count()
    known = " AND ".join(f"{quoted(k)} IS NOT NULL" for k in keys)
    repeated = F.expr(f"CASE WHEN {known} AND count > 1 THEN struct(*) END")
    size, twice = each.agg(F.sum("count"), F.first(repeated, ignorenulls=True)).collect()[0]
    if twice is not None:
        value = ", ".join(f"{k} = {twice[k]!r}" for k in keys)
        raise CatalogError(
            f"the key of table {name!r} is not unique",
            f"{value} stands in {twice['count']} rows, so a lookup would multiply rows",
            f"rows.dropDuplicates({list(keys)}), or a key of more columns",
        )
    return size or 0
