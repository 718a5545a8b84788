"""Sketches to answers: for each window an estimate, and an interval around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gingham.core import names
from gingham.core.arrays import Floats, Ints
from gingham.estimates.algebra import Estimate, Factor, median_of_means, ratio_of_means
from gingham.estimates.algebra.sharing_plan import SharingPlan
from gingham.estimates.algebra.weights import ratio_weight_of, weight_of
from gingham.estimates.planning.bound_join import BoundJoin
from gingham.estimates.planning.sketch_table import SketchTable, magnitudes, refuse_overflow
from gingham.finals.frames import frames

WindowStarts = Ints | None  # None for a query without a window

_COLUMNS = ("estimate", "lower", "upper")
# Windows are estimated in blocks whose products of counters have at most so many numbers.
_BLOCK = 1 << 22


@dataclass(frozen=True, slots=True)
class QueryEstimates:
    """The estimates of a join query as a table, and its weight as these estimates show it.

    The weight says how hard the query is to estimate; it is None if the samples do not tell.
    """

    table: pa.Table
    weight: float | None


def estimate_query(
    query: BoundJoin,
    sketches: SketchTable,
    sliced: frozenset[str],
    starts: WindowStarts,
    confidence: float,
    instant: pa.DataType,
) -> QueryEstimates:
    """Estimate a join query: one row for each window in `starts`, or one row without windows.

    `sliced` are the relations whose sketches are cut into slices; `instant` is the Arrow type of
    the columns `window_start` and `window_end`.
    """
    sharing, window = sketches.sharing, query.query.window
    count = 1 if starts is None else len(starts)
    intervals: list[tuple[float, float, float]] = []
    weights: list[float] = []
    copies: list[int] = []
    step = max(1, _BLOCK // max(sharing.copies[part] for part in query.parts))
    for first in range(0, count, step):
        block = None if starts is None else starts[first : first + step]
        parts = [_samples(query, part, sketches, sliced, block) for part in query.parts]
        # Where copies were dropped to save memory, those are left that all sketches have.
        copies += np.min([part.copies for part in parts], axis=0).tolist()
        for row in range(len(parts[0].copies)):
            samples = [part.values[row, : copies[first + row]] for part in parts]
            estimate, weight = _estimate(samples, confidence)
            intervals.append((estimate.value, estimate.lower, estimate.upper))
            weights += [weight] if weight is not None else []
    numbers = query.unit * np.array(intervals, dtype=np.float64).reshape(-1, 3)
    columns: dict[str, pa.Array] = {}
    if starts is not None and window is not None:
        columns[names.WINDOW_START] = pa.array(starts).cast(instant)
        columns[names.WINDOW_END] = pa.array(starts + window.range).cast(instant)
    # An average of rows whose number is estimated as zero is NULL.
    columns |= {name: pa.array(numbers[:, i], from_pandas=True) for i, name in enumerate(_COLUMNS)}
    read = len(_sketches_of(query, sharing))
    columns["words"] = pa.array([read * each for each in copies], pa.int64())
    return QueryEstimates(pa.table(columns), float(np.mean(weights)) if weights else None)


def _estimate(samples: Sequence[Floats], confidence: float) -> tuple[Estimate, float | None]:
    """Estimate one answer from the samples of its parts, and measure its weight."""
    if len(samples) == 1:
        return median_of_means(samples[0], confidence), weight_of(samples[0])
    sums, counts = samples
    return ratio_of_means(sums, counts, confidence), ratio_weight_of(sums, counts)


def _sketches_of(query: BoundJoin, sharing: SharingPlan) -> set[int]:
    """The numbers of the sketches that the estimate of a join query is made from."""
    return {v for part in query.parts for factor in sharing.factors[part] for v, _ in factor}


def window_starts(query: BoundJoin, sketches: SketchTable, sliced: frozenset[str]) -> WindowStarts:
    """Find the windows, by start, in which every stream of a join query has sketched rows."""
    window, common = query.query.window, None
    if window is None:
        return None
    for factor in sketches.sharing.factors[query.name]:
        if not _is_sliced(factor, sketches, sliced):
            continue
        instants = np.unique(
            np.concatenate([sketches.of(v).instants for v, _ in factor] or [np.empty(0, np.int64)])
        )
        starts = frames(np.arange(len(instants)), instants, window).starts
        common = starts if common is None else np.intersect1d(common, starts)
    return common


class _Samples(NamedTuple):
    """Unbiased estimates of a join, a row for each window; the first `copies` of each row count."""

    values: Floats
    copies: Ints


def _samples(
    query: BoundJoin,
    part: str,
    sketches: SketchTable,
    sliced: frozenset[str],
    starts: WindowStarts,
) -> _Samples:
    """Multiply sketches to unbiased estimates of a part of a query: windows by copies."""
    sharing, window = sketches.sharing, query.query.window
    copies = sharing.copies[part]
    product = np.ones((1 if starts is None else len(starts), copies))
    there = np.full(len(product), copies, dtype=np.int64)
    for factor in sharing.factors[part]:
        total = np.zeros((1, copies), dtype=np.int64)
        magnitude = 0.0
        for vertex, times in factor:
            sketch = sketches.of(vertex)
            if starts is None or window is None or not _is_sliced(factor, sketches, sliced):
                added = sketch.total()
            else:
                added = sketch.windows(starts, window)
            magnitude += abs(times) * magnitudes(added.counters).max(initial=0.0)
            refuse_overflow(magnitude)
            total = total + times * added.counters[:, :copies]
            there = np.minimum(there, added.copies)
        product = product * total
    return _Samples(product, there)


def _is_sliced(factor: Factor, sketches: SketchTable, sliced: frozenset[str]) -> bool:
    """Whether the sketches of a factor are cut into slices: their relation is a stream."""
    return any(sketches.sharing.vertices[vertex].relation in sliced for vertex, _ in factor)
