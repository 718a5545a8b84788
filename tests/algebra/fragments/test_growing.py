"""Fragments appear and queries come and go; answers stay those of the queries alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gingham.algebra.fragments.published import METHODS, GrowingMatrix
from gingham.core.errors import FragmentError
from tests.algebra.fragments.matrices import direct, matrices

MERGES = {
    "linear": (np.add, int.__add__),
    "idempotent": (np.maximum, max),
    "general": (np.add, int.__add__),
}
CHANGES = st.lists(
    st.tuples(st.sampled_from(["meet", "join", "leave"]), st.integers(0, 10_000)), max_size=8
)


@pytest.mark.parametrize("kind", METHODS)
@settings(max_examples=40)
@given(matrix=matrices(8), changes=CHANGES)
def test_answers_survive_every_change(kind, matrix, changes):
    names = [f"q{number}" for number in range(matrix.shape[1])]
    growing = GrowingMatrix.of(names, matrix, kind, effort=5)
    for number, (change, seed) in enumerate(changes):
        growing = _changed(growing, change, f"new{number}", np.random.default_rng(seed))
        assert growing.decomposition.certified()
        assert growing.decomposition.size <= len(growing.queries)
        _check(growing, seed)


@pytest.mark.parametrize("kind", METHODS)
@settings(max_examples=40)
@given(matrix=matrices(8), seed=st.integers(0, 10_000))
def test_records_of_one_generation_can_be_merged(kind, matrix, seed):
    rng = np.random.default_rng(seed)
    names = [f"q{number}" for number in range(matrix.shape[1])]
    before = GrowingMatrix.of(names, matrix, kind, effort=5)
    after = before.add_fragments(rng.random((3, len(names))) < 0.5)
    if after.generation != before.generation:
        return
    merge, _ = MERGES[kind]
    old = rng.integers(0, 100, len(before.rows))
    new = rng.integers(0, 100, len(after.rows))
    records = after.decomposition.reduce(new, merge)
    early = before.decomposition.reduce(old, merge)
    records[: len(early)] = merge(records[: len(early)], early)
    both = new.copy()
    both[: len(old)] = merge(both[: len(old)], old)
    np.testing.assert_array_equal(
        after.decomposition.reconstruct(records, merge),
        after.decomposition.reconstruct(after.decomposition.reduce(both, merge), merge),
    )


def test_a_query_that_splits_rows_is_answered():
    growing = GrowingMatrix.of(["a", "b"], np.array([[1, 0], [1, 1]], dtype=bool), "idempotent")
    joined = growing.add_query("c", without=np.array([True, False]), within=np.array([True, True]))
    assert joined.rows.astype(int).tolist() == [[1, 0, 0], [1, 1, 1], [1, 0, 1]]
    _check(joined, seed=0)
    assert joined.remove_query("c").rows.astype(int).tolist() == [[1, 0], [1, 1]]


def test_nothing_new_is_the_same_object():
    growing = GrowingMatrix.of(["a", "b"], np.array([[1, 0], [1, 1]], dtype=bool))
    assert growing.add_fragments(np.array([[1, 1]])) is growing


def test_unknown_names_are_refused():
    growing = GrowingMatrix.of(["a"], np.array([[1]], dtype=bool))
    nothing = np.zeros(1, dtype=bool)
    for wrong in (
        lambda: growing.remove_query("b"),
        lambda: growing.add_query("a", nothing, nothing),
        lambda: GrowingMatrix.of(["a", "a"], np.array([[1, 0]])),
    ):
        with pytest.raises(FragmentError):
            wrong()


def _changed(growing, change, name, rng):
    rows, queries = growing.rows.shape
    if change == "meet":
        return growing.add_fragments(rng.random((2, queries)) < 0.5)
    if change == "join":
        within = rng.random(rows) < 0.5
        return growing.add_query(name, ~within | (rng.random(rows) < 0.3), within)
    return growing.remove_query(str(rng.choice(growing.queries))) if queries else growing


def _check(growing, seed):
    merge, one = MERGES[growing.kind]
    values = np.random.default_rng(seed).integers(0, 1000, len(growing.rows))
    shared = growing.decomposition
    answers = shared.reconstruct(shared.reduce(values, merge), merge).tolist()
    expected = direct(growing.rows, np.array([*map(int, values), None], dtype=object)[:-1], one)
    assert all(e is None or a == e for a, e in zip(answers, expected, strict=True))
