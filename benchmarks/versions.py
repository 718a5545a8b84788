"""Another checkout of Gingham is compared with this one, in turns.

    python -m benchmarks.versions OTHER/src [--rows N] [--queries N] [--turns N]

Two processes, each with a Spark session and a version of its own, run the trades workload C in
turns, as a batch and as a stream; the medians of their seconds and the ratio are printed.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO

import click
from pyspark.sql import SparkSession
from rich.progress import track

import gingham
from gingham.datasets import trades as workload

HERE = Path(__file__).parent.parent / "src"
WAYS = ("batch", "stream")
FILES = 8  # micro-batches of the stream


class _Version:
    """A process that runs one version of Gingham, and says how long it took."""

    def __init__(self, source: Path, folder: Path, name: str) -> None:
        self.name = name
        work = folder / name
        work.mkdir()
        self._process = subprocess.Popen(  # noqa: S603  (our own program)
            [sys.executable, str(Path(__file__).with_name("version_worker.py")), folder, work],
            env={**os.environ, "PYTHONPATH": str(source.resolve())},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def seconds(self, way: str) -> float:
        """Run the workload once, as a batch or as a stream."""
        to, back = _pipe(self._process.stdin), _pipe(self._process.stdout)
        to.write(f"{way}\n")
        to.flush()
        answer = back.readline()
        if not answer:
            raise gingham.GinghamError(
                f"the version {self.name} ended", "it raised", "run its worker by hand to see why"
            )
        return float(answer)

    def stop(self) -> None:
        """End the process."""
        _pipe(self._process.stdin).close()
        self._process.wait()


def _pipe(stream: IO[str] | None) -> IO[str]:
    assert stream is not None  # asked for when the process was started
    return stream


@click.command()
@click.argument("other", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--rows", default=4_000_000, show_default=True)
@click.option("--queries", default=256, show_default=True)
@click.option("--turns", default=7, show_default=True)
def main(other: Path, rows: int, queries: int, turns: int) -> None:
    """Compare the source folder OTHER with this checkout."""
    with tempfile.TemporaryDirectory(prefix="gingham-versions-") as name:
        folder = Path(name)
        _write(folder, rows, queries)
        versions = [_Version(other, folder, "before"), _Version(HERE, folder, "after")]
        for way in WAYS:
            for version in versions * 2:  # warms up
                version.seconds(way)
            seconds: dict[str, list[float]] = {version.name: [] for version in versions}
            for turn in track(range(turns), way, transient=True):
                for version in versions if turn % 2 else reversed(versions):
                    seconds[version.name].append(version.seconds(way))
            before, after = (statistics.median(seconds[v.name]) for v in versions)
            click.echo(
                f"{way}, {queries} queries, {rows:,} rows, {turns} turns: "
                f"before {before:.2f} s, after {after:.2f} s, after / before {after / before:.2f}"
            )
        for version in versions:
            version.stop()


def _write(folder: Path, rows: int, queries: int) -> None:
    """Write the trades, the tables and the queries that both versions read."""
    spark = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false")
    session = spark.config("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    started = session.getOrCreate()
    ordered = workload.trades(started, rows).repartitionByRange(FILES, "ts")
    ordered.write.parquet(str(folder / "trades"))
    for table in (workload.close, workload.listing):
        table(started).write.parquet(str(folder / table.__name__))
    started.stop()
    texts = dict(workload.queries("C", queries))
    (folder / "queries.json").write_text(json.dumps(texts), encoding="utf-8")
    for number, file in enumerate(sorted((folder / "trades").glob("*.parquet"))):
        os.utime(file, (1_600_000_000 + number, 1_600_000_000 + number))


if __name__ == "__main__":
    main()
