"""Half an hour of a busy stream, to see what grows.

    python -m benchmarks endure [--quick] [--json FILE] [--plot FILE]

A minute of trades comes with every micro-batch, and with every micro-batch some queries leave and
others join. Batch time, memory and the size of the checkpoint are noted all along; at the end the
answers of the queries that stayed are compared with those of a batch run over the same trades.
"""

import random
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import gingham
from benchmarks.outputs import File, canvas, table_console, write_results
from gingham.datasets import trades as workload
from gingham.datasets.trades import TradeQuery, trade_queries

MINUTES, QUICK_MINUTES = 30.0, 1.0
ROWS = 20_000  # of a micro-batch, about a minute of trades
ALIVE, STAYING = 128, 4  # queries at a time; of these, so many from beginning to end
DIFFERENT = 1_000  # queries
CHANGED = 2  # queries that leave, and that join, with every batch
BATCHES_BETWEEN = 10  # two observations of memory and checkpoint
MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Observation:
    """State and memory after a batch, in megabytes; `at` is in seconds since the start."""

    at: float
    batch: int
    batch_seconds: float  # the median since the last observation
    state: int  # shards in memory
    python: float
    heap: float  # what the JVM still held after it collected garbage
    checkpoint: float


def run(
    *,
    quick: bool = False,
    json_path: File | None = None,
    plot_path: File | None = "endure.png",
    spark: SparkSession | None = None,
    console: Console | None = None,
) -> list[Observation]:
    """Run, watch, print and draw; `quick` is a minute."""
    console = console or table_console()
    session = spark or gingham.Loom().spark
    minutes = QUICK_MINUTES if quick else MINUTES
    with tempfile.TemporaryDirectory(prefix="gingham-endure-") as folder:
        observations, rows, stayed = _endure(session, Path(folder), minutes * 60, console)
        _show(observations, console)
        numbers = [asdict(observation) for observation in observations]
        write_results(numbers, json_path, console, partial(_draw, observations), plot_path)
        _compare(session, Path(folder), rows, stayed, console)
    return observations


def _endure(
    spark: SparkSession, folder: Path, seconds: float, console: Console
) -> tuple[list[Observation], int, list[TradeQuery]]:
    """Run a stream for so long: the observations, its rows, and the queries that never left."""
    # Written once: a table that is computed would be computed in the comparison, too.
    for name, table in (("close", workload.close), ("listing", workload.listing)):
        table(spark).write.parquet(str(folder / name))
    numbers = (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", ROWS)
        .option("numPartitions", spark.sparkContext.defaultParallelism)
        .load()
        .select(sf.col("value").alias("id"))
    )
    loom = _loom(spark, folder, workload.trades_of(numbers))
    # By the time a query comes again, it was removed long ago.
    again = enumerate(cycle(trade_queries("C-low", DIFFERENT)))
    coming = (replace(query, name=f"q{number}") for number, query in again)
    alive = [next(coming) for _ in range(ALIVE)]
    for query in alive:
        loom.add(query.sql, name=query.name)

    rng, observations, laps = random.Random(0), list[Observation](), list[float]()
    start = time.perf_counter()
    with Progress(
        TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=console
    ) as bar:
        task = bar.add_task("enduring", total=seconds)

        def churn(batch: gingham.BatchProgress) -> None:
            for _ in range(CHANGED):
                gone = alive.pop(rng.randrange(STAYING, len(alive)))
                loom.remove(gone.name)
                alive.append(next(coming))
                loom.add(alive[-1].sql, name=alive[-1].name)
            laps.append(batch.total)
            if batch.number % BATCHES_BETWEEN == 0:
                observations.append(_observe(spark, folder, start, batch, statistics.median(laps)))
                laps.clear()
            text = f"batch {batch.number}, {batch.total:.2f} s, {batch.state:,} shards"
            bar.update(task, completed=time.perf_counter() - start, description=text)

        running = loom.start(
            checkpoint=str(folder / "checkpoint"),
            sink=str(folder / "answers"),
            trigger={"processingTime": "0 seconds"},
        )
        running.listen(churn)
        running.await_termination(seconds)
        rows = running.progress()["trades"].rows
        running.stop()
    console.print(
        f"{rows:,} rows in {observations[-1].batch:,} batches, {len(observations)} observations"
    )
    return observations, rows, alive[:STAYING]


def _loom(spark: SparkSession, folder: Path, trades: DataFrame) -> gingham.Loom:
    loom = gingham.Loom(spark)
    loom.stream("trades", trades, time="ts", watermark="2 seconds")
    for name in ("close", "listing"):
        loom.table(name, spark.read.parquet(str(folder / name)), key="symbol")
    return loom


def _observe(
    spark: SparkSession,
    folder: Path,
    start: float,
    batch: gingham.BatchProgress,
    seconds: float,
) -> Observation:
    checkpoint = folder / "checkpoint"
    size = sum(file.stat().st_size for file in checkpoint.rglob("*") if file.is_file())
    return Observation(
        time.perf_counter() - start,
        batch.number,
        seconds,
        batch.state,
        _resident() / MEGABYTE,
        _heap(spark) / MEGABYTE,
        size / MEGABYTE,
    )


def _resident() -> int:
    """Bytes of memory that this process holds."""
    status = Path("/proc/self/status")
    found = re.search(r"VmRSS:\s+(\d+)", status.read_text()) if status.exists() else None
    return int(found[1]) * 1024 if found else 0


def _heap(spark: SparkSession) -> int:
    """Bytes of old objects that the JVM still holds after it collected garbage."""
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001  (only the JVM knows)
    jvm.java.lang.System.gc()
    memory = jvm.java.lang.management.ManagementFactory.getMemoryMXBean()
    return int(memory.getHeapMemoryUsage().getUsed())


def _compare(
    spark: SparkSession,
    folder: Path,
    rows: int,
    stayed: Sequence[TradeQuery],
    console: Console,
) -> None:
    """The answers of the queries that stayed, against one batch run."""
    loom = _loom(spark, folder, workload.trades(spark, rows))
    for query in stayed:
        loom.add(query.sql, name=query.name)
    whole = loom.run()
    for query in stayed:
        expected = _by_end(whole.arrow(query.name))
        found = _by_end(spark.read.parquet(str(folder / "answers" / query.name)).toArrow())
        # The last windows were still open when the stream was stopped.
        off = sum(abs(found[end] - expected[end]) > 1e-9 * abs(expected[end]) for end in found)
        missing = sum(end not in found for end in expected if end <= max(found))
        console.print(
            f"{query.name}: {len(found):,} windows as in a batch run, {off} off, {missing} missing"
        )


def _by_end(table: pa.Table) -> dict[datetime, float]:
    ends = table["window_end"].cast(pa.timestamp("us", tz="UTC")).to_pylist()
    return dict(zip(ends, table["value"].to_pylist(), strict=True))


MEASURES: dict[str, Callable[[Observation], float]] = {
    "batch time, seconds": lambda observation: observation.batch_seconds,
    "state, shards": lambda observation: observation.state,
    "driver's Python, MB": lambda observation: observation.python,
    "JVM heap after collection, MB": lambda observation: observation.heap,
    "checkpoint, MB": lambda observation: observation.checkpoint,
}


def _show(observations: Sequence[Observation], console: Console) -> None:
    """Medians of the second and of the last quarter: the first one is warming up."""
    table = Table(title="what grew", box=SIMPLE_HEAD)
    for header in ("", "second quarter", "last quarter", "ratio"):
        table.add_column(header, justify="right" if header else "left", no_wrap=True)
    quarter = max(1, len(observations) // 4)
    for name, measure in MEASURES.items():
        early = statistics.median(map(measure, observations[quarter : 2 * quarter] or observations))
        late = statistics.median(map(measure, observations[-quarter:]))
        table.add_row(name, f"{early:,.2f}", f"{late:,.2f}", f"{late / early:.2f}")
    console.print(table)


def _draw(observations: Sequence[Observation], path: Path) -> None:
    figure = canvas(8, 9)
    panels = figure.subplots(len(MEASURES), 1, sharex=True)
    for panel, (name, measure) in zip(panels, MEASURES.items(), strict=True):
        panel.plot(
            [observation.at / 60 for observation in observations],
            [measure(observation) for observation in observations],
        )
        panel.set_title(name, fontsize="medium", loc="left")
        panel.set_ylim(bottom=0)
        panel.grid(visible=True, alpha=0.3)
    panels[-1].set_xlabel("minutes")
    figure.savefig(path, dpi=110)
