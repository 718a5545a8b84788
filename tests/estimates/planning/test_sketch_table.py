"""Sketches of slices, in however many parts they come, add up to windows."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gingham.core.errors import AnswerError
from gingham.estimates.algebra import plan_sharing
from gingham.estimates.planning.sketch_table import (
    SketchTable,
    keep_words,
    no_sketches,
    pack_counters,
    words_of,
)
from gingham.logical.window import Window

PLAN = plan_sharing({"q": [("r", "a", "s", "a")]}, budget=6)
COUNTERS = st.integers(-(2**58), 2**58) | st.integers(-9, 9)
PARTS = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.none() | st.integers(-20, 40),
        st.lists(COUNTERS, min_size=3, max_size=3),
    ),
    max_size=12,
)
WINDOWS = st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(0, 8))


def _table(parts):
    batches = [
        pack_counters(vertex, pa.array([instant], pa.int64()), np.array([counters], dtype=np.int64))
        for vertex, instant, counters in parts
    ]
    return SketchTable(
        pa.concat_tables([no_sketches(), *(pa.Table.from_batches([b]) for b in batches)]), PLAN
    )


def _sum(rows):
    return [sum(column) for column in zip(*rows, strict=True)] if rows else [0, 0, 0]


@given(PARTS, WINDOWS)
def test_a_window_is_the_sum_of_what_lies_in_it(parts, lengths):
    window = Window(lengths[0], lengths[1], lengths[2] % lengths[1])
    starts = window.starts_meeting(-25, 45)
    table = _table(parts)
    for vertex in (0, 1):
        own = [(instant, counters) for v, instant, counters in parts if v == vertex]
        found = table.of(vertex).windows(starts, window).counters.tolist()
        expected = [
            _sum([c for i, c in own if i is not None and start <= i < start + window.range])
            for start in starts.tolist()
        ]
        assert found == expected
        assert table.of(vertex).total().counters.tolist() == [_sum([c for _, c in own])]


@given(PARTS, st.integers(-25, 45))
def test_parts_that_were_added_up_say_the_same(parts, since):
    table = _table(parts)
    once = SketchTable(table.condensed({0: since, 1: since}), PLAN)
    for vertex in (0, 1):
        kept = table.of(vertex).instants >= since
        assert once.of(vertex).instants.tolist() == table.of(vertex).instants[kept].tolist()
        assert once.of(vertex).counters.tolist() == table.of(vertex).counters[kept].tolist()


@given(PARTS, st.lists(st.integers(1, 3), min_size=12, max_size=12))
def test_dropped_copies_leave_the_others_as_they_are(parts, kept):
    table = _table(parts)
    cut = SketchTable(keep_words(table.table, np.array(kept[: len(parts)])), PLAN)
    assert words_of(cut.table).tolist() == kept[: len(parts)]
    window, starts = Window(7, 3), Window(7, 3).starts_meeting(-25, 45)
    for once in (cut, SketchTable(cut.condensed({0: -25, 1: -25}), PLAN)):
        for vertex in (0, 1):
            whole, found = (t.of(vertex).windows(starts, window) for t in (table, once))
            own = [(i, n) for (v, i, _), n in zip(parts, kept, strict=False) if v == vertex]
            for row, start in enumerate(starts.tolist()):
                inside = [n for i, n in own if i is not None and start <= i < start + 7]
                copies = min(inside, default=3)
                assert found.copies[row] == copies
                assert (found.counters[row, :copies] == whole.counters[row, :copies]).all()


def test_what_does_not_fit_64_bits_is_refused():
    large = [2**62, 0, -(2**62)]
    apart = _table([(0, 5, large), (0, 6, large)]).of(0)
    starts = np.array([5, 6])
    assert apart.windows(starts, Window(1, 1)).counters.tolist() == [large, large]
    with pytest.raises(AnswerError, match="overflows"):
        apart.windows(starts, Window(2, 1))
    with pytest.raises(AnswerError, match="overflows"):
        apart.total()


def _lost(vertex, instant):
    return SketchTable(
        pa.Table.from_batches([pack_counters(vertex, pa.array([instant]), None)]), PLAN
    )


@pytest.mark.parametrize("way", ["counters", "sums", "condensed"])
def test_a_slice_that_does_not_fit_64_bits_is_lost_alone(way):
    large, few = [2**62, 0, -(2**62)], [1, 2, 3]
    parts = [_table([(0, 4, few), (0, 6, few), (1, 5, few)])]
    parts += [_table([(0, 5, large), (0, 5, large)])] if way == "counters" else [_lost(0, 5)]
    table = SketchTable(pa.concat_tables([part.table for part in parts]), PLAN)
    if way == "condensed":
        table = SketchTable(table.condensed({0: 5, 1: 5}), PLAN)
    found, window = table.of(0), Window(1, 1)
    assert found.windows(np.array([6]), window).counters.tolist() == [few]
    assert table.of(1).windows(np.array([5]), window).counters.tolist() == [few]
    for starts in ([5], [5, 6]):
        with pytest.raises(AnswerError, match="overflows"):
            found.windows(np.array(starts), window)
    with pytest.raises(AnswerError, match="overflows"):
        found.total()
    assert SketchTable(table.condensed({0: 6, 1: 6}), PLAN).of(0).total().counters.tolist() == [few]
