"""What holds for all keys, rows and selections."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gingham.estimates.algebra import JoinQuery, empty, plan_sharing, sketch
from gingham.estimates.algebra.counters import BLOCK, COPIES, count, count_slices
from gingham.estimates.algebra.lattice import basis, coordinates
from gingham.estimates.algebra.relation_rows import RelationRows
from gingham.estimates.algebra.signs import cubes, family_seeds, signs

KEYS = st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 1000)


def _words(keys):
    return np.array(keys, dtype=np.int64).view(np.uint64)


@given(st.lists(KEYS, min_size=1, max_size=4, unique=True))
def test_up_to_four_keys_have_independent_signs(keys):
    # Signs are parities of (1, i, i³) with random bits: independent if and only if these rows are,
    # that is, if no set of them has the sum zero.
    words = _words(keys)
    rows = [1 | int(i) << 1 | int(cube) << 65 for i, cube in zip(words, cubes(words), strict=True)]
    for chosen in range(1, 1 << len(rows)):
        total = 0
        for place, row in enumerate(rows):
            if chosen >> place & 1:
                total ^= row
        assert total != 0


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_cubes_are_those_of_a_field(a, b):
    def times(x, y):
        product = 0
        for bit in range(64):
            product ^= (x << bit) * (y >> bit & 1)
        for bit in range(127, 63, -1):
            if product >> bit & 1:
                product ^= (1 << 64 | 0b11011) << (bit - 64)
        return product

    expected = [times(times(x, x), x) for x in (a, b)]
    assert cubes(np.array([a, b], dtype=np.uint64)).tolist() == expected


@given(
    st.lists(st.tuples(KEYS, KEYS, st.integers(-(2**40), 2**40)), max_size=200),
    st.integers(1, 70),
    st.integers(0, 2**32),
)
def test_counters_are_sums_of_signed_frequencies(rows, copies, seed):
    columns = [_words([row[place] for row in rows]) for place in (0, 1)]
    frequencies = np.array([row[2] for row in rows], dtype=np.int64)
    seeds = [family_seeds(seed, number, copies) for number in (0, 1)]
    naive = signs(seeds[0], columns[0]) * signs(seeds[1], columns[1]) @ frequencies
    assert count(seeds, columns, frequencies).tolist() == naive.tolist()


def test_blocks_of_keys_add_up():
    random = np.random.default_rng(0)
    keys = random.integers(0, 2**62, 2 * BLOCK + 77).astype(np.uint64)
    frequencies = random.integers(-(10**6), 10**9, len(keys))
    seeds = family_seeds(3, 0, 5)
    assert (
        count([seeds], [keys], frequencies).tolist() == (signs(seeds, keys) @ frequencies).tolist()
    )


QUERIES = [
    JoinQuery([("r", "a", "s", "a")], "all"),
    JoinQuery([("r", "a", "s", "a")], "some", selections={"r": frozenset({0, 1})}),
    JoinQuery([("r", "a", "s", "a")], "rest", selections={"r": frozenset({2, 3})}),
    JoinQuery([("r", "a", "s", "a"), ("r", "b", "t", "b")], "sum", measures={"r": "x"}),
]
PLAN = plan_sharing(QUERIES, budget=60, fragments={"r": 4})
ROWS = st.lists(
    st.tuples(
        st.integers(0, 5),
        st.none() | st.integers(-3, 3),
        st.integers(-4, 9),
        st.integers(-100, 100),
        st.integers(0, 3),
    ),
    max_size=40,
)


def _sketch(rows, *, plan=PLAN):
    a, b, counts, x, fragments = (
        [list(column) for column in zip(*rows, strict=True)] if rows else [[]] * 5
    )
    whole = [np.array(values, dtype=np.int64) for values in (a, counts, x, fragments)]
    keys = np.ma.MaskedArray([v or 0 for v in b], mask=[v is None for v in b], dtype=np.int64)
    return sketch(
        plan,
        "r",
        {"a": whole[0], "b": keys},
        counts=whole[1],
        sums={"x": whole[2]},
        fragments=whole[3],
    )


def _listed(sketches):
    return {number: values.tolist() for number, values in sketches.counters.items()}


@given(ROWS, st.lists(st.integers(0, 40), max_size=4))
def test_sketches_of_slices_add_up_to_that_of_the_window_bit_for_bit(rows, cuts):
    edges = sorted({0, len(rows), *(cut for cut in cuts if cut < len(rows))})
    slices = [rows[a:b] for a, b in zip(edges, [*edges[1:], len(rows)], strict=True)]
    total = sum((_sketch(part) for part in slices), start=_sketch([]))
    assert _listed(total) == _listed(_sketch(rows))


@given(ROWS)
def test_a_selection_made_from_fragments_has_the_sketch_of_its_rows(rows):
    found = _sketch(rows)
    for query in QUERIES[:3]:
        factor = PLAN.factors[query.name][0]
        copies = PLAN.copies[query.name]
        total = np.zeros(copies, dtype=np.int64)
        for vertex, times in factor:
            total += times * found.counters[vertex][:copies]
        selection = query.selections.get("r")
        kept = [row for row in rows if selection is None or row[4] in selection]
        (number,) = PLAN.vertices[factor[0][0]].families
        alone = count(
            [family_seeds(PLAN.seed, number, copies)],
            [_words([row[0] for row in kept])],
            np.array([row[2] for row in kept], dtype=np.int64),
        )
        assert total.tolist() == alone.tolist()


def test_two_halves_and_the_whole_are_two_sketches():
    assert sum(v.relation == "r" and v.measure is None for v in PLAN.vertices) == 2


MATRICES = st.integers(1, 5).flatmap(
    lambda width: st.lists(
        st.tuples(*[st.integers(-1, 2)] * width).filter(any), min_size=1, max_size=7
    )
)


@given(MATRICES)
def test_a_basis_has_as_many_rows_as_the_rank_and_spans_all(rows):
    found = basis(rows)
    assert len(found) == np.linalg.matrix_rank(np.array(rows, dtype=float))
    for row in rows:
        times = coordinates(row, found)
        assert times is not None
        total = np.array(times) @ np.array(found)
        assert tuple(total.tolist()) == row


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_sharing_never_ties_two_edges_of_a_query_and_never_raises_the_error(data):
    relation = st.sampled_from("rstu")
    queries = []
    for number in range(data.draw(st.integers(1, 6))):
        chain = data.draw(st.lists(relation, min_size=2, max_size=4, unique=True))
        joins = [
            (one, data.draw(st.sampled_from("ab")), other, data.draw(st.sampled_from("ab")))
            for one, other in pairwise(chain)
        ]
        queries.append(JoinQuery(joins, f"q{number}"))
    plan = plan_sharing(queries, budget=10_000)
    alone = plan_sharing(queries, budget=10_000, share="none")
    assert plan.error <= alone.error * (1 + 2 * len(alone.vertices) / 10_000)
    for factors in plan.factors.values():
        families = [f for factor in factors for v, _ in factor for f in plan.vertices[v].families]
        assert all(families.count(one) == 2 for one in families)


def test_nothing_adds_nothing():
    assert _listed(empty(PLAN) + _sketch([])) == _listed(_sketch([]))


@given(
    st.lists(st.tuples(KEYS, KEYS, st.integers(-(2**40), 2**40), st.integers(-3, 9)), max_size=300),
    st.integers(1, 40),
)
def test_slices_that_are_counted_together_are_as_if_counted_alone(rows, copies):
    plan = plan_sharing({"q": [("r", "a", "s", "a"), ("r", "b", "t", "b")]}, budget=3 * copies)
    vertex = next(v for v in plan.vertices if v.relation == "r")

    def counted(some, *, cut):
        keys = {
            name: np.array([row[place] for row in some], dtype=np.int64)
            for place, name in enumerate("ab")
        }
        slices = np.array([row[3] for row in some], dtype=np.int64)
        counts = np.array([row[2] for row in some], dtype=np.int64)
        return RelationRows.of([vertex], keys, counts, slices=slices if cut else None).count(
            plan, vertex
        )

    slices, counters = counted(rows, cut=True)
    assert set(slices.tolist()) == {row[3] for row in rows}
    for number, found in zip(slices.tolist(), counters, strict=True):
        alone = counted([row for row in rows if row[3] == number], cut=False)[1]
        assert found.tolist() == alone[0].tolist()


def test_slices_that_reach_over_blocks_are_counted_whole():
    random = np.random.default_rng(0)
    sizes = [3, BLOCK + 70, 1, 2 * BLOCK - 5, 64]
    keys = random.integers(0, 2**62, sum(sizes)).astype(np.uint64)
    frequencies = random.integers(-(10**6), 10**9, len(keys))
    seeds = family_seeds(3, 0, 5)
    starts = np.cumsum([0, *sizes[:-1]])
    naive = [
        (signs(seeds, keys[a : a + size]) @ frequencies[a : a + size]).tolist()
        for a, size in zip(starts.tolist(), sizes, strict=True)
    ]
    assert count_slices([seeds], [keys], frequencies, starts).tolist() == naive


def test_more_copies_than_are_counted_at_once_are_all_counted():
    random = np.random.default_rng(1)
    keys = random.integers(0, 2**62, 130).astype(np.uint64)
    frequencies = random.integers(-5, 99, len(keys))
    seeds = family_seeds(4, 0, 2 * COPIES + 3)
    naive = [(signs(seeds, keys[a:b]) @ frequencies[a:b]).tolist() for a, b in ((0, 50), (50, 130))]
    assert count_slices([seeds], [keys], frequencies, np.array([0, 50])).tolist() == naive
