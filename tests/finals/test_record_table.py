"""Answers from records are the answers from shards, whatever was met when records were chosen."""

from dataclasses import replace

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gingham.finals.answer import answer
from gingham.finals.record_table import RecordTable
from gingham.finals.shards import ShardTable
from gingham.optimizer.decompose_fragments import decompose_fragments
from gingham.plan.cell_sets import possible_fragments
from gingham.plan.codebook import Codebook
from gingham.plan.condition_cache import ConditionCache
from gingham.plan.forest import Forest
from gingham.plan.forest_records import ForestRecords
from tests.strategies.hand_made import CELLS, GRID, Row, collected, condition, query, sorted_rows

ROWS = st.lists(
    st.builds(
        Row,
        st.sampled_from([0, 10, 20]),
        st.integers(0, CELLS - 1),
        st.sampled_from("ab"),
        st.none() | st.integers(-5, 5) | st.integers(-(1 << 61), 1 << 61),
    ),
    max_size=12,
)
SETS = st.lists(st.frozensets(st.integers(0, CELLS - 1)), min_size=1, max_size=7)
CALLS = st.lists(
    st.sampled_from(["count(*)", "count(v)", "sum(v)", "max(v)", "bit_xor(v)"]),
    max_size=3,
    unique=True,
)
# Three queries of two cells each, and one of all three: half of their sum.
HALVES = [frozenset({1, 2}), frozenset({2, 3}), frozenset({1, 3}), frozenset({1, 2, 3})]
# Neighbours in a ring: any one is the other two of three, added and subtracted.
RING = [frozenset({1, 2}), frozenset({2, 3}), frozenset({3, 4}), frozenset({1, 4})]


@settings(max_examples=300)
@example(rows=[Row(0, 1, "a", 7)], sets=HALVES, calls=["sum(v)"], met={1, 2, 3}, own=None)
@example(rows=[Row(0, 4, "a", None)], sets=HALVES, calls=["sum(v)"], met=set(), own=None)
@example(rows=[Row(0, 1, "a", 7)], sets=RING, calls=[], met={1, 2, 3, 4}, own=None)
@given(
    rows=ROWS,
    sets=SETS,
    calls=CALLS,
    met=st.none() | st.frozensets(st.integers(0, CELLS - 1)),
    own=st.none() | st.frozensets(st.integers(0, CELLS - 1)),
)
def test_records_answer_what_shards_answer(rows, sets, calls, met, own):
    queries = [query(f"q{n}", cells, calls) for n, cells in enumerate(sets)]
    if own is not None:  # an aggregate with a filter of its own
        filtered = tuple(
            replace(r, condition=condition(own & sets[0])) for r in queries[0].aggregates
        )
        queries[0] = replace(queries[0], aggregates=filtered)
    forest = Forest(tuple(queries), (GRID,), (0,) * len(queries))
    occupied = None if met is None else np.array(sorted(met), dtype=np.int64)
    reduced = decompose_fragments(forest, occupied, ConditionCache())
    shards = ShardTable(collected(rows, forest.columns, lambda cell: [cell]), forest)
    sent = collected(rows, reduced.columns, reduced.grids[0].records_of)
    records = RecordTable(sent, forest, _book(forest, reduced))
    for one in queries:
        assert sorted_rows(answer(one, records, ConditionCache())) == sorted_rows(
            answer(one, shards, ConditionCache())
        )


@given(sets=SETS, calls=CALLS)
def test_there_are_never_more_records_than_conditions_or_fragments(sets, calls):
    queries = [query(f"q{n}", cells, calls) for n, cells in enumerate(sets)]
    forest = Forest(tuple(queries), (GRID,), (0,) * len(queries))
    reduced = decompose_fragments(forest, np.arange(CELLS), ConditionCache())
    different = len({cells for cells in sets if cells})
    assert reduced.grids[0].size <= different


@given(sets=SETS, calls=CALLS, met=st.frozensets(st.integers(0, CELLS - 1)))
def test_what_may_occur_needs_at_least_the_records_of_what_occurs(sets, calls, met):
    queries = tuple(query(f"q{n}", cells, calls) for n, cells in enumerate(sets))
    forest = Forest(queries, (GRID,), (0,) * len(queries))
    occupied = np.array(sorted(met), dtype=np.int64)
    possible = possible_fragments(GRID, queries, ConditionCache())
    # By definition: two cells are of one fragment if they are in the same sets.
    assert len(possible.membership) == len(
        {memberships for c in range(CELLS) if any(memberships := tuple(c in s for s in sets))}
    )
    static = decompose_fragments(forest, None, ConditionCache()).grids[0]
    seen = decompose_fragments(forest, occupied, ConditionCache()).grids[0]
    # Only ranks are monotonic: a search may miss with fewer fragments what it finds with more.
    if all(block.kind == "linear" for block in static.blocks):
        assert seen.size <= static.size
    assert all(block.occupied.all() for block in static.blocks)


def test_sums_that_can_be_subtracted_need_as_many_records_as_the_rank():
    # Cells   1 2 3 4
    # a       x     x
    # b         x x
    # c       x   x
    # d         x   x        a + b = c + d
    sets = [frozenset(s) for s in ({1, 4}, {2, 3}, {1, 3}, {2, 4}, {1, 2, 3, 4})]
    assert _sizes(sets, ["sum(v)"]) == [("linear", 3)]
    assert _sizes(sets, ["bit_xor(v)"]) == [("general", 4)]


def test_two_kinds_of_records_are_one_where_that_is_less():
    sets = [frozenset({1}), frozenset({2}), frozenset({1, 2})]
    assert _sizes(sets, ["sum(v)", "max(v)"]) == [("general", 2)]


def test_whether_there_are_rows_is_told_by_counts_or_by_overlapping_records():
    # Without an aggregate only the presence of rows is asked, which is linear and idempotent.
    # Four in a ring: rank 3, but no three records whose unions are all four.
    assert _sizes(RING, []) == [("linear", 3)]
    # All cells but one: rank 6, but four records have six different pairs.
    all_but_one = [frozenset(range(CELLS)) - {cell} for cell in range(CELLS)]
    assert _sizes(all_but_one, []) == [("idempotent", 4)]


def _book(forest: Forest, records: ForestRecords) -> Codebook:
    return replace(forest.codebook, columns=records.columns, records=records.grids)


def _sizes(sets: list[frozenset[int]], calls: list[str]) -> list[tuple[str, int]]:
    queries = tuple(query(f"q{n}", cells, calls) for n, cells in enumerate(sets))
    reduced = decompose_fragments(
        Forest(queries, (GRID,), (0,) * len(sets)), np.arange(CELLS), ConditionCache()
    )
    return [(block.kind, block.size) for block in reduced.grids[0].blocks]
