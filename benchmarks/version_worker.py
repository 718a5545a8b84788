"""The process of one version in `benchmarks.versions`; it uses the public API of any version.

It reads "batch" or "stream" from standard input, runs the workload so, and prints the seconds.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import gingham


def main(folder: Path, work: Path) -> None:
    """Answer requests until standard input ends."""
    spark = (
        SparkSession.builder.master("local[*]")
        .config("spark.driver.memory", "4g")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "OFF")
        .getOrCreate()
    )
    texts: dict[str, str] = json.loads((folder / "queries.json").read_text(encoding="utf-8"))
    static = spark.read.parquet(str(folder / "trades"))
    batch = _loom(spark, folder, static, texts)
    for number, line in enumerate(sys.stdin):
        start = time.perf_counter()
        if line.strip() == "batch":
            answers = batch.run()
            for name in texts:
                answers.arrow(name)
        else:
            reader = spark.readStream.schema(static.schema).option("maxFilesPerTrigger", 1)
            stream = _loom(spark, folder, reader.parquet(str(folder / "trades")), texts)
            start = time.perf_counter()
            running = stream.start(
                checkpoint=str(work / f"checkpoint-{number}"),
                sink=str(work / f"answers-{number}"),
                trigger={"availableNow": True},
            )
            running.await_termination()
        sys.stdout.write(f"{time.perf_counter() - start}\n")
        sys.stdout.flush()


def _loom(
    spark: SparkSession, folder: Path, trades: DataFrame, texts: dict[str, str]
) -> gingham.Loom:
    loom = gingham.Loom(spark).stream("trades", trades, time="ts", watermark="10 seconds")
    for table in ("close", "listing"):
        loom.table(table, spark.read.parquet(str(folder / table)), key="symbol")
    for name, text in texts.items():
        loom.add(text, name=name)
    return loom


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
