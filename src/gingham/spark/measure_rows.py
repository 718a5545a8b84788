"""Measurements of a DataFrame's rows for the optimizer: their number, time span and a sample."""

from __future__ import annotations

import numpy as np
from pyspark.sql import DataFrame

from gingham.core import names
from gingham.core.arrays import Ints
from gingham.core.names import quoted
from gingham.core.time import SECOND
from gingham.plan.forest import Forest
from gingham.plan.row_statistics import RowStatistics, Sample
from gingham.spark.event_time import micros_sql
from gingham.spark.interval_search import interval_columns, with_cut_positions
from gingham.spark.select_chain import SelectChain

SAMPLE_ROWS = 8_192


def count_rows(rows: DataFrame, time: str) -> tuple[RowStatistics, int]:
    """Count a DataFrame's rows and the event time they span, in one job; and the first instant."""
    instant = micros_sql(rows, time)
    count, first, last = rows.selectExpr(
        f"count({instant})", f"min({instant})", f"max({instant})"
    ).collect()[0]
    if not count:
        return RowStatistics(), 0
    return RowStatistics(count, max(last - first, SECOND) / SECOND, counted=True), first


def sample_rows(enriched: DataFrame, forest: Forest, time: str) -> Sample:
    """Sample the interval numbers and hashed keys of a DataFrame's first rows.

    They are the first rows that Spark finds: neighbours in time, as those of a slice are.
    """
    rows = enriched.where(f"{quoted(time)} IS NOT NULL").limit(SAMPLE_ROWS)
    chain = with_cut_positions(SelectChain(rows), forest.axes)
    keys = [f"xxhash64({key}) AS {names.key(i)}" for i, key in enumerate(forest.keys)]
    # `__one` keeps the SELECT list from being empty.
    chain = chain.select(*interval_columns(forest.axes), *keys, "1 AS __one")
    table = chain.to_dataframe().toArrow()

    def column(name: str) -> Ints:
        """A column of the sample as integers."""
        return table[name].to_numpy().astype(np.int64)

    return Sample(
        table.num_rows,
        {axis.attribute: axis for axis in forest.axes},
        {axis.attribute: column(names.interval(i)) for i, axis in enumerate(forest.axes)},
        {key: column(names.key(i)) for i, key in enumerate(forest.keys)},
    )
