"""Numbers of keys: what a dictionary would say, whatever the keys are."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from gingham.finals.frames import frames
from gingham.finals.row_counts import KeyCounts, RowFloors, RowsDue
from gingham.logical.window import Clock, Window

KEYS = st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from([0.0, 1.5, math.nan, None]))
COUNTS = st.dictionaries(KEYS, st.integers(0, 20), max_size=8)
BY_ROWS = Clock(by_rows=True)


def counts_of(numbers: dict[tuple[str | None, float | None], int]) -> KeyCounts:
    """The numbers of a dictionary."""
    return KeyCounts(columns(list(numbers)), np.array(list(numbers.values()), dtype=np.int64))


def columns(keys: list[tuple[str | None, float | None]]) -> tuple[pa.Array, ...]:
    """Keys as two columns."""
    return (
        pa.array([key[0] for key in keys], pa.string()),
        pa.array([key[1] for key in keys], pa.float64()),
    )


@given(one=COUNTS, other=COUNTS)
def test_numbers_are_added_and_compared_key_by_key(
    one: dict[tuple[str | None, float | None], int],
    other: dict[tuple[str | None, float | None], int],
):
    keys = list({**one, **other})
    total = counts_of(one).plus(counts_of(other))
    most = counts_of(one).largest(counts_of(other))
    again = KeyCounts.from_table(total.table())
    for found, expected in (
        (total, [one.get(k, 0) + other.get(k, 0) for k in keys]),
        (again, [one.get(k, 0) + other.get(k, 0) for k in keys]),
        (most, [max(one.get(k, 0), other.get(k, 0)) for k in keys]),
    ):
        assert found.of(columns(keys), len(keys)).tolist() == expected
        assert len(found) == len(keys)


@given(
    rows=st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=40),
    before=st.integers(0, 40),
    born=st.integers(0, 20),
    lengths=st.tuples(st.integers(1, 8), st.integers(1, 8)),
)
def test_a_window_of_a_key_is_due_once_its_last_row_is_numbered(
    rows: list[tuple[int, bool]], before: int, born: int, lengths: tuple[int, int]
):
    # Rows of three keys, of which some are wanted; so many of them were numbered before.
    window = Window.ending_at(*lengths, BY_ROWS)
    first, total = Counter(k for k, _ in rows[:before]), Counter(k for k, _ in rows)
    new = [k for k in total if total[k] > first[k]]
    due = RowsDue(
        before=_by_key(new, first), after=_by_key(new, total), born=_by_key([0], {0: born})
    )
    seen: Counter[int] = Counter()
    places: list[int] = []
    for key, wanted in rows:
        if wanted:
            places.append(key * (len(rows) + 1) + seen[key])
        seen[key] += 1
    every = frames(np.array(sorted(places), dtype=np.int64), np.arange(len(rows)), window)
    chosen = every.where(due.of(every, every, window, [pa.array([0, 1, 2])], 3))
    expected = {
        (key, start)
        for key, start in zip(every.groups.tolist(), every.starts.tolist(), strict=True)
        if first[key] < start + window.range <= total[key] and (key != 0 or start >= born)
    }
    assert {*zip(chosen.groups.tolist(), chosen.starts.tolist(), strict=True)} == expected
    # Whatever is not due yet, or will be, starts at the floor or later.
    floors = RowFloors(("k",), _by_key([*total], total), (window,)).of([pa.array([0, 1, 2])], 3)
    for key, start in zip(every.groups.tolist(), every.starts.tolist(), strict=True):
        assert (start + window.range > total[key]) == (start >= floors[key])


def _by_key(keys: list[int], counts: dict[int, int]) -> KeyCounts:
    """The numbers of some keys."""
    found = np.array([counts[k] for k in keys], dtype=np.int64)
    return KeyCounts((pa.array(keys, pa.int64()),), found)
