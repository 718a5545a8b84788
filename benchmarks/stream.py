"""Standing queries over a live stream: shared, against a Spark streaming query for each.

    python -m benchmarks stream [--quick] [--json FILE] [--rows N]

All streams read the same Parquet files, in the same number of micro-batches.
"""

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.streaming import StreamingQuery
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

import gingham
from benchmarks.outputs import File, table_console, write_results
from benchmarks.targets import NumericTarget
from gingham.datasets import trades as workload
from gingham.datasets.trades import TradeQuery, trade_queries

DELAY = "2 seconds"
AVAILABLE = {"availableNow": True}
PICKED = 16
FILES = 8  # in the long stream, one per micro-batch
SMALL = 1_000  # rows of a small batch
WARM = 0.5  # the part of the small batches in which the JVM is still compiling: not counted


def run(
    rows: int = 4_000_000,
    *,
    quick: bool = False,
    json_path: File | None = None,
    plot_path: File | None = None,
    spark: SparkSession | None = None,
    console: Console | None = None,
) -> list[NumericTarget]:
    """Measure and print; `quick` takes few rows and queries."""
    del plot_path  # there is nothing to draw
    console = console or table_console()
    many, few, triggers = (1024, 16, 150) if not quick else (64, 16, 40)
    shared = 256 if not quick else 64
    rows = rows if not quick else min(rows, 200_000)
    session = spark or gingham.Loom().spark
    with tempfile.TemporaryDirectory(prefix="gingham-stream-") as name:
        market = _Market(session, Path(name), rows, triggers)
        console.print(f"{rows:,} trades in {FILES} files, {triggers} files of {SMALL:,}")
        targets = _throughput(market, shared, console)
        targets += _latency(market, many, few, console)
    table = Table(
        title=f"streams, {session.sparkContext.defaultParallelism} cores", box=SIMPLE_HEAD
    )
    for header in ("", "wanted", "measured", "met"):
        table.add_column(header, no_wrap=True)
    for target in targets:
        met = {True: "[green]yes", False: "[red]no", None: "-"}[target.met]
        table.add_row(target.what, target.wanted, f"{target.measured:,.3f}", met)
    console.print(table)
    write_results([asdict(target) for target in targets], json_path, console)
    return targets


class _Market:
    """Trades in files: large ones for throughput, small ones for latency."""

    def __init__(self, spark: SparkSession, folder: Path, rows: int, triggers: int) -> None:
        self.spark, self.folder, self.rows, self._runs = spark, folder, rows, 0
        spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
        self._write("large", rows, FILES)
        self._write("small", SMALL * triggers, triggers)
        for name, table in (("close", workload.close), ("listing", workload.listing)):
            table(spark).write.parquet(str(folder / name))

    def _write(self, name: str, rows: int, files: int) -> None:
        """Files whose names, and times, follow the time of their rows."""
        whole = workload.trades(self.spark, rows)
        begin, end = whole.agg(sf.min("ts"), sf.max("ts")).collect()[0]
        span = (end - begin).total_seconds() / files + 1e-3
        part = sf.floor((sf.unix_micros("ts") - int(begin.timestamp() * 1e6)) / (span * 1e6))
        parts = whole.withColumn("file", part.cast("int")).repartition(files, "file")
        staged = self.folder / f"staged-{name}"
        parts.sortWithinPartitions("ts").write.partitionBy("file").parquet(str(staged))
        (self.folder / name).mkdir()
        for number in range(files):
            for i, file in enumerate(sorted((staged / f"file={number}").glob("*.parquet"))):
                target = self.folder / name / f"{number:05d}-{i}.parquet"
                file.rename(target)
                os.utime(target, (1_600_000_000 + number, 1_600_000_000 + number))

    def stream(self, name: str) -> DataFrame:
        folder = str(self.folder / name)
        schema = self.spark.read.parquet(folder).schema
        return self.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(folder)

    def table(self, name: str) -> DataFrame:
        return self.spark.read.parquet(str(self.folder / name))

    def fresh(self) -> str:
        """A folder that was not used yet."""
        self._runs += 1
        return str(self.folder / f"run-{self._runs}")

    def loom(self, name: str, queries: list[TradeQuery]) -> gingham.Loom:
        loom = gingham.Loom(self.spark)
        loom.stream("trades", self.stream(name), time="ts", watermark=DELAY)
        for table in ("close", "listing"):
            loom.table(table, self.table(table), key="symbol")
        for query in queries:
            loom.add(query.sql, name=query.name)
        return loom


def _throughput(market: _Market, count: int, console: Console) -> list[NumericTarget]:
    queries = list(trade_queries("C", count))

    def shared() -> float:
        loom = market.loom("large", queries)
        start = time.perf_counter()
        running = loom.start(checkpoint=market.fresh(), sink=market.fresh(), trigger=AVAILABLE)
        running.await_termination()
        return time.perf_counter() - start

    def bare() -> float:
        def largest(df: DataFrame, _number: int) -> None:
            df.agg(
                sf.max("ts"), sf.max(sf.length("symbol")), sf.max("price"), sf.max("vol")
            ).collect()

        start = time.perf_counter()
        writer = market.stream("large").writeStream.foreachBatch(largest)
        query = (
            writer.option("checkpointLocation", market.fresh()).trigger(availableNow=True).start()
        )
        query.awaitTermination()
        return time.perf_counter() - start

    picked = [queries[i * count // PICKED] for i in range(PICKED)]

    def separate() -> float:
        start = time.perf_counter()
        started = [_alone(market, query) for query in picked]
        for query in started:
            query.awaitTermination()
        return time.perf_counter() - start

    times: dict[str, float] = {}
    ways: dict[str, Callable[[], float]] = {"bare": bare, "shared": shared, "separate": separate}
    for name, way in ways.items():
        repeats = 3 if name != "separate" else 1
        measured = [way() for _ in range(repeats)]
        times[name] = min(measured)
        console.print(f"{name}: " + ", ".join(f"{s:.2f}" for s in measured) + " s")
    whole = times["separate"] * count / PICKED
    return [
        NumericTarget(
            f"rows per second, {count} shared", "no target", market.rows / times["shared"], None
        ),
        _at_most(
            f"{count} shared / bare foreachBatch aggregate", times["shared"] / times["bare"], 4
        ),
        _at_least(
            f"{count} Spark streams (extrapolated from {PICKED} measured) / shared",
            whole / times["shared"],
            50,
        ),
    ]


def _alone(market: _Market, query: TradeQuery) -> StreamingQuery:
    """One query as a Spark streaming query of its own."""
    rows = market.stream("large").withWatermark("ts", DELAY)
    for name in ("close", "listing"):
        if f"{name}." in query.sql or name == "close":
            rows = rows.join(market.table(name).alias(name), "symbol")
    if query.predicate:
        rows = rows.where(query.predicate)
    length, slide = query.window
    spans = sf.window("ts", f"{length} seconds", f"{slide} seconds", f"{-length % slide} seconds")
    answers = rows.groupBy(spans).agg(sf.expr("sum(price * vol)").alias("value"))
    writer = (
        answers.writeStream.outputMode("append").format("parquet").option("path", market.fresh())
    )
    return writer.option("checkpointLocation", market.fresh()).trigger(availableNow=True).start()


def _latency(market: _Market, many: int, few: int, console: Console) -> list[NumericTarget]:
    medians: dict[int, float] = {}
    adding = 0.0
    for count in (few, many):
        loom = market.loom("small", list(trade_queries("C", count)))
        laps: list[dict[str, float]] = []
        running = loom.start(
            checkpoint=market.fresh(), sink=market.fresh(), trigger={"processingTime": "0 seconds"}
        )
        running.listen(lambda batch, laps=laps: laps.append(dict(batch.seconds)))
        running.process_all_available()
        seconds = [
            progress.durationMs["triggerExecution"] / 1e3
            for progress in running.streaming["trades"].recentProgress
            if progress.numInputRows
        ]
        medians[count] = statistics.median(seconds[int(len(seconds) * WARM) :])
        warm = laps[int(len(laps) * WARM) :]
        parts = {k: statistics.median(lap.get(k, 0) for lap in warm) for k in laps[-1]}
        console.print(
            f"{count} queries, triggers of {SMALL:,} rows: median {medians[count]:.3f} s; "
            + ", ".join(f"{k} {v:.3f}" for k, v in parts.items())
        )
        if count == many:
            adding = _adding(loom)
        running.stop()
    return [
        _at_most(
            f"a trigger of {SMALL:,} rows, {many} queries (median seconds)", medians[many], 0.35
        ),
        _at_most(f"the same, more than with {few} (seconds)", medians[many] - medians[few], 0.1),
        _at_most(f"loom.add to {many:,} running queries (median seconds)", adding, 0.05),
    ]


def _adding(loom: gingham.Loom) -> float:
    seconds: list[float] = []
    for i, query in enumerate(trade_queries("C-low", 25)):
        start = time.perf_counter()
        loom.add(query.sql, name=f"one_more_{i}")
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def _at_most(what: str, measured: float, most: float) -> NumericTarget:
    return NumericTarget(what, f"<= {most:g}", measured, measured <= most)


def _at_least(what: str, measured: float, least: float) -> NumericTarget:
    return NumericTarget(what, f">= {least:g}", measured, measured >= least)
