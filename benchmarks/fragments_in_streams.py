"""Records in streams: what is shuffled and logged for many IN-lists, as fragments and as records.

Queries join and leave after every batch. In one of two streams all symbols trade all the time, in
the other every batch brings some that have not been seen before: then the fragment matrix changes
in its columns only, or also in its rows.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from benchmarks.fragments_on_spark import PARTITIONS, WANTED
from benchmarks.sections import Cell, Section
from benchmarks.shuffle import Shuffled, shuffled_meanwhile
from benchmarks.targets import Target
from gingham import AnswerError, BatchProgress, Loom, Running
from gingham.spark.spark_session import with_settings
from gingham.stream.growing_records import StreamRecords

BATCHES = 20
SCHEMA = "ts TIMESTAMP, symbol STRING, vol INT"
START = 1_704_103_200_000_000
MINUTE = 60_000_000
SAMPLE = 5  # queries that are compared with Spark over their own text
# A file is a partition: none of them shares one with another.
ONE_FILE_EACH = {"spark.sql.files.openCostInBytes": str(1 << 30)}

WAYS: Mapping[str, StreamRecords] = {
    "folded cells": False,
    "records": True,
    "static records": "static",
}
Rows = list[dict[str, object]]


@dataclass(frozen=True, slots=True)
class Size:
    """How much there is of everything."""

    sectors: int
    countries: int
    queries: int
    changed: int  # queries that leave after every batch, and as many others join

    @property
    def symbols(self) -> int:
        return self.sectors * self.countries


WHOLE, QUICK = Size(10, 12, 100, 3), Size(5, 6, 30, 1)


@dataclass(frozen=True, slots=True)
class Streamed:
    """One way to send what a stream needs."""

    stream: str
    way: str
    shuffled: Shuffled
    logged: int
    answers: Mapping[str, Rows]


def in_streams(spark: SparkSession, rows: int, *, quick: bool) -> Section:
    """Stream IN-lists in every way; `rows` is the size of a batch."""
    size = QUICK if quick else WHOLE
    table: list[list[Cell]] = []
    targets: list[Target] = []
    numbers: list[Mapping[str, object]] = []
    for name, known in (
        ("all symbols", [size.symbols] * BATCHES),
        ("more in every batch", [size.symbols * (b + 5) // (BATCHES + 4) for b in range(BATCHES)]),
    ):
        with tempfile.TemporaryDirectory() as folder:
            stream = _Stream(spark, Path(folder), size, rows, known)
            found = [stream.run(name, way) for way in WAYS]
            expected = stream.expected()
            right = [one.answers == expected for one in found]
            gain = stream.gain()
        targets += _targets(name, found, right, gain)
        judged = zip(found, right, strict=True)
        table += [_row(one, found[0], is_right=is_right) for one, is_right in judged]
        table.append([f"mean (q - k) / q = {gain:.1%}", *[None] * 6])
        numbers += [{**asdict(one), "gain": gain, "answers": len(one.answers)} for one in found]
    return Section(
        f"in streams: {BATCHES} batches of {rows:,} rows, {size.queries} IN-lists, "
        f"{size.changed} leave and join after each",
        ("", "way", "shuffled", "saved", "logged", "saved", "right"),
        table,
        "shuffled: records that all stages wrote, as Spark counts them; logged: rows of the log",
        targets,
        numbers,
    )


class _Stream:
    """A stream of trades, in files, and the IN-lists that run over it."""

    def __init__(
        self,
        spark: SparkSession,
        folder: Path,
        size: Size,
        rows: int,
        known: Sequence[int],  # how many symbols trade in each batch
    ) -> None:
        self._spark, self._folder, self._size, self._known = spark, folder, size, known
        self._lists = list(islice(_lists(size), self.living(BATCHES - 1).stop))
        self._write(rows)

    def _write(self, rows: int) -> None:
        """Write a minute of trades for each batch, some of them late, as a file per partition."""
        random = np.random.default_rng(0)
        order = random.permutation(self._size.symbols)
        (self._folder / "trades").mkdir()
        for batch, known in enumerate(self._known):
            for part in range(PARTITIONS):
                count = rows // PARTITIONS
                micros = START + batch * MINUTE + random.integers(-MINUTE // 3, MINUTE, count)
                table = pa.table(
                    {
                        "ts": pa.array(micros, pa.timestamp("us", "UTC")),
                        "symbol": [f"S{s}" for s in order[random.integers(0, known, count)]],
                        "vol": pa.array(random.integers(0, 1000, count).astype(np.int32)),
                    }
                )
                pq.write_table(table, self._folder / "trades" / f"{batch:03d}-{part}.parquet")

    def sql(self, number: int) -> str:
        """One of the queries: how much was traded of some symbols in every minute."""
        listed = ", ".join(f"'S{symbol}'" for symbol in self._lists[number])
        return (
            "SELECT count(*) AS n, sum(vol) AS total FROM trades "
            f"WHERE symbol IN ({listed}) GROUP BY window(ts, '1 minute')"
        )

    def living(self, batch: int) -> range:
        """The numbers of the queries that run in a batch."""
        first = batch * self._size.changed
        return range(first, first + self._size.queries)

    def run(self, stream: str, way: str) -> Streamed:
        """Run the stream, with queries that leave and join after every batch."""
        reader = self._spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", PARTITIONS)
        trades = reader.parquet(str(self._folder / "trades"))
        loom = Loom(self._spark).stream("trades", trades, time="ts", watermark="30 seconds")
        for number in self.living(0):
            loom.add(self.sql(number), name=f"q{number}")
        logged: list[int] = []

        def change(batch: BatchProgress) -> None:
            logged.append(batch.shards)
            if batch.number < BATCHES - 1:
                before, after = set(self.living(batch.number)), set(self.living(batch.number + 1))
                for number in sorted(before - after):
                    loom.remove(f"q{number}")
                for number in sorted(after - before):
                    loom.add(self.sql(number), name=f"q{number}")

        def streamed() -> Mapping[str, Rows]:
            running = loom.start(
                checkpoint=str(self._folder / way),
                sink="memory",
                fold_cells=True,
                send_records=WAYS[way],
                way="cells",
            )
            running.listen(change)
            running.process_all_available()
            running.stop()
            return {f"q{n}": _rows(running, f"q{n}") for n in range(len(self._lists))}

        with with_settings(self._spark, ONE_FILE_EACH):
            answers, what = shuffled_meanwhile(self._spark, streamed)
        assert len(logged) == BATCHES
        return Streamed(stream, way, what, sum(logged), answers)

    def expected(self) -> Mapping[str, Rows]:
        """The answers of a batch run, for the windows in which each query lived.

        Those of some queries are compared with what Spark says for them alone.
        """
        whole = self._spark.read.schema(SCHEMA).parquet(str(self._folder / "trades"))
        loom = Loom(self._spark).stream("trades", whole, time="ts")
        for number in range(len(self._lists)):
            loom.add(self.sql(number), name=f"q{number}")
        answers = loom.run(way="cells")
        for number in Random(0).sample(range(len(self._lists)), SAMPLE):
            alone = loom.alone(f"q{number}").toArrow().sort_by("window_start")
            together = answers.arrow(f"q{number}").sort_by("window_start")
            assert together.to_pylist() == alone.to_pylist()
        return {f"q{n}": self._lived(n, answers.arrow(f"q{n}")) for n in range(len(self._lists))}

    def _lived(self, number: int, answers: pa.Table) -> Rows:
        """The answers of a query that a stream gives: windows that begin and end while it lives.

        A newcomer begins after the latest row that was there before; a minute is complete after the
        batch that follows.
        """
        batches = [batch for batch in range(BATCHES) if number in self.living(batch)]
        first = START + batches[0] * MINUTE if batches[0] else 0
        starts = answers["window_start"].cast(pa.int64()).to_numpy()
        lived = (starts >= first) & (starts < START + batches[-1] * MINUTE)
        return answers.filter(pa.array(lived)).sort_by("window_start").to_pylist()

    def gain(self) -> float:
        """The part of the queries that need no record, by the rank of the fragments of batches."""
        gains: list[float] = []
        for batch in range(BATCHES):
            symbols = np.random.default_rng(0).permutation(self._size.symbols)[: self._known[batch]]
            lists = [self._lists[number] for number in self.living(batch)]
            matrix = np.array([[symbol in listed for listed in lists] for symbol in symbols])
            gains.append(1 - int(np.linalg.matrix_rank(matrix)) / len(lists))
        return float(np.mean(gains))


def _rows(running: Running, name: str) -> Rows:
    """The answers of a query; none if it came too late for a whole window."""
    try:
        return running.arrow(name).sort_by("window_start").to_pylist()
    except AnswerError:
        return []


def _lists(size: Size) -> Iterator[frozenset[int]]:
    """Lists of symbols: all of some sectors, or all of some countries."""
    random = Random(0)
    while True:
        by_sector = random.random() < 0.5
        groups = size.sectors if by_sector else size.countries
        chosen = set(random.sample(range(groups), random.randint(2, groups // 2)))
        place = [divmod(symbol, size.countries) for symbol in range(size.symbols)]
        yield frozenset(
            symbol
            for symbol, (sector, country) in enumerate(place)
            if (sector if by_sector else country) in chosen
        )


def _row(one: Streamed, cells: Streamed, *, is_right: bool) -> list[Cell]:
    shuffled = one.shuffled.records
    return [
        one.stream if one is cells else "",
        one.way,
        f"{shuffled:,}",
        f"{1 - shuffled / cells.shuffled.records:.1%}",
        f"{one.logged:,}",
        f"{1 - one.logged / cells.logged:.1%}",
        "yes" if is_right else "no",
    ]


def _targets(
    name: str, found: Sequence[Streamed], right: Sequence[bool], gain: float
) -> list[Target]:
    cells, records = found[0], found[1]
    saved = {
        "shuffled": 1 - records.shuffled.records / cells.shuffled.records,
        "logged": 1 - records.logged / cells.logged,
    }
    return [
        *(
            Target(
                f"{name}: {what} records saved",
                f">= {WANTED:g} x {gain:.1%}",
                f"{part:.1%}",
                part >= WANTED * gain,
            )
            for what, part in saved.items()
        ),
        Target(f"{name}: answers right", "all", f"{sum(right)} of {len(right)}", all(right)),
    ]
