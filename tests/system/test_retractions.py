"""Rows that were deleted are subtracted: estimates are those of the rows that are left."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from gingham import AnswerError, CatalogError, CheckpointError, Estimator, Loom
from gingham.cli import main
from tests.batch_estimates import batch_estimates, rows_of
from tests.replay import replayed, write_batches

SECOND = 1_000_000
START = 1_700_000_000 * SECOND
QUERIES = {
    "pairs": "SELECT count(*) FROM orders o, items i WHERE o.id = i.id {}",
    "amount": "SELECT sum(i.amount) FROM orders o, items i WHERE o.id = i.id {}",
    "average": "SELECT avg(i.price) FROM orders o JOIN items i USING (id) WHERE o.vip {}",
    "some": "SELECT count(*) FROM orders o JOIN items i USING (id) WHERE i.amount > 20 {}",
}
WINDOW = "GROUP BY window(ts, '20 seconds', '10 seconds')"
SCHEMAS = {
    "orders": "ts TIMESTAMP, id INT, vip BOOLEAN, _change_type STRING",
    "items": "ts TIMESTAMP, id INT, amount INT, price DECIMAL(20, 8), diff INT",
}
CHANGES = {"orders": "_change_type", "items": "Diff"}
BATCHES = 8


def _rows(rng: np.random.Generator, name: str, batch: int, count: int) -> list[dict]:
    rows: list[dict] = []
    for _ in range(count):
        at = START + int(rng.integers(batch * 10 * SECOND, (batch + 1) * 10 * SECOND))
        row: dict = {"ts": at, "id": None if rng.random() < 0.05 else int(rng.integers(0, 9))}
        if name == "orders":
            row["vip"] = bool(rng.random() < 0.5)
        else:
            row["amount"] = None if rng.random() < 0.05 else int(rng.integers(-9, 60))
            row["price"] = f"{rng.integers(-(10**5), 10**5)}.{rng.integers(0, 10**8):08d}"
        rows.append(row)
    return rows


def _table(name: str, rows: list[dict]) -> pa.Table:
    """Rows as Arrow, with the column that says what became of them."""
    types = {"ts": pa.timestamp("us", "UTC"), "id": pa.int32(), "vip": pa.bool_()}
    types |= {"amount": pa.int32(), "diff": pa.int32(), "_change_type": pa.string()}
    columns: dict = {}
    for column in [part.split()[0] for part in SCHEMAS[name].split(", ") if " " in part]:
        values = [row[column] for row in rows]
        if column == "price":
            columns[column] = pa.array(values, pa.string()).cast(pa.decimal128(20, 8))
        else:
            columns[column] = pa.array(values, types[column])
    return pa.table(columns)


def _changes(name: str) -> tuple[list[pa.Table], pa.Table]:
    """Batches of insertions, deletions and updates; and the rows that are left of them."""
    rng = np.random.default_rng(3 if name == "orders" else 4)
    key, words = ("_change_type", ("insert", "DELETE")) if name == "orders" else ("diff", (1, -1))
    before, now = ("update_preimage", "update_postimage") if name == "orders" else (-1, 1)
    left: list[dict] = []
    batches: list[pa.Table] = []
    for batch in range(BATCHES):
        made = _rows(rng, name, batch, 40)
        events = [{**row, key: words[0]} for row in made]
        for row in made:
            fate = rng.random()
            if fate < 0.3:
                events.append({**row, key: words[1]})
                continue
            if fate < 0.5:
                events.append({**row, key: before})
                row["id"] = int(rng.integers(0, 9))
                events.append({**row, key: now})
            left.append(row)
        # A deletion may come before what it deletes, within a batch.
        order = rng.permutation(len(events))
        batches.append(_table(name, [events[i] for i in order]))
    whole = words[0]
    return batches, _table(name, [{**row, key: whole} for row in left])


FEEDS = {name: _changes(name) for name in SCHEMAS}


def _sketches(spark: SparkSession, frames, changes, queries=QUERIES, clause=WINDOW) -> Estimator:
    loom = Loom(spark)
    for name, rows in frames.items():
        loom.stream(name, rows, time="ts", watermark="10 seconds")
    sketches = loom.sketch(budget=4000, changes=changes)
    for name, sql in queries.items():
        sketches.add(sql.format(clause), name=name)
    return sketches


def _frames(spark: SparkSession, part: int):
    return {
        name: spark.createDataFrame(pa.concat_tables(feed[part]) if part == 0 else feed[part])
        for name, feed in FEEDS.items()
    }


@pytest.mark.parametrize("clause", ["", WINDOW])
def test_a_batch_with_deletions_estimates_what_the_rows_that_are_left_do(
    spark: SparkSession, clause: str
):
    found = _sketches(spark, _frames(spark, 0), CHANGES, clause=clause).run()
    expected = _sketches(spark, _frames(spark, 1), {}, clause=clause).run()
    for name in QUERIES:
        assert found.arrow(name).num_rows >= (5 if clause else 1)
        assert found.arrow(name).equals(expected.arrow(name))


def test_a_stream_with_deletions_estimates_what_the_rows_that_are_left_do(
    spark: SparkSession, tmp_path: Path
):
    for name, (batches, _) in FEEDS.items():
        write_batches(tmp_path / name, batches)
    frames = {n: replayed(spark, tmp_path / n, schema=schema) for n, schema in SCHEMAS.items()}
    state = str(tmp_path / "state")
    running = _sketches(spark, frames, CHANGES).start(checkpoint=state, sink="memory")
    running.process_all_available()
    running.stop()
    assert not running.failed()
    whole = _sketches(spark, _frames(spark, 1), {})
    for name in QUERIES:
        found = rows_of(running.arrow(name))
        expected = {row["window_start"]: row for row in batch_estimates(whole, name, found)}
        assert len(found) >= 5
        assert found == [expected[row["window_start"]] for row in found]
    with pytest.raises(CheckpointError, match="changes"):
        _sketches(spark, frames, {}).start(checkpoint=state, sink="memory")


def test_a_workload_file_names_the_column_of_changes(spark: SparkSession, tmp_path: Path):
    for name, (batches, _) in FEEDS.items():
        write_batches(tmp_path / name, batches)
    (tmp_path / "w.sql").write_text(
        "-- stream: orders path=orders time=ts watermark=10s\n"
        "-- stream: items path=items time=ts watermark=10s\n"
        "-- sketches: budget=4000 changes.orders=_change_type changes.items=diff\n"
        f"-- sketch: pairs\n{QUERIES['pairs'].format(WINDOW)};\n"
        "-- sink: path=answers\n"
    )
    result = CliRunner().invoke(main.cli, ["run", str(tmp_path / "w.sql")])
    assert result.exit_code == 0, result.output
    found = spark.read.parquet(str(tmp_path / "answers" / "pairs")).orderBy("window_start")
    whole = _sketches(spark, _frames(spark, 1), {}, queries={"pairs": QUERIES["pairs"]}).run()[
        "pairs"
    ]
    assert found.collect() == whole.orderBy("window_start").select(found.columns).collect()


def test_what_is_neither_inserted_nor_deleted_is_refused(spark: SparkSession):
    orders = _frames(spark, 1)["orders"]
    for word in ("upsert", None):
        literal = "CAST(NULL AS STRING)" if word is None else f"'{word}'"
        frames = {
            **_frames(spark, 1),
            "orders": orders.selectExpr("ts", "id", "vip", f"{literal} AS op"),
        }
        sketches = _sketches(spark, frames, {"orders": "op"}, {"pairs": QUERIES["pairs"]})
        with pytest.raises(AnswerError, match=f"neither insert nor delete: {word or 'NULL'}"):
            sketches.run()


def test_a_column_that_cannot_say_so_is_refused(spark: SparkSession):
    frames = _frames(spark, 1)
    for changes, what in (
        ({"orders": "op"}, "'orders' has no column 'op'"),
        ({"orders": "vip"}, "vip of 'orders' is a boolean"),
    ):
        with pytest.raises(CatalogError, match=what):
            _sketches(spark, frames, changes)
    unknown = _sketches(spark, frames, {"order": "_change_type"})
    with pytest.raises(CatalogError, match="changes of 'order', which is no relation"):
        unknown.run()


def test_a_change_feed_whose_changes_are_not_read_is_noticed(spark: SparkSession):
    frames = _frames(spark, 1)
    assert "notice: orders has a column _change_type" in _sketches(spark, frames, {}).explain()
    read = _sketches(spark, frames, CHANGES).explain()
    assert "has a column" not in read
    assert "insertions and deletions" in read
