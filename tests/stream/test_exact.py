"""Any batches, any changes of queries, a crash at any write: every answer once, and the right one.

The loop is fed by hand, so that a life costs no start of a stream, and the oracle is plain Python.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from gingham.checkpoint.files import Files
from gingham.checkpoint.lease import Lease
from gingham.checkpoint.log import Log
from gingham.optimizer import optimize
from gingham.optimizer.choose_ways import Way
from gingham.optimizer.cost import Cost
from gingham.plan.bound import BoundQuery
from gingham.plan.forest import FixedDecisions, Plan
from gingham.plan.row_statistics import RowStatistics
from gingham.session.sources import Sources
from gingham.sinks.answer import Answer, StoredAnswer
from gingham.sinks.delivery import Delivery
from gingham.stream.clock import Timing
from gingham.stream.exact import ExactWork
from gingham.stream.executor_shards import ExecutorShards, ShardFolder
from gingham.stream.growing_records import StreamRecords
from gingham.stream.loop import StreamLoop
from gingham.stream.planner import Job
from gingham.stream.settings import StreamSettings

SECOND = 1_000_000
ROWS = pa.schema([("ts", pa.timestamp("us", "UTC")), ("k", pa.string()), ("v", pa.int64())])


@dataclass(frozen=True)
class Counted:
    """How many rows have v > low, but for one, by key or not, in windows of so many seconds."""

    length: int
    slide: int
    low: int
    keyed: bool
    but: int

    def wants(self, value: int) -> bool:
        return value > self.low and value != self.but

    @property
    def sql(self) -> str:
        key, group = ("k, ", "k, ") if self.keyed else ("", "")
        return (
            f"SELECT {key}count(*) AS n, sum(v) AS s FROM t "
            f"WHERE v > {self.low} AND v <> {self.but} "
            f"GROUP BY {group}window(ts, '{self.length} seconds', '{self.slide} seconds')"
        )


Row = tuple[int | None, str | None, int]  # second, key, value


@dataclass(frozen=True)
class Life:
    """Batches; which queries run from which batch to which; at which writes the process dies.

    Queries fall into so many trees, and are woven anew when the rate changes by the tolerance. They
    go one of the `ways`, each new plan the next of these.
    """

    batches: list[list[Row]]
    queries: dict[str, tuple[Counted, int, int]]
    delay: int
    crashes: list[int]
    most: int
    trees: int
    tolerance: float
    fragments: bool
    ways: tuple[Way, ...] = ("cells",)
    records: StreamRecords = False


@st.composite
def lives(draw: st.DrawFn) -> Life:
    length = draw(st.integers(2, 5))
    batches: list[list[Row]] = []
    for number in range(length):
        second = st.integers(number * 4 - 3, number * 4 + 6) | st.none()
        row = st.tuples(second, st.sampled_from(["a", "b", None]), st.integers(0, 9))
        batches.append(draw(st.lists(row, min_size=number % 2, max_size=8)))
    queries = {
        f"q{i}": (
            Counted(
                *draw(st.sampled_from([(4, 4), (6, 2), (5, 3), (2, 2)])),
                draw(st.integers(0, 8)),
                draw(st.booleans()),
                draw(st.integers(4, 9)),
            ),
            draw(st.integers(0, length // 2)),
            draw(st.integers(length // 2 + 1, length)),
        )
        for i in range(draw(st.integers(1, 4)))
    }
    crashes = draw(st.lists(st.integers(1, 2 * length + 2), min_size=1, max_size=4))
    return Life(
        batches,
        queries,
        draw(st.integers(0, 2)),
        crashes,
        draw(st.sampled_from([10**6] * 4 + [0, 6])),
        draw(st.integers(1, 3)),
        draw(st.sampled_from([0.0, 2.0])),
        draw(st.booleans()),
        draw(st.sampled_from([("cells",), ("columns",), ("cells", "columns")])),
        draw(st.sampled_from([False, True, True, "static"])),
    )


class CrashError(Exception):
    """The process dies here."""


@dataclass
class Kept:
    """A sink that outlives crashes."""

    answers: dict[tuple[str, int], pa.Table] = field(default_factory=dict)

    def deliver(self, name: str, answer: Answer, number: int) -> None:
        table = answer.table()
        before = self.answers.setdefault((name, number), table)
        ordered = [
            ("window_start", "ascending"),
            *((c, "ascending") for c in table.column_names if c == "k"),
        ]
        assert before.sort_by(ordered).equals(table.sort_by(ordered)), (
            "delivered again, but changed"
        )


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(life=lives())
def test_every_answer_once(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, life: Life):
    times = count()

    def planted(
        stream: str,
        queries: Sequence[BoundQuery],
        cost: Cost | None = None,
        load: RowStatistics | None = None,
        fixed: FixedDecisions | None = None,
        trees: Mapping[str, int] | None = None,
        *,
        reweave: bool = False,
        way: Way = "auto",
    ) -> Plan:
        """Newcomers grow anywhere; grids that stand go where chance wants when woven anew."""
        stands, turn = fixed or FixedDecisions(), next(times)

        def tree(name: str) -> int:
            grid = stands.grid_of_query.get(name)
            if grid is None:
                return int(name[1:]) % life.trees
            return (grid + turn) % life.trees if reweave else stands.tree_of_grid[grid]

        trees = trees or {q.name: tree(q.name) for q in queries}
        way = life.ways[turn % len(life.ways)]
        return optimize(stream, queries, cost, load, fixed, trees, way=way)

    kept, crashes = Kept(), iter(life.crashes)
    with tempfile.TemporaryDirectory() as folder:
        number = 0
        while number < len(life.batches):
            nth = next(crashes, None)
            with dying(monkeypatch, nth, after=nth is not None and nth % 2 == 0):
                try:
                    number = live(spark, life, folder, kept, number, planted)
                except CrashError:
                    continue
    assert_all_once(kept, life)


def steady(number: int) -> list[Row]:
    """A batch of some rows, in every second one of which a row has no time."""
    rows: list[Row] = [(4 * number + i, "abc"[i % 3], (number + i) % 10) for i in range(5)]
    return [*rows, (None, "a", 1)] if number % 2 else rows


STEADY = Life(
    batches=[steady(number) for number in range(6)],
    queries={
        "q0": (Counted(4, 4, 1, keyed=True, but=4), 0, 6),
        "q1": (Counted(6, 2, 3, keyed=False, but=5), 0, 6),
        "q2": (Counted(5, 3, 0, keyed=True, but=9), 2, 4),
    },
    delay=1,
    crashes=[],
    most=10**6,
    trees=2,
    tolerance=2.0,
    fragments=False,
)
CRASHES = int(os.environ.get("GINGHAM_CRASHES", "1"))  # for each place of the shards


@pytest.mark.parametrize("records", [False, True], ids=["shards", "records"])
@pytest.mark.parametrize("most", [10**6, 0], ids=["near", "far"])
def test_a_crash_at_any_write(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, most: int, *, records: bool
):
    life = replace(STEADY, most=most, records=records)
    writes = crashed_at(spark, monkeypatch, life, None, after=False)
    points = [(nth, after) for nth in range(1, writes + 1) for after in (False, True)]
    step = max(1, len(points) // CRASHES)
    for nth, after in points[step // 2 :: step][:CRASHES]:
        crashed_at(spark, monkeypatch, life, nth, after=after)


def crashed_at(
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    life: Life,
    nth: int | None,
    *,
    after: bool,
) -> int:
    """Die at or after the nth write of a life, and go on; gives the number of writes."""
    kept = Kept()
    with tempfile.TemporaryDirectory() as folder:
        with dying(monkeypatch, nth, after=after) as written:
            try:
                live(spark, life, folder, kept, 0, optimize)
            except CrashError:
                assert nth is not None
            else:
                assert nth is None
        # Spark would hand over batches again that are in the log already.
        live(spark, life, folder, kept, 0, optimize)
    assert_all_once(kept, life)
    return written()


def assert_all_once(kept: Kept, life: Life) -> None:
    """Every answer of a life was delivered once, and no other."""
    found = {
        (name, row["window_start"], row.get("k"), row["n"], row["s"])
        for (name, _), table in kept.answers.items()
        for row in table.set_column(
            0, "window_start", table["window_start"].cast(pa.int64())
        ).to_pylist()
    }
    assert sum(table.num_rows for table in kept.answers.values()) == len(found)
    assert found == set(expected(life))


def live(
    spark: SparkSession,
    life: Life,
    folder: str,
    kept: Kept,
    number: int,
    optimizer: Callable[..., Plan],
) -> int:
    """One process: it goes on with the batch that was not finished, or was, but nobody knows."""
    table = pa.Table.from_pylist([], ROWS)
    sources = Sources(spark)
    sources.add_stream("t", spark.createDataFrame(table), "ts", None)
    bound = {name: sources.bind(q.sql, name) for name, (q, _, _) in life.queries.items()}
    alive: list[str] = []
    job = Job(
        spark,
        "t",
        "ts",
        Timing(life.delay * SECOND),
        sources.lookups,
        lambda: [bound[name] for name in alive],
        sources.bind,
        life.most,
        fold_cells=life.fragments or bool(life.records),
        send_records=life.records,
        optimize=optimizer,
    )
    settings = StreamSettings(  # snapshots often
        snapshot_every=2, rate_batches=2, rate_tolerance=life.tolerance
    )
    files = Files(folder)
    lease = Lease.take(files.within("lease"))
    log, delivery = Log(files, lease), Delivery(kept, files, lease)
    shards = ExecutorShards(spark, files.within("executors"), lease)
    work = ExactWork(job, log, delivery, shards, settings)
    loop = StreamLoop(["t"], work, log, delivery, [], settings)
    loop.recover()
    while number < len(life.batches):
        alive[:] = [n for n, (_, born, died) in life.queries.items() if born <= number < died]
        rows = [
            {"ts": None if second is None else second * SECOND, "k": k, "v": v}
            for second, k, v in life.batches[number]
        ]
        loop.batch("t", spark.createDataFrame(pa.Table.from_pylist(rows, ROWS)), number)
        number += 1
        loop.progress()
    return number


@contextmanager
def dying(
    monkeypatch: pytest.MonkeyPatch, nth: int | None, *, after: bool
) -> Generator[Callable[[], int]]:
    """Die instead of the nth write of the driver or of executors, or just after it."""
    written = 0

    @contextmanager
    def write() -> Generator[None]:
        nonlocal written
        written += 1
        own = written
        if own == nth and not after:
            raise CrashError
        yield
        if own == nth:
            raise CrashError

    @contextmanager
    def opened(self: Files, name: str, *, once: bool = False) -> Generator[Any]:
        with write(), _opened(self, name, once=once) as stream:
            yield stream

    def shards_written(self: ExecutorShards, folder: str, shards: DataFrame) -> ShardFolder:
        with write():
            return _shards_written(self, folder, shards)

    def answer_written(files: Files, folder: str, answer: DataFrame) -> StoredAnswer:
        with write():
            return _answer_written(files, folder, answer)

    with monkeypatch.context() as patch:
        patch.setattr(Files, "opened", opened)
        patch.setattr(ExecutorShards, "_written", shards_written)
        patch.setattr(StoredAnswer, "written", answer_written)
        yield lambda: written


_opened, _answer_written = Files.opened, StoredAnswer.written
_shards_written = ExecutorShards._written  # pyright: ignore[reportPrivateUsage]


def expected(life: Life) -> Iterator[tuple[str, int, str | None, int, int]]:
    """Windows in the batch whose watermark passes their end, over the rows up to that batch."""
    seen: list[Row] = []
    latest: list[int | None] = [None]
    for rows in life.batches:
        times = [r[0] for r in rows if r[0] is not None]
        latest.append(max([*times, *(x for x in latest[-1:] if x is not None)], default=None))
    for number, rows in enumerate(life.batches):
        seen += rows
        before, after = latest[number], latest[number + 1]
        for name, (query, born, died) in life.queries.items():
            if born <= number < died and after is not None:
                yield from _closed(name, query, seen, before, after, latest[born], life.delay)


def _closed(
    name: str,
    query: Counted,
    seen: list[Row],
    before: int | None,
    after: int,
    since: int | None,
    delay: int,
) -> Iterator[tuple[str, int, str | None, int, int]]:
    starts = {
        start
        for second, _, v in seen
        if second is not None and query.wants(v)
        for start in range(second - query.length + 1, second + 1)
        if start % query.slide == 0
    }
    for start in starts:
        end = start + query.length
        if end > after - delay or (before is not None and end <= before - delay):
            continue
        if since is not None and start <= since:
            continue
        inside = [
            (k if query.keyed else None, v)
            for second, k, v in seen
            if second is not None and start <= second < end and query.wants(v)
        ]
        for key in {k for k, _ in inside}:
            values = [v for k, v in inside if k == key]
            yield name, start * SECOND, key, len(values), sum(values)
