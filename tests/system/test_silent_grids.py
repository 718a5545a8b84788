"""By columns, a query that no row meets has no shards, and plans may change around it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.system.test_stream_trouble import COUNT, Stream, answers, batch

# A key and a partial that no other query has, and no row.
SILENT = (
    "SELECT vol % 3 AS k, max(price) AS m FROM trades WHERE vol < 0 "
    "GROUP BY vol % 3, window(ts, '10 seconds')"
)


@pytest.mark.parametrize("most_on_driver", [1_000_000, 0])
def test_a_query_without_shards_stops_no_stream_that_gets_a_new_plan(
    spark: SparkSession, tmp_path: Path, most_on_driver: int
):
    stream = Stream(spark, tmp_path)
    stream.write(batch(1, 2), batch(16))
    stream.run(
        stream.loom(count=COUNT, silent=SILENT), way="columns", most_on_driver=most_on_driver
    )
    stream.write(batch(17, 18), batch(40), batch(60))
    loom = stream.loom()
    loom.add(SILENT.replace("vol % 3", "vol % 5"), name="more")
    running = stream.run(loom, way="columns", most_on_driver=most_on_driver)
    assert not running.failed()
    assert answers(running) == [(20, 3), (50, 1)]
