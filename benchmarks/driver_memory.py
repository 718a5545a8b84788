"""A query grouped by a million keys: what the driver holds while the rows grow.

The query runs in a process of its own, so that its peak is its own. Spark may send at most 32 MB
to the driver there: a run that collected its shards would not end.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.peak_memory import peak_megabytes

KEYS = 1_000_000
MOST_SENT = "32m"


@dataclass(frozen=True, slots=True)
class Footprint:
    """What one run over so many rows took: megabytes in the driver, and seconds."""

    rows: int
    shards: int
    answers: int
    python_peak: float  # of the driver's Python process
    seconds: float


def footprint(rows: int) -> Footprint:
    """Run the query in a new process."""
    # The command is this very interpreter and module.
    command = [sys.executable, "-m", "benchmarks.driver_memory", str(rows)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
    return Footprint(**json.loads(done.stdout.splitlines()[-1]))


def _run(rows: int, folder: Path) -> Footprint:
    import gingham
    from gingham.spark.spark_session import active_or_new_session

    os.environ["PYSPARK_SUBMIT_ARGS"] = (
        f"--conf spark.driver.maxResultSize={MOST_SENT} pyspark-shell"
    )
    spark = active_or_new_session()
    stream = spark.range(rows).selectExpr(
        "timestamp_millis(id) AS ts", f"pmod(hash(id), {KEYS}) AS key", "id % 1000 AS amount"
    )
    loom = gingham.Loom(spark).stream("events", stream, time="ts")
    loom.add(
        "SELECT key, sum(amount) FROM events GROUP BY key, window(ts, '10 minutes')", name="keys"
    )
    start = time.perf_counter()
    answers = loom.run()
    answers["keys"].write.parquet(str(folder / "answers"))
    seconds = time.perf_counter() - start
    return Footprint(
        rows,
        answers.statistics.shards,
        spark.read.parquet(str(folder / "answers")).count(),
        peak_megabytes(),
        seconds,
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="gingham-keys-") as name:
        sys.stdout.write(json.dumps(asdict(_run(int(sys.argv[1]), Path(name)))) + "\n")
