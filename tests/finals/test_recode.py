"""Shards of an older plan are read with the cells of the newer one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from gingham.core import names
from gingham.finals.recode import recode
from gingham.finals.shards import no_shards
from gingham.logical.domain import BOOLEAN, INTEGER
from gingham.logical.predicate import Attribute, Axis
from gingham.plan.codebook import Codebook
from gingham.plan.grid import Grid


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
                assert (cell >= axis.interval_from(cut)) == (row >= cut)


def _cell(axis: Axis, x: int | None) -> int:
    return axis.null if x is None else int(np.searchsorted(axis.cuts, x, side="right"))


def test_an_empty_table_without_the_columns_of_its_plan_is_recoded():
    old, plan = _codebook((1, 2), other=False), _codebook((1,), other=True)
    assert recode(no_shards(), old, plan) == no_shards()


def test_shards_that_lack_a_column_of_their_plan_are_recoded_without_it():
    grid = Grid((), ("k",), 0, 3)
    old = Codebook((grid,), ("j", "k"), ("count(1)", "max(x)"))
    plan = Codebook((grid,), ("i", "j", "k"), ("max(x)", "count(1)"))
    table = pa.table({names.CELL: [0], names.INSTANT: [5], names.key(1): ["a"], "__partial_0": [2]})
    expected = {names.key(2): ["a"], names.partial(1): [2], names.CELL: [0], names.INSTANT: [5]}
    assert recode(table, old, plan).to_pydict() == expected
