"""Lengths of time that make no sense are refused in three parts, before anything runs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gingham
from gingham.core.time import CENTURY, DAY, FOREVER, LAST_INSTANT, NEVER, SECOND, parse_delay
from gingham.logical.window import MOST_WINDOWS_OF_A_ROW, Window
from gingham.stream.clock import Marks, idle_of, last_instant


@pytest.mark.parametrize("text", ["-5 seconds", "1 month", "soon", "2000000 days", ""])
def test_a_delay_is_refused_unless_it_is_one(text: str):
    with pytest.raises(gingham.CatalogError, match="the watermark of stream 't'"):
        parse_delay("the watermark of stream 't'", text)


def test_a_stream_is_never_idle_between_any_two_batches():
    assert idle_of(None) is None
    assert idle_of("1 second") == SECOND
    for text in ("0 seconds", "-1 second"):
        with pytest.raises(gingham.CatalogError, match="idle"):
            idle_of(text)


@pytest.mark.parametrize(
    ("length", "slide", "complaint"),
    [
        (10**9 * DAY, 10**9 * DAY, "at most a century"),
        (DAY, 10**9 * DAY, "at most a century"),
        (DAY, 1, "in 86,400,000,000 windows"),
        (MOST_WINDOWS_OF_A_ROW + 1, 1, "100,000 are allowed"),
    ],
)
def test_windows_that_nobody_could_answer_are_refused(length: int, slide: int, complaint: str):
    with pytest.raises(gingham.QueryError, match=complaint):
        Window(length, slide)


def test_windows_that_somebody_may_want_are_not():
    for length, slide in ((DAY, SECOND), (30 * DAY, 60 * SECOND), (CENTURY, DAY)):
        assert Window(length, slide)


@given(
    st.integers(0, LAST_INSTANT),
    st.integers(-LAST_INSTANT, LAST_INSTANT) | st.just(NEVER),
    st.integers(-LAST_INSTANT, LAST_INSTANT),
    st.integers(0, CENTURY) | st.just(FOREVER),
)
def test_no_row_moves_the_watermark_beyond_what_counts(
    now: int, latest: int, earliest: int, ahead: int
):
    last = last_instant(now, latest, earliest, ahead)
    assert min(now, LAST_INSTANT) <= last <= LAST_INSTANT
    if latest != NEVER:
        # What was seen before still counts.
        assert last >= min(latest, LAST_INSTANT)
        assert last == last_instant(now, latest, 0, ahead)
    elif earliest > now + CENTURY and ahead < FOREVER:
        assert last < max(earliest, now + ahead + 1)
    assert Marks(latest, latest).seen(last, 0).latest >= latest
