"""Tables whose files change once they are registered: an error names them, no count is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

import gingham
from gingham.spark import lookup_tables
from tests.system.test_stream_trouble import COUNT, Stream, answers, batch, stream

__all__ = ["stream"]  # the fixture
UNIQUE, REPEATED = "A,1\nB,2\n", "A,1\nA,2\n"
BY_SECTOR = """SELECT listing.sector, count(*) AS n FROM trades JOIN listing USING (symbol)
    GROUP BY listing.sector, window(ts, '10 seconds')"""


def with_table(stream: Stream, loom: gingham.Loom) -> gingham.Loom:
    file = stream.folder / "listing.csv"
    rows = stream.spark.read.schema("symbol STRING, sector INT").csv(str(file))
    loom.table("listing", rows, key="symbol")
    loom.add(BY_SECTOR, name="sectors")
    return loom


@pytest.fixture
def file(stream: Stream) -> Path:
    file = stream.folder / "listing.csv"
    file.write_text(UNIQUE)
    return file


@pytest.mark.parametrize("most", [0, 500_000])
def test_a_key_that_is_not_unique_any_more_stops_the_batch_and_nothing_is_lost(
    stream: Stream, file: Path, most: int, monkeypatch: pytest.MonkeyPatch
):
    # With 0 the table is too large to be cached, and is read anew for every batch.
    monkeypatch.setattr(lookup_tables, "_MOST_BROADCAST_ROWS", most)
    spark = stream.spark
    spark.udf.register("same", lambda vol: vol, "int")
    stream.write(batch(1, 2), batch(16))
    loom = with_table(stream, stream.loom(count=COUNT))
    # Not to blame, though its function might raise.
    loom.add(COUNT.replace("GROUP", "WHERE same(vol) > 0 GROUP"), name="suspect")
    file.write_text(REPEATED)
    with pytest.raises(
        gingham.CatalogError, match="table 'listing' is not unique any more"
    ) as told:
        stream.run(loom)
    assert "symbol = A stands in 2 rows" in str(told.value)
    file.write_text(UNIQUE)
    again = with_table(stream, stream.loom(count=COUNT))
    running = stream.run(again)
    assert answers(running) == answers(running, "sectors") == answers(running, "suspect")
    assert answers(running) == [(10, 2)]


def test_a_batch_run_refuses_a_key_that_is_not_unique_any_more(stream: Stream, file: Path):
    stream.write(batch(1, 2), batch(16))
    rows = stream.spark.read.parquet(str(stream.folder / "trades"))
    loom = with_table(stream, gingham.Loom(stream.spark).stream("trades", rows, time="ts"))
    loom.add(COUNT, name="count")
    file.write_text(REPEATED)
    with pytest.raises(gingham.CatalogError, match="table 'listing' is not unique any more"):
        loom.run()
