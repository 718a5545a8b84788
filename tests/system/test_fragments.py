"""What is sent between partitions, and what comes out of it."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from gingham import AnswerError, BatchProgress, GinghamError, Loom
from gingham.core.arrays import Ints
from gingham.core.errors import FragmentError
from gingham.optimizer.cost import Cost
from gingham.session.batch import BatchSession
from gingham.stream.growing_records import StreamRecords
from tests.replay import random_trades, replayed, write_batches

WINDOW = "GROUP BY window(ts, '10 seconds')"
NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)

# Huebsch et al., Section 2.1: five predicates, and the five kinds of packets that are seen.
PREDICATES = (
    "nodns",
    "suspicious",
    "nodns OR suspicious",
    "spam",
    "spam AND suspicious",
)
PACKETS = {  # (nodns, suspicious, spam): how many
    (True, False, False): 23,
    (False, True, False): 43,
    (False, False, True): 18,
    (True, False, True): 109,
    (False, True, True): 13,
}


@pytest.fixture
def packets(spark: SparkSession) -> Loom:
    return _packets(spark, Cost())


def _packets(spark: SparkSession, cost: Cost) -> Loom:
    rows = [(NOON, *flags) for flags, count in PACKETS.items() for _ in range(count)]
    schema = "ts timestamp, nodns boolean, suspicious boolean, spam boolean"
    loom = Loom(spark, cost=cost)
    loom.stream("packets", spark.createDataFrame(rows, schema), time="ts")
    for place, predicate in enumerate(PREDICATES, 1):
        loom.add(f"SELECT count(*) AS n FROM packets WHERE {predicate} {WINDOW}", name=f"q{place}")
    return loom


def test_five_counts_from_four_records(packets: Loom):
    answers = packets.run(send_records=True)
    found = [answers.arrow(name)["n"].to_pylist() for name in packets.queries]
    assert found == [[132], [56], [188], [140], [13]]
    assert answers.statistics.shards == 4
    assert "5 queries, 5 fragments in 4 linear records, gain 20%" in packets.explain()


def test_static_records_need_no_job_before(packets: Loom, spark: SparkSession):
    def no_job(*_: object) -> Ints:
        pytest.fail("rows were looked at before records were chosen")

    packets._batch = BatchSession(spark, packets._sources, Cost(), no_job)
    answers = packets.run(send_records="static")
    found = [answers.arrow(name)["n"].to_pylist() for name in packets.queries]
    assert found == [[132], [56], [188], [140], [13]]
    # Seven of eight combinations of flags may occur for some query; the five queries have rank 5.
    assert "5 queries, 7 fragments in 5 linear records, gain 0%" in packets.explain()


def test_a_window_without_rows_of_a_query_gives_no_row(packets: Loom):
    packets.add(
        f"SELECT count(*) AS n FROM packets WHERE nodns AND suspicious {WINDOW}", name="none"
    )
    assert packets.run(send_records=True).arrow("none").num_rows == 0


@pytest.mark.parametrize(("cost", "records"), [(Cost(), False), (Cost(shard=1.0), True)])
def test_auto_sends_records_where_shards_cost_much(
    spark: SparkSession, cost: Cost, *, records: bool
):
    answers = _packets(spark, cost).run(send_records="auto", way="cells")
    assert bool(answers.statistics.fragments) == records
    assert answers.arrow("q3")["n"].to_pylist() == [188]


def test_what_cannot_be_subtracted_is_only_merged(spark: SparkSession):
    nan, inf = float("nan"), float("inf")
    rows = spark.createDataFrame(
        [(NOON, 0, 1e300, 1), (NOON, 1, nan, None), (NOON, 2, inf, 2), (NOON, 3, 1e-9, None)],
        "ts timestamp, part int, x double, v int",
    )
    loom = Loom(spark).stream("s", rows, time="ts")
    parts = {"a": "0, 3", "b": "1, 2", "c": "0, 2", "d": "1, 3", "e": "0, 1, 2, 3", "f": "3"}
    for name, listed in parts.items():
        loom.add(
            "SELECT sum(x) AS x, avg(x) AS mean, sum(v) AS v, var_samp(v) AS var, count(v) AS n "
            f"FROM s WHERE part IN ({listed}) {WINDOW}",
            name=name,
        )
    answers = loom.run(send_records=True)
    for name in parts:
        # As text, since NaN is not equal to itself.
        alone = loom.alone(name).toArrow().to_pylist()
        assert str(answers.arrow(name).to_pylist()) == str(alone)


def test_long_integers_and_decimals_stay_exact(spark: SparkSession):
    large, cents = 9_007_199_254_740_993, Decimal("12345678901234567.89")
    rows = spark.createDataFrame(
        [(NOON, part, large + part, cents + part) for part in range(4)],
        "ts timestamp, part int, v bigint, d decimal(19,2)",
    )
    loom = Loom(spark).stream("s", rows, time="ts")
    for name, listed in {
        "a": "0, 3",
        "b": "1, 2",
        "c": "0, 2",
        "d": "1, 3",
        "e": "0, 1, 2, 3",
    }.items():
        loom.add(
            "SELECT sum(v) AS v, sum(d) AS d, avg(d) AS mean "
            f"FROM s WHERE part IN ({listed}) {WINDOW}",
            name=name,
        )
    answers = loom.run(send_records=True)
    assert answers.statistics.shards == 3
    for name in loom.queries:
        assert answers.arrow(name).to_pylist() == loom.alone(name).toArrow().to_pylist()


@pytest.mark.parametrize("fragments", [True, False])
def test_a_sum_that_overflows_takes_nobody_down(spark: SparkSession, *, fragments: bool):
    most = Decimal(10**38 - 1)
    rows = spark.createDataFrame(
        [(NOON, part, most) for part in range(2)], "ts timestamp, part int, d decimal(38,0)"
    )
    loom = Loom(spark).stream("s", rows, time="ts")
    loom.add(f"SELECT sum(d) AS d FROM s WHERE part IN (0, 1) {WINDOW}", name="both")
    loom.add(f"SELECT max(part) AS d FROM s {WINDOW}", name="other")
    answers = loom.run(send_records=fragments)
    assert answers.arrow("other")["d"].to_pylist() == [1]
    assert set(answers.failed()) == {"both"}


def test_a_sum_that_overflows_in_one_shard_is_no_smaller_sum(spark: SparkSession):
    most = Decimal(10**38 - 1)
    rows = spark.createDataFrame(
        [(NOON, most), (NOON, most), (NOON + timedelta(seconds=30), Decimal(1))],
        "ts timestamp, d decimal(38,0)",
    )
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        loom = Loom(spark).stream("s", rows, time="ts")
        loom.add("SELECT sum(d) AS d FROM s GROUP BY window(ts, '1 minute')", name="long")
        loom.add(f"SELECT sum(d) AS d FROM s {WINDOW}", name="short")
        answers = loom.run()
        assert answers.arrow("long")["d"].to_pylist() == [None]
        assert answers.arrow("short")["d"].to_pylist() == [None, Decimal(1)]
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")


def test_a_wish_that_is_none_is_refused(packets: Loom):
    with pytest.raises(FragmentError, match="send_records='yes'"):
        packets.run(send_records="yes")  # pyright: ignore[reportArgumentType]


def test_the_old_name_of_both_options_is_refused_with_the_new_one(packets: Loom, tmp_path: Path):
    with pytest.raises(GinghamError, match="send_records=True"):
        packets.run(fragments=True)
    with pytest.raises(GinghamError, match="fold_cells=True"):
        packets.start(checkpoint=str(tmp_path / "c"), sink="memory", fragments=True)
    with pytest.raises(TypeError, match="fragment"):
        packets.run(fragment=True)
    assert not (tmp_path / "c").exists()


Rows = list[dict[str, object]]
LISTS = {"a": "1, 2, 3, 9", "b": "2, 3, 4, 10", "c": "1, 4, 9, 10", "later": "3, 5, 11"}


def test_a_stream_of_other_fragments_in_every_batch(spark: SparkSession, tmp_path: Path):
    batches = [
        batch.filter(pa.array([vol is not None and vol % 8 == number for vol in _volumes(batch)]))
        for number, batch in enumerate(random_trades(np.random.default_rng(3), 8, 60))
    ]
    write_batches(tmp_path / "trades", batches)
    found, shards = _streamed(spark, tmp_path, fragments=True)
    cells, many_shards = _streamed(spark, tmp_path, fragments=False)
    records, _ = _streamed(spark, tmp_path, fragments=True, send=True)
    loom = Loom(spark).stream("trades", spark.createDataFrame(pa.concat_tables(batches)), time="ts")
    for name in LISTS:
        loom.add(_listed(name), name=name)
    answers = loom.run()
    for name in LISTS:
        whole = answers.arrow(name).to_pylist()
        assert found[name] == cells[name] == records[name]
        assert found[name]
        assert all(row in whole for row in found[name])
        # What was one shard for the others is not taken apart for it.
        assert all(row in whole for row in found[f"{name} again"])
        assert records[f"{name} again"] == found[f"{name} again"]
    assert shards < many_shards


def _volumes(batch: pa.Table) -> list[int | None]:
    return batch["vol"].to_pylist()


def _streamed(
    spark: SparkSession, folder: Path, *, fragments: bool, send: StreamRecords = False
) -> tuple[dict[str, Rows], int]:
    """The answers of a stream whose queries come and go, and how many shards it had in all."""
    rows = replayed(spark, folder / "trades")
    loom = Loom(spark).stream("trades", rows, time="ts", watermark="4 seconds")
    for name in "abc":
        loom.add(_listed(name), name=name)
    shards: list[int] = []

    def change(batch: BatchProgress) -> None:
        shards.append(batch.shards)
        if batch.number == 2:
            loom.remove("b")
            loom.add(_listed("later"), name="later")
        if batch.number == 3:
            for name in LISTS:
                loom.add(_listed(name), name=f"{name} again", backfill=True)

    running = loom.start(
        checkpoint=str(folder / f"c{fragments}{send}"),
        sink="memory",
        fold_cells=fragments and not send,  # records are of folded cells anyway
        send_records=send,
    )
    running.listen(change)
    running.process_all_available()
    assert (" fragments" in loom.explain()) == fragments
    assert ("  sent are " in loom.explain()) == bool(send)
    running.stop()
    names = [*LISTS, *(f"{name} again" for name in LISTS)]
    return {n: running.arrow(n).sort_by("window_start").to_pylist() for n in names}, sum(shards)


def test_windows_of_rows_have_records_in_batch_runs_and_none_in_streams(
    spark: SparkSession, tmp_path: Path
):
    batches = random_trades(np.random.default_rng(4), 3, 60)
    write_batches(tmp_path / "trades", batches)
    by_rows = {
        name: f"SELECT count(*) AS n FROM trades [ROWS 40 SLIDE 20] WHERE vol IN ({listed})"
        for name, listed in LISTS.items()
    }
    static = spark.createDataFrame(pa.concat_tables(batches))
    loom = Loom(spark).stream("trades", static, time="ts")
    for name, sql in by_rows.items():
        loom.add(sql, name=name)
    plain, records = loom.run(), loom.run(send_records=True)
    assert "records" in loom.explain()
    for name in by_rows:
        expected = plain.arrow(name).sort_by("window_start").to_pylist()
        assert records.arrow(name).sort_by("window_start").to_pylist() == expected
        assert expected

    loom = Loom(spark).stream(
        "trades", replayed(spark, tmp_path / "trades"), time="ts", watermark="4 seconds"
    )
    loom.add(by_rows["a"], name="rows")
    checkpoint = str(tmp_path / "c")
    with pytest.raises(FragmentError, match=r"\[ROWS \.\.\.\] in a stream with send_records"):
        loom.start(checkpoint=checkpoint, sink="memory", send_records=True)
    loom.remove("rows")
    loom.add(_listed("a"), name="a")
    running = loom.start(checkpoint=checkpoint, sink="memory", send_records=True)
    try:
        with pytest.raises(FragmentError, match="without send_records"):
            loom.add(by_rows["b"], name="rows")
        assert list(loom.queries) == ["a"]
    finally:
        running.stop()


# Volumes in four rows and five columns: a list has the whole of some rows, or of some columns.
IN_ROW = [{v for v in range(20) if v // 5 == row} for row in range(4)]
IN_COLUMN = [{v for v in range(20) if v % 5 == column} for column in range(5)]
UNIONS = [
    *(IN_ROW[0] | IN_ROW[i] for i in (1, 2, 3)),
    *(IN_COLUMN[0] | IN_COLUMN[i] for i in (1, 2, 3, 4)),
]
NEWCOMERS = [IN_COLUMN[1] | IN_COLUMN[2], IN_ROW[1] | IN_ROW[2]]
TEXTS = {
    f"q{number}": "SELECT count(*) AS n, sum(vol) AS v FROM trades WHERE vol IN "
    f"({', '.join(map(str, sorted(listed)))}) GROUP BY window(ts, '10 seconds', '5 seconds')"
    for number, listed in enumerate([*IN_ROW, *IN_COLUMN, *UNIONS, *NEWCOMERS])
}


def test_lists_of_a_stream_need_as_many_records_as_their_rank(spark: SparkSession, tmp_path: Path):
    batches = random_trades(np.random.default_rng(5), 8, 300)
    found, records = _restarted(spark, tmp_path / "records", batches, send=True)
    as_cells, shards = _restarted(spark, tmp_path / "cells", batches, send=False)
    assert found == as_cells
    rows = spark.createDataFrame(pa.concat_tables(batches))
    loom = Loom(spark).stream("trades", rows, time="ts")
    for name in ("q0", "q8", "q9", "q15", "q16", "q17"):
        loom.add(TEXTS[name], name=name)
        alone = loom.alone(name).toArrow().to_pylist()
        assert found[name]
        assert all(row in alone for row in found[name])
    # Sixteen queries of rank eight, over twenty fragments.
    assert 1 - records / shards >= 0.8 * (16 - 8) / 16


def _restarted(
    spark: SparkSession, folder: Path, batches: list[pa.Table], *, send: bool
) -> tuple[dict[str, Rows], int]:
    """The answers of a stream that is started twice, and how many shards or records it had.

    A query leaves and another joins after the third batch, and one more at the second start.
    """
    found: dict[str, Rows] = {name: [] for name in TEXTS}
    shards: list[int] = []
    for part, names in ((batches[:4], list(TEXTS)[:16]), (batches[4:], ["q17"])):
        write_batches(folder / "trades", part, first=len(shards))
        rows = replayed(spark, folder / "trades")
        loom = Loom(spark).stream("trades", rows, time="ts", watermark="4 seconds")
        for name in names:
            loom.add(TEXTS[name], name=name)

        def change(batch: BatchProgress, loom: Loom = loom) -> None:
            shards.append(batch.shards)
            if batch.number == 2:
                loom.remove("q15")
                loom.add(TEXTS["q16"], name="q16")

        running = loom.start(
            checkpoint=str(folder / "c"),
            sink="memory",
            fold_cells=True,
            send_records=send,
            way="cells",
        )
        running.listen(change)
        running.process_all_available()
        matched = running.progress()["trades"].queries["q0"].matched
        assert matched == sum(v in IN_ROW[0] for batch in part for v in _volumes(batch))
        running.stop()
        for name in TEXTS:
            with suppress(AnswerError):  # none yet
                found[name] += running.arrow(name).sort_by("window_start").to_pylist()
    return found, sum(shards)


def _listed(name: str) -> str:
    return (
        "SELECT count(*) AS n, sum(vol) AS v, max(price) AS high FROM trades "
        f"WHERE vol IN ({LISTS[name]}) OR symbol = 'A' "
        "GROUP BY window(ts, '10 seconds', '5 seconds')"
    )


def test_records_are_sent_for_grids_by_cells_beside_others_by_columns(packets: Loom):
    """Records are of cells: queries that go by columns have none, and disturb none."""
    # A sketch goes by cells only.
    sketch = f"SELECT approx_count_distinct(suspicious) AS n FROM packets WHERE nodns {WINDOW}"
    packets.add(sketch, name="by_cells")
    expected = {name: packets.run(way="cells").arrow(name).to_pylist() for name in packets.queries}
    answers = packets.run(send_records=True, way="columns")
    assert {name: answers.arrow(name).to_pylist() for name in packets.queries} == expected
    assert not answers.statistics.apart
