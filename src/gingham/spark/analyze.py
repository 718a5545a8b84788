"""What a look at the rows tells the optimizer: how many there are, and how they spread."""

from __future__ import annotations

import math
from collections.abc import Mapping

from pyspark.sql import DataFrame

from gingham.core.time import SECOND
from gingham.plan.forest import Forest
from gingham.plan.load import Crowd, Load
from gingham.plan.slices import Periodic
from gingham.spark.alone import micros
from gingham.spark.run import count_shards
from gingham.spark.shards import shards

# Rows that are coded to see how they spread.
SAMPLE = 8_192
_FOREVER = 1 << 60


def rows_and_span(rows: DataFrame, time: str) -> tuple[Load, int]:
    """How many rows, over how much event time, in one job; and their first instant."""
    instant = micros(rows, time)
    count, first, last = rows.selectExpr(
        f"count({instant})", f"min({instant})", f"max({instant})"
    ).collect()[0]
    if not count:
        return Load(), 0
    return Load(count, max(last - first, SECOND) / SECOND, counted=True), first


def crowds(enriched: DataFrame, forest: Forest, time: str, rows: float) -> Mapping[Crowd, float]:
    """How a sample of so many rows spreads over the cells and groups of grids, as in one slice."""
    slices = dict.fromkeys(forest.trees, Periodic(_FOREVER, (0,)))
    made = shards(enriched.limit(SAMPLE), forest, slices, time)
    return {
        (frozenset(axis.attribute for axis in grid.axes), grid.keys): spread(
            min(rows, SAMPLE), count
        )
        for grid, count in count_shards(made, forest, slices).items()
    }


def spread(rows: float, filled: float) -> float:
    """Into how many equal places rows must fall at random to fill so many of them.

    >>> round(spread(1000, 100)), round(spread(1000, 632)), spread(1000, 0)
    (100, 1000, 1.0)
    """
    if filled >= rows:
        return math.inf
    if filled <= 1:  # or nothing was seen at all
        return 1.0
    low, high = filled, filled * rows + 1.0
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        if -middle * math.expm1(-rows / middle) < filled:
            low = middle
        else:
            high = middle
    return high
