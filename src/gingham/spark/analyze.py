"""What a look at the rows tells the optimizer: how many there are, and how they spread."""

from __future__ import annotations

import numpy as np
from pyspark.sql import DataFrame

from gingham.core import names
from gingham.core.names import quoted
from gingham.core.time import SECOND
from gingham.plan.forest import Forest
from gingham.plan.load import Load, Sample
from gingham.spark.draft import Draft
from gingham.spark.event_time import micros
from gingham.spark.search import intervals, place, searches, values

# Rows that are coded to see how they spread.
SAMPLE = 8_192


def rows_and_span(rows: DataFrame, time: str) -> tuple[Load, int]:
    """How many rows, over how much event time, in one job; and their first instant."""
    instant = micros(rows, time)
    count, first, last = rows.selectExpr(
        f"count({instant})", f"min({instant})", f"max({instant})"
    ).collect()[0]
    if not count:
        return Load(), 0
    return Load(count, max(last - first, SECOND) / SECOND, counted=True), first


def sampled(enriched: DataFrame, forest: Forest, time: str) -> Sample:
    """The intervals and keys of some rows, by a forest in which every attribute has all its cuts.

    They are the first ones that Spark finds: neighbours in time, as those of a slice are.
    """
    rows = enriched.where(f"{quoted(time)} IS NOT NULL").limit(SAMPLE)
    draft = place(Draft(rows).plus(*values(forest.axes)), searches(forest.axes))
    keys = [f"xxhash64({key}) AS {names.key(i)}" for i, key in enumerate(forest.keys)]
    found = draft.select(*intervals(forest.axes), *keys, "1 AS __one").made().toArrow()

    def column(name: str) -> np.ndarray:
        return found[name].to_numpy().astype(np.int64)

    return Sample(
        found.num_rows,
        {axis.attribute: axis for axis in forest.axes},
        {axis.attribute: column(names.interval(i)) for i, axis in enumerate(forest.axes)},
        {key: column(names.key(i)) for i, key in enumerate(forest.keys)},
    )
