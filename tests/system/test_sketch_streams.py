"""Joined streams: estimates are those of the batch run, each window once, whatever breaks."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from gingham import (
    BatchProgress,
    CatalogError,
    CheckpointError,
    Estimator,
    Loom,
    QueryError,
    Running,
    StreamSettings,
)
from gingham.checkpoint.files import Files
from gingham.estimates.planning.drop_queries import drop_queries
from gingham.estimates.planning.sketch_table import SketchTable
from tests.batch_estimates import batch_estimates, rows_of
from tests.replay import random_trades, replayed, write_batches

QUERIES = {
    "pairs": """SELECT count(*) FROM trades t, quotes q WHERE t.symbol = q.symbol
        GROUP BY window(ts, '10 seconds')""",
    "volume": """SELECT sum(t.vol) FROM trades t, quotes q, listing l
        WHERE t.symbol = q.symbol AND q.symbol = l.symbol AND q.vol > 5
        GROUP BY window(ts, '20 seconds', '10 seconds')""",
}
LATER = """SELECT count(*) FROM trades a, trades b WHERE a.vol = b.vol
    GROUP BY window(ts, '10 seconds')"""
# The same join as that of "pairs": its sketches serve it.
TWIN = """SELECT count(*) FROM quotes, trades WHERE trades.symbol = quotes.symbol
    GROUP BY window(ts, '10 seconds')"""
BATCHES = 5


@pytest.fixture
def batches(tmp_path: Path) -> dict[str, list[pa.Table]]:
    rng = np.random.default_rng(5)
    made = {name: random_trades(rng, BATCHES, 60) for name in ("trades", "quotes")}
    for name, tables in made.items():
        write_batches(tmp_path / name, tables)
    return made


def _sketches(spark: SparkSession, frames, *, budget: int = 300) -> Estimator:
    loom = Loom(spark)
    for name, rows in frames.items():
        loom.stream(name, rows, time="ts", watermark="4 seconds")
    listing = spark.createDataFrame([("A", 1), ("B", 2), (None, 3)], "symbol string, n int")
    loom.table("listing", listing, key="symbol")
    sketches = loom.sketch(budget=budget)
    for name, sql in QUERIES.items():
        sketches.add(sql, name=name)
    return sketches


def _streaming(spark: SparkSession, folder: Path) -> Estimator:
    return _sketches(spark, {n: replayed(spark, folder / n) for n in ("trades", "quotes")})


def _expected(spark: SparkSession, batches, name: str, found: Sequence[dict] = ()) -> list[dict]:
    """The answers of the batch run, up to where both streams have come.

    If one stream is ahead, copies are dropped: then from as many words as answers were found from.
    """
    whole = {n: pa.concat_tables(tables) for n, tables in batches.items()}
    latest = [max(t["ts"].cast(pa.int64()).to_pylist()) for t in whole.values()]
    frames = {n: spark.createDataFrame(table) for n, table in whole.items()}
    estimates = batch_estimates(_sketches(spark, frames), name, found)
    return [row for row in estimates if row["window_end"] <= min(latest) - 4_000_000]


def _read(folder: Path, name: str) -> list[dict]:
    return rows_of(pa.concat_tables([pq.read_table(f) for f in sorted((folder / name).iterdir())]))


def test_a_stream_estimates_what_the_batch_run_estimates(
    spark: SparkSession, tmp_path: Path, batches
):
    sketches = _streaming(spark, tmp_path)
    often = StreamSettings(snapshot_every=5)
    running = sketches.start(checkpoint=str(tmp_path / "state"), sink="memory", settings=often)
    running.process_all_available()
    running.stop()
    assert not running.failed()
    for name in QUERIES:
        found = rows_of(running.arrow(name))
        assert len(found) >= 2
        assert found == _expected(spark, batches, name, found)


def test_running_estimates_show_their_progress_and_end_in_time(
    spark: SparkSession, tmp_path: Path, batches
):
    done: list[BatchProgress] = []
    sketches = _streaming(spark, tmp_path)
    running = sketches.start(checkpoint=str(tmp_path / "state"), sink="memory")
    running.listen(done.append)
    assert not running.await_termination(timeout=0.01)
    running.process_all_available()
    running.stop()
    progress = running.progress()
    assert set(progress) == {"trades", "quotes"}
    for stream, of in progress.items():
        assert of.batches == len(batches[stream])
        assert of.rows + of.timeless == sum(batch.num_rows for batch in batches[stream])
        assert of.last is not None
        assert of.last.queries == len(QUERIES)
    for name in QUERIES:
        assert progress["trades"].queries[name].windows == running.arrow(name).num_rows
    assert done
    assert {batch.stream for batch in done} <= {"trades", "quotes"}


class _DiedError(Exception):
    """A write that never happens."""


@contextmanager
def _dying(kind: str, nth: int) -> Generator[None]:
    """Fail at the nth write of a kind, and at every write after it."""
    opened, seen = Files.opened, [0]

    @contextmanager
    def counted(self: Files, name: str, *, once: bool = False) -> Generator[pa.NativeFile]:
        seen[0] += Path(self.root).name == kind or seen[0] >= nth
        if seen[0] >= nth:
            raise _DiedError
        with opened(self, name, once=once) as stream:
            yield stream

    Files.opened = counted
    try:
        yield
    finally:
        Files.opened = opened


@pytest.mark.parametrize(
    ("kind", "nth"),
    [("epochs", 1), ("log", 3), ("done", 4), ("snapshot", 1), ("pairs", 1)],
)
def test_whatever_dies_each_window_is_answered_once(
    spark: SparkSession, tmp_path: Path, batches, kind: str, nth: int
):
    often = StreamSettings(snapshot_every=4)
    state, sink = str(tmp_path / "state"), str(tmp_path / "answers")
    with _dying(kind, nth):
        running = _streaming(spark, tmp_path).start(checkpoint=state, sink=sink, settings=often)
        with pytest.raises(Exception):  # noqa: B017, PT011  (whatever Spark makes of it)
            running.process_all_available()
        running.stop()
    running = _streaming(spark, tmp_path).start(checkpoint=state, sink=sink, settings=often)
    running.process_all_available()
    running.stop()
    for name in QUERIES:
        found = _read(tmp_path / "answers", name)
        assert found == _expected(spark, batches, name, found)


def test_queries_come_and_go_while_streams_run(spark: SparkSession, tmp_path: Path, batches):
    sketches = _streaming(spark, tmp_path)
    running = sketches.start(checkpoint=str(tmp_path / "state"), sink="memory")
    running.process_all_available()
    seen = max(t["ts"].cast(pa.int64()).to_pylist()[-1] for t in batches["trades"])
    sketches.add(LATER, name="later")
    sketches.add(TWIN, name="twin")
    sketches.remove("volume")
    before = {name: len(rows_of(running.arrow(name))) for name in QUERIES}
    _write_more(tmp_path, batches, 6)
    running.process_all_available()
    running.stop()
    later = rows_of(running.arrow("later"))
    assert len(later) >= 2
    assert all(row["window_start"] > seen - 4_000_000 for row in later)
    assert len(rows_of(running.arrow("volume"))) == before["volume"]
    # The windows of a query that stays are all there, across the change of plan.
    found = rows_of(running.arrow("pairs"))
    expected = _expected(spark, batches, "pairs", found[:2])
    bounds = [[(r["window_start"], r["window_end"]) for r in rows] for rows in (found, expected)]
    assert bounds[0] == bounds[1]
    # And the plan of before answers its windows as if nothing had changed.
    assert found[:2] == expected[:2]
    # A new query that finds all its sketches answers every window that was open.
    twin = rows_of(running.arrow("twin"))
    assert twin == found[before["pairs"] :]
    assert twin[0]["window_start"] < seen < later[0]["window_start"]


def _write_more(folder: Path, batches: dict[str, list[pa.Table]], count: int) -> None:
    """Further batches, later than those that are there."""
    rng = np.random.default_rng(6)
    for name, tables in batches.items():
        for table in random_trades(rng, len(tables) + count, 60)[len(tables) :]:
            write_batches(folder / name, [table], first=len(tables))
            tables.append(table)


def test_a_new_query_goes_on_with_the_sketches_of_others_after_a_restart(
    spark: SparkSession, tmp_path: Path, batches
):
    def start(sketches: Estimator) -> Running:
        return sketches.start(checkpoint=str(tmp_path / "state"), sink=str(tmp_path / "answers"))

    sketches = _streaming(spark, tmp_path)
    running = start(sketches)
    running.process_all_available()
    seen = max(batches["trades"][-1]["ts"].cast(pa.int64()).to_pylist())
    sketches.add(TWIN, name="twin")
    _write_more(tmp_path, batches, 1)
    running.process_all_available()
    running.stop()
    assert not (tmp_path / "answers" / "twin").exists()
    sketches = _streaming(spark, tmp_path)
    sketches.add(TWIN, name="twin")
    running = start(sketches)
    _write_more(tmp_path, batches, 3)
    running.process_all_available()
    running.stop()
    twin, pairs = (_read(tmp_path / "answers", name) for name in ("twin", "pairs"))
    assert twin == pairs[-len(twin) :]
    assert twin[0]["window_start"] < seen


# Where a volume is zero this raises.
RAISES = """SELECT sum(6 DIV t.vol) FROM trades t, quotes q
    WHERE t.symbol = q.symbol AND 6 DIV q.vol > 1 GROUP BY window(ts, '10 seconds')"""


def test_a_query_that_raises_takes_nobody_with_it(spark: SparkSession, tmp_path: Path, batches):
    state, sink = str(tmp_path / "state"), str(tmp_path / "answers")
    sketches = _streaming(spark, tmp_path)
    sketches.add(RAISES, name="raises")
    running = sketches.start(checkpoint=state, sink=sink)
    running.process_all_available()
    running.stop()
    assert "zero" in str(running.failed()["raises"])
    # The checkpoint goes on without it.
    running = _streaming(spark, tmp_path).start(checkpoint=state, sink=sink)
    _write_more(tmp_path, batches, 2)
    running.process_all_available()
    running.stop()
    assert not running.failed()
    for name in QUERIES:
        found, expected = _read(tmp_path / "answers", name), _expected(spark, batches, name)
        assert [r["window_start"] for r in found] == [r["window_start"] for r in expected]
    assert not (tmp_path / "answers" / "raises").exists()


@pytest.mark.parametrize("same_session", [True, False])
def test_a_query_whose_function_is_gone_is_set_aside_and_can_be_removed(
    spark: SparkSession,
    tmp_path: Path,
    batches,
    same_session: bool,  # noqa: FBT001
):
    state, sink = str(tmp_path / "state"), str(tmp_path / "answers")
    spark.udf.register("twice", lambda vol: 2 * (vol or 0), "int")
    twice = """SELECT sum(twice(t.vol)) FROM trades t, quotes q
        WHERE t.symbol = q.symbol AND twice(q.vol) > 10 GROUP BY window(ts, '10 seconds')"""
    sketches = _streaming(spark, tmp_path)
    sketches.add(twice, name="twice")
    running = sketches.start(checkpoint=state, sink=sink)
    running.process_all_available()
    running.stop()
    assert not running.failed()
    before = len(_read(tmp_path / "answers", "twice"))
    spark.sql("DROP TEMPORARY FUNCTION twice")
    if not same_session:
        sketches = _streaming(spark, tmp_path)
    running = sketches.start(checkpoint=state, sink=sink)
    _write_more(tmp_path, batches, 2)
    running.process_all_available()
    assert "'twice' of the checkpoint is set aside" in str(running.failed()["twice"])
    with pytest.raises(QueryError, match="two queries named 'twice'"):
        sketches.add(TWIN, name="twice")
    sketches.remove("twice")
    assert sketches.queries == tuple(QUERIES)
    _write_more(tmp_path, batches, 1)
    running.process_all_available()
    running.stop()
    assert not running.failed()
    # The others answer every window, those that were open at the restart, too.
    for name in QUERIES:
        found, expected = _read(tmp_path / "answers", name), _expected(spark, batches, name)
        assert [r["window_start"] for r in found] == [r["window_start"] for r in expected]
    assert len(_read(tmp_path / "answers", "twice")) == before


def test_sketches_without_a_query_are_what_they_were_with_it(spark: SparkSession, batches):
    rows = {
        n: spark.createDataFrame(pa.concat_tables(t)).where("vol > 0") for n, t in batches.items()
    }
    sketches = _sketches(spark, rows)
    sketches.add(RAISES, name="raises")
    plan, session = sketches.plan(), sketches._session
    left, gone = drop_queries(plan, {"raises"})
    assert not gone
    assert len(left.sharing.vertices) < len(plan.sharing.vertices)
    with_it, without_it = (SketchTable(session.sketch(p, rows), plan.sharing) for p in (plan, left))
    for vertex in left.sharing.vertices:
        before, after = with_it.of(vertex.number), without_it.of(vertex.number)
        assert before.instants.tolist() == after.instants.tolist()
        assert before.counters.tolist() == after.counters.tolist()


def test_a_checkpoint_of_another_budget_is_refused(spark: SparkSession, tmp_path: Path, batches):
    state = str(tmp_path / "state")
    running = _streaming(spark, tmp_path).start(checkpoint=state, sink="memory")
    running.process_all_available()
    running.stop()
    frames = {n: replayed(spark, tmp_path / n) for n in batches}
    with pytest.raises(CheckpointError, match="of another plan"):
        _sketches(spark, frames, budget=200).start(checkpoint=state, sink="memory")


def test_a_loom_and_its_sketches_share_a_checkpoint(spark: SparkSession, tmp_path: Path, batches):
    loom = Loom(spark)
    for name in batches:
        loom.stream(name, replayed(spark, tmp_path / name), time="ts", watermark="4 seconds")
    loom.add("SELECT count(*) FROM trades GROUP BY window(ts, '10 seconds')", name="trades")
    sketches = loom.sketch(budget=300)
    sketches.add(QUERIES["pairs"], name="pairs")
    state = str(tmp_path / "state")
    runs = [start(checkpoint=state, sink="memory") for start in (loom.start, sketches.start)]
    for running in runs:
        running.process_all_available()
        running.stop()
    # Neither skips what the other has read.
    windows = {row["window_start"] for row in _expected(spark, batches, "pairs")}
    for running, name in zip(runs, ("trades", "pairs"), strict=True):
        assert windows <= {row["window_start"] for row in rows_of(running.arrow(name))}


def test_what_cannot_be_streamed_is_refused(spark: SparkSession, tmp_path: Path, batches):
    state = str(tmp_path / "state")
    sketches = _streaming(spark, tmp_path)
    sketches.add("SELECT count(*) FROM trades t, quotes q WHERE t.vol = q.vol", name="endless")
    with pytest.raises(QueryError, match="'endless': no window"):
        sketches.start(checkpoint=state, sink="memory")
    static = _sketches(spark, {n: spark.createDataFrame(t[0]) for n, t in batches.items()})
    with pytest.raises(CatalogError, match="trades is a static DataFrame"):
        static.start(checkpoint=state, sink="memory")
