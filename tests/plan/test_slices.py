"""Every instant falls into the slice that starts at the last edge before it."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from gingham.algebra.edges import edges_between, normalized
from gingham.core import names
from gingham.plan.slices import Horizon, Slices, horizon, periodic
from gingham.spark.rows_to_shards import slice_number
from gingham.spark.select_chain import SelectChain

_DAY = 86_400_000_000


@st.composite
def _classes(draw: st.DrawFn, unit: int, most: int) -> tuple[tuple[int, int], ...]:
    slides = st.integers(1, most)
    pairs = draw(st.lists(slides.flatmap(lambda s: st.tuples(st.just(s), st.integers(0, s - 1)))))
    pairs = pairs or [(draw(slides), 0)]
    return normalized((s * unit, r * unit) for s, r in pairs)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(classes=_classes(unit=250_000, most=12), data=st.data())
def test_a_pattern_that_repeats_soon_numbers_its_slices(
    spark: SparkSession, classes: tuple[tuple[int, int], ...], data: st.DataObject
):
    slices = periodic(classes)
    assert slices is not None
    instants = data.draw(st.lists(st.integers(-(10**8), 10**8), min_size=1, max_size=50))
    instants += [e + d for e in edges_between(classes, -(10**6), 10**6)[:50] for d in (-1, 0, 1)]
    _assert_numbered(spark, slices, classes, instants)


@pytest.mark.parametrize("reach", [None, 10_000_000])
@pytest.mark.parametrize("unit", [1_000_000, 1])  # a second, and panes of a microsecond
def test_a_pattern_that_hardly_repeats_is_listed_around_the_data(
    spark: SparkSession, unit: int, reach: int | None
):
    slides = (301, 307, 311, 313, 317, 331, 337, 347)
    classes = normalized((s * 1_000_000 + (unit == 1), (s % 7) * 1_000_000) for s in slides)
    assert periodic(classes) is None
    slices = horizon(classes, 20_000 * _DAY, reach)
    assert isinstance(slices, Horizon)
    rng = np.random.default_rng(0)
    inside = rng.integers(slices.edges[0], slices.edges[-1], 200).tolist()
    edges = [e + d for e in slices.edges[:50] for d in (-1, 0, 1)]
    outside = [0, -1, -(10**15), 10**15, slices.edges[0] - 1, slices.edges[-1]]
    _assert_numbered(spark, slices, classes, [*inside, *edges, *outside])


def _assert_numbered(
    spark: SparkSession,
    slices: Slices,
    classes: tuple[tuple[int, int], ...],
    instants: list[int],
) -> None:
    df = spark.createDataFrame(pa.table({names.TIME: pa.array(instants, pa.int64())}))
    chain, number = slice_number(SelectChain(df), slices, names.SLICE)
    table = chain.select(names.TIME, number).to_dataframe().toArrow()
    found = slices.starts(table[names.SLICE].to_numpy())
    for instant, start in zip(table[names.TIME].to_pylist(), found.tolist(), strict=True):
        assert start <= instant
        # No edge between the start of the slice and the instant: all of it is on one side.
        between = [e for s, r in classes for e in [instant - (instant - r) % s] if e > start]
        assert not between, (instant, start, between)
