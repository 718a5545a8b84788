"""The parts of the stream loop that need no Spark."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gingham.checkpoint.files import Files
from gingham.checkpoint.seal import read_table, write_table
from gingham.core import names
from gingham.core.errors import CheckpointError
from gingham.core.time import NEVER
from gingham.finals.recode import recode
from gingham.logical.domain import BOOLEAN, DOUBLE, INTEGER, STRING
from gingham.logical.predicate import Attribute, Axis
from gingham.logical.window import Window
from gingham.plan.forest import Codebook, Grid
from gingham.stream.clock import Marks, Timing, may_close
from gingham.stream.codec import codebook_from_json, codebook_to_json

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


def _codebook(cuts: tuple[int, ...], *, other: bool, offset: int = 0) -> Codebook:
    axes = (Axis(Attribute("x", INTEGER), cuts),)
    if other:
        axes = (Axis(Attribute("b", BOOLEAN), (True,)), *axes)
    first = Grid((), (), 0, 7)
    grids = (first,) if offset else ()
    return Codebook((*grids, Grid(axes, (), offset, 3)), (), ("count(1)",))


@given(
    st.frozensets(st.integers(0, 20), max_size=5),
    st.frozensets(st.integers(0, 20), max_size=5),
    st.frozensets(st.integers(0, 20), max_size=5),
    st.lists(st.one_of(st.none(), st.integers(-5, 25)), min_size=1, max_size=20),
    st.booleans(),
)
def test_a_predicate_that_lived_in_both_plans_reads_old_shards_as_before(
    kept: frozenset[int],
    gone: frozenset[int],
    new: frozenset[int],
    rows: list[int | None],
    other: bool,  # noqa: FBT001
):
    old = _codebook(tuple(sorted(kept | gone)), other=False)
    plan = _codebook(tuple(sorted(kept | new)), other=other, offset=1)
    cells = [_cell(old.grids[-1].axes[-1], x) for x in rows]
    table = pa.table({names.CELL: cells, names.INSTANT: [0] * len(rows), names.partial(0): rows})
    moved = recode(table, old, plan)[names.CELL].to_numpy() - 1
    axis = plan.grids[-1].axes[-1]
    for cut in kept:
        for row, cell in zip(rows, moved % axis.size, strict=True):
            if row is None:
                assert cell == axis.null
            else:
                # "x >= cut" holds for exactly the same shards.
                assert (cell >= axis.place(cut)) == (row >= cut)


def _cell(axis: Axis, x: int | None) -> int:
    return axis.null if x is None else int(np.searchsorted(axis.cuts, x, side="right"))


def test_a_codebook_comes_back_from_json():
    axes = (
        Axis(Attribute("d", DOUBLE, "d = 0"), (-math.inf, 0.1, math.inf)),
        Axis(Attribute("s", STRING), ("", "é'")),
        Axis(Attribute("b", BOOLEAN), (True,)),
        Axis(Attribute("i", INTEGER), (-(2**63), 2**53 + 1)),
    )
    book = Codebook((Grid(axes, ("k",), 0, 4),), ("k",), ("sum(x)",))
    assert codebook_from_json(codebook_to_json(book)) == book
    nan = Codebook((Grid((Axis(Attribute("d", DOUBLE), (math.nan,)),), (), 0, 0),), (), ())
    again = codebook_from_json(codebook_to_json(nan))
    assert math.isnan(again.grids[0].axes[0].cuts[0])


@pytest.mark.parametrize("harm", [lambda b: b[:-3], lambda b: b[:-1] + b"x", lambda _: b""])
def test_a_damaged_file_is_refused(tmp_path: Path, harm: Callable[[bytes], bytes]):
    files = Files(str(tmp_path))
    write_table(files, "t", pa.table({"a": [1, 2]}), {"n": 3})
    assert read_table(files, "t")[1] == {"n": 3}
    (tmp_path / "t").write_bytes(harm((tmp_path / "t").read_bytes()))
    with pytest.raises(CheckpointError):
        read_table(files, "t")
