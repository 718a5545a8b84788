"""The same answers without Gingham: in Spark and in DuckDB, one by one and shared by hand.

Every way returns Arrow tables with a column `window_end` and one column per query; `answers`
reads them all alike. The ways get the forms an expert would write: only the tables that a
predicate needs are joined (every symbol is in both tables, so leaving a join out drops
nothing), and DuckDB adds up slices before it spreads them over windows.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from duckdb import DuckDBPyConnection, connect
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from gingham.datasets import trades as workload
from gingham.datasets.trades import TradeQuery

SECOND = 1_000_000
MICROS = pa.timestamp("us", tz="UTC")
# Window ends in microseconds, and the sum there.
Answer = dict[int, float]


@dataclass(frozen=True, slots=True)
class Market:
    """The trades and their two tables, as Spark and DuckDB read them from the same files."""

    spark: SparkSession
    duck: DuckDBPyConnection
    trades: DataFrame
    close: DataFrame
    listing: DataFrame
    rows: int


def market(spark: SparkSession, folder: Path, rows: int, rate: float, seed: int = 0) -> Market:
    """Write a market to Parquet files and open them."""
    frames = {
        "trades": workload.trades(spark, rows, seed, rate=rate),
        "close": workload.close(spark, seed),
        "listing": workload.listing(spark, seed),
    }
    # INT96, the default, is slow to decode for Spark and DuckDB alike.
    kind = "spark.sql.parquet.outputTimestampType"
    before = str(spark.conf.get(kind))
    spark.conf.set(kind, "TIMESTAMP_MICROS")
    for name, frame in frames.items():
        frame.write.parquet(str(folder / name))
    spark.conf.set(kind, before)

    duck = connect()
    duck.execute(f"SET threads = {spark.sparkContext.defaultParallelism}")
    time = {"trades": "epoch_us(ts) AS t, "}
    for name in frames:
        files = f"read_parquet('{folder / name}/*.parquet')"
        duck.execute(f"CREATE VIEW {name} AS SELECT {time.get(name, '')}* FROM {files}")
    opened = {name: spark.read.parquet(str(folder / name)) for name in frames}
    return Market(spark, duck, **opened, rows=rows)


def bare_scan(market: Market) -> pa.Table:
    """Read every column of every trade and do next to nothing with it."""
    # The largest of each, and not a count: a count would decode no column at all.
    largest = [sf.max(column) for column in ("ts", sf.length("symbol"), "price", "vol")]
    return market.trades.agg(*largest).toArrow()


def spark_alone(market: Market, query: TradeQuery) -> pa.Table:
    """One query as a Spark job of its own."""
    rows = _joined(market, [query])
    if query.predicate:
        rows = rows.where(query.predicate)
    value = sf.expr("sum(price * vol)").alias(query.name)
    return _windowed(rows, query.window, [value]).toArrow()


def spark_conditional(market: Market, queries: Sequence[TradeQuery]) -> pa.Table:
    """Queries over one window as one Spark scan with a conditional sum for each."""
    [window] = {query.window for query in queries}
    values = [
        sf.expr(f"sum(CASE WHEN {query.predicate} THEN price * vol END)").alias(query.name)
        for query in queries
    ]
    return _windowed(_joined(market, queries), window, values).toArrow()


def duck_alone(market: Market, query: TradeQuery) -> pa.Table:
    """One query as a DuckDB query of its own."""
    where = f"WHERE {query.predicate}" if query.predicate else ""
    slices = _slices(query.window, "t", SECOND, {query.name: "sum(price * vol)"})
    return _roll(market, f"{slices} FROM {_from([query])} {where}", query.window, [query.name])


def duck_by_window(market: Market, queries: Sequence[TradeQuery]) -> list[pa.Table]:
    """One DuckDB scan for all queries over the same window, with a filter for each."""
    tables: list[pa.Table] = []
    for window, together in by_window(queries).items():
        sums = {query.name: _filtered(query.predicate) for query in together}
        slices = f"{_slices(window, 't', SECOND, sums)} FROM {_from(together)}"
        tables.append(_roll(market, slices, window, list(sums)))
    return tables


def duck_panes(market: Market, queries: Sequence[TradeQuery]) -> list[pa.Table]:
    """One DuckDB scan for everything: a sum per second and predicate, then windows of seconds.

    Every edge falls on a whole second, which a user has to know beforehand.
    """
    names = {predicate: f"p{i}" for i, predicate in enumerate(predicates(queries))}
    sums = ", ".join(f"{_filtered(predicate)} AS {name}" for predicate, name in names.items())
    market.duck.execute(
        f"CREATE OR REPLACE TEMP TABLE panes AS SELECT t // {SECOND} AS second, {sums} "
        f"FROM {_from(queries)} GROUP BY second"
    )
    tables: list[pa.Table] = []
    for window, together in by_window(queries).items():
        rolled = {query.name: f"sum({names[query.predicate]})" for query in together}
        slices = f"{_slices(window, 'second', 1, rolled)} FROM panes"
        tables.append(_roll(market, slices, window, list(rolled)))
    return tables


def answers(tables: Iterable[pa.Table]) -> dict[str, Answer]:
    """What each query answers, read from tables of any of the ways."""
    found: dict[str, Answer] = {}
    for table in tables:
        ends = table.column("window_end").cast(MICROS).cast(pa.int64()).to_pylist()
        for name in table.column_names:
            if name not in {"window_start", "window_end"}:
                values = zip(ends, table.column(name).to_pylist(), strict=True)
                # A window with no matching row is no row where queries run alone.
                found[name] = {end: value for end, value in values if value is not None}
    return found


def by_window(queries: Iterable[TradeQuery]) -> dict[tuple[int, int], list[TradeQuery]]:
    """The queries of each different window."""
    found: dict[tuple[int, int], list[TradeQuery]] = {}
    for query in queries:
        found.setdefault(query.window, []).append(query)
    return found


def predicates(queries: Iterable[TradeQuery]) -> list[str | None]:
    """The different predicates."""
    return list(dict.fromkeys(query.predicate for query in queries))


def _joined(market: Market, queries: Iterable[TradeQuery]) -> DataFrame:
    rows = market.trades
    tables = {"close": market.close, "listing": market.listing}
    for name in _tables(queries):
        rows = rows.join(tables[name].alias(name), "symbol")
    return rows


def _from(queries: Iterable[TradeQuery]) -> str:
    return " ".join(["trades", *[f"JOIN {name} USING (symbol)" for name in _tables(queries)]])


def _tables(queries: Iterable[TradeQuery]) -> list[str]:
    """Which tables the predicates mention."""
    text = " ".join(filter(None, predicates(queries)))
    return [name for name, column in (("close", "cp"), ("listing", "listing.")) if column in text]


def _windowed(rows: DataFrame, window: tuple[int, int], values: list[Column]) -> DataFrame:
    length, slide = window
    # Spark aligns where windows start, the workload where they end.
    spans = sf.window("ts", f"{length} seconds", f"{slide} seconds", f"{-length % slide} seconds")
    grouped = rows.groupBy(spans.alias("window")).agg(*values)
    return grouped.selectExpr("window.end AS window_end", "* EXCEPT (window)")


def _filtered(predicate: str | None) -> str:
    return "sum(price * vol)" + (f" FILTER (WHERE {predicate})" if predicate else "")


def _slices(window: tuple[int, int], time: str, second: int, sums: dict[str, str]) -> str:
    """Sums by the numbers of the first and the last window that a row is in.

    Window k is [k * slide - length, k * slide), so a row at t is in those from
    t // slide + 1 up to (t + length) // slide. Rows that agree in both are a slice.
    """
    length, slide = (second * part for part in window)
    values = ", ".join(f"{value} AS {name}" for name, value in sums.items())
    return (
        f"SELECT {time} // {slide} + 1 AS first, ({time} + {length}) // {slide} AS last, {values}"
    )


def _roll(market: Market, slices: str, window: tuple[int, int], names: list[str]) -> pa.Table:
    """Add up slices to windows."""
    sums = ", ".join(f"sum({name}) AS {name}" for name in names)
    return market.duck.sql(
        f"WITH slices AS ({slices} GROUP BY ALL), "
        "spread AS (SELECT unnest(range(first, last + 1)) AS k, * FROM slices) "
        f"SELECT k * {window[1] * SECOND} AS window_end, {sums} FROM spread GROUP BY k"
    ).to_arrow_table()
