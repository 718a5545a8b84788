"""Watermarks, the windows that they close, and what is never needed again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gingham.core.time import NEVER
from gingham.logical.window import Window
from gingham.stream.clock import Marks, Timing, may_close

windows = st.builds(
    lambda r, s, o: Window(r, s, o % s), st.integers(1, 30), st.integers(1, 20), st.integers(0, 40)
)


@given(windows, st.integers(-50, 50), st.integers(0, 40), st.integers(-60, 60))
def test_a_window_may_close_if_one_ends_while_the_watermark_moves(
    window: Window, watermark: int, step: int, born: int
):
    before, after = Marks(watermark, watermark), Marks(watermark + step, watermark + step)
    due = Timing(delay=0).due(before, after, born)
    ends = [window.start + window.slide * k + window.range for k in range(-200, 200)]
    assert may_close(window, due) == any(watermark < e <= watermark + step for e in ends)


@given(windows, st.integers(-50, 50), st.integers(0, 20))
def test_nothing_before_the_floor_is_needed_again(window: Window, watermark: int, lateness: int):
    timing = Timing(delay=0, lateness=lateness)
    floor = timing.floor(window, Marks(watermark, watermark), NEVER)
    starts = [window.start + window.slide * k for k in range(-200, 200)]
    # Windows that end at or before the watermark, less the lateness, are answered for good.
    needed = [s for s in starts if s + window.range > watermark - lateness]
    assert floor == min(needed)


def test_a_watermark_never_goes_back():
    marks = Marks().seen(100, delay=10)
    assert marks == Marks(90, 100)
    assert marks.seen(50, delay=10) == marks
    assert marks.seen(NEVER, delay=10) == marks
