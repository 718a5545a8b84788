"""A stream in a process of its own, which may kill itself.

    python -m tests.crash.child FOLDER [before|after KIND NTH]   kill before or after the nth write
    python -m tests.crash.child FOLDER [soon KIND NTH SECONDS]   kill so long after that write

KIND is a folder of the checkpoint (log, done, epochs, snapshot, lease, pending) or "sink".
GINGHAM_ON_DRIVER tells how many shards may be on the driver: with 0 all are at the executors.
"""

import os
import signal
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

import gingham
from gingham.checkpoint.files import Files
from gingham.spark.shared_run import MOST_SHARDS_ON_DRIVER
from tests.replay import replayed

QUERIES = {
    "count": "SELECT count(*) AS n FROM trades GROUP BY window(ts, '10 seconds')",
    "by_symbol": """SELECT symbol, sum(price * vol) AS value, max(price) AS high FROM trades
        WHERE vol > 5 GROUP BY symbol, window(ts, '25 seconds', '10 seconds')""",
    "ratio": """SELECT sum(price) / count(*) AS mean FROM trades WHERE price > 3
        GROUP BY window(ts, '15 seconds', '5 seconds') HAVING count(*) > 3""",
    "rows": """SELECT symbol, sum(vol) AS s FROM trades [ROWS 90 SLIDE 40] WHERE price > 3
        GROUP BY symbol""",
    "rows_per_symbol": """SELECT symbol, count(*) AS n, max(price) AS high
        FROM trades [ROWS 25 SLIDE 10 PER symbol] WHERE vol > 5 GROUP BY symbol""",
}
# Joins after a while; its first window starts after what was seen until then.
LATER = (
    "later",
    "SELECT count(*) AS n FROM trades WHERE price > 7 GROUP BY window(ts, '5 seconds')",
)
JOINS_AT = 6


def kill_at(when: str, kind: str, nth: int, seconds: float = 0) -> None:
    """Kill this process at one of its writes, or some time later."""
    opened, seen = Files.opened, [0]

    @contextmanager
    def counted(self: Files, name: str, *, once: bool = False) -> Generator[pa.NativeFile]:
        of_kind = Path(self.root).name == kind or (kind == "sink" and "/answers/" in self.root)
        seen[0] += of_kind
        if of_kind and seen[0] == nth and when == "before":
            die()
        with opened(self, name, once=once) as stream:
            yield stream
        if of_kind and seen[0] == nth and when == "after":
            die()
        if of_kind and seen[0] == nth and when == "soon":
            threading.Timer(seconds, die).start()

    Files.opened = counted


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main(folder: Path, *how: str) -> None:
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        # A short life: compiling well takes longer than it saves.
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.log.level", "OFF")
        .getOrCreate()
    )
    if how:
        kill_at(how[0], how[1], int(how[2]), *map(float, how[3:]))
    rows = replayed(spark, folder / "trades")
    weaver = gingham.Loom(spark).stream("trades", rows, time="ts", watermark="4 seconds")
    for name, sql in QUERIES.items():
        weaver.add(sql, name=name)
    running = weaver.start(
        checkpoint=str(folder / "checkpoint"),
        sink=str(folder / "answers"),
        trigger={"processingTime": "0 seconds"},
        most_on_driver=int(os.environ.get("GINGHAM_ON_DRIVER", MOST_SHARDS_ON_DRIVER)),
        settings=gingham.StreamSettings(snapshot_every=3),  # snapshots often
    )
    if not running.progress()["trades"].batches and LATER[0] not in weaver.queries:

        def join(batch: gingham.BatchProgress) -> None:
            if batch.number >= JOINS_AT and LATER[0] not in weaver.queries:
                weaver.add(LATER[1], name=LATER[0])

        running.listen(join)
    running.process_all_available()
    running.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
    # Spark's own shutdown takes a while, and nothing is left to be lost.
    os._exit(0)
