"""Whatever the matrix, rebuilt answers are the answers."""

import operator
from collections import Counter
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gingham.algebra.fragments import Operation, modular
from gingham.algebra.fragments import decompose as decompose_by_kinds
from gingham.algebra.fragments.published import METHODS, decompose, generate
from gingham.core.errors import FragmentError
from tests.algebra.fragments.matrices import direct, matrices, rank

SEEDS = st.integers(0, 10_000)


@given(matrix=matrices(), seed=SEEDS)
def test_integers_are_exact_and_records_as_many_as_the_rank(matrix, seed):
    shared = decompose(matrix)
    assert shared.size == rank(matrix)
    values = np.random.default_rng(seed).integers(-(10**6), 10**6, (len(matrix), 3))
    answers = shared.reconstruct(shared.reduce(values))
    np.testing.assert_array_equal(answers, matrix.T.astype(int) @ values)


@given(matrix=matrices(), seed=SEEDS)
def test_large_integers_and_decimals_are_exact(matrix, seed):
    shared = decompose(matrix)
    rng = np.random.default_rng(seed)
    numbers = [int(rng.integers(-(2**62), 2**62)) * 10 ** int(rng.integers(0, 20)) for _ in matrix]
    large = np.array([*numbers, None], dtype=object)[:-1]
    expected = [total or 0 for total in direct(matrix, large, operator.add)]
    assert shared.reconstruct(shared.reduce(large)).tolist() == expected
    cents = np.array([*(Decimal(n).scaleb(-2) for n in range(len(matrix))), None])[:-1]
    expected = [total or 0 for total in direct(matrix, cents, operator.add)]
    assert shared.reconstruct(shared.reduce(cents)).tolist() == expected


@pytest.mark.parametrize("method", METHODS["linear"])
@given(matrix=matrices(), seed=SEEDS)
def test_doubles_are_close(method, matrix, seed):
    shared = decompose(matrix, "linear", method)
    assert shared.size <= matrix.shape[1]
    values = np.random.default_rng(seed).uniform(1, 1000, (len(matrix), 2))
    answers = shared.reconstruct(shared.reduce(values))
    np.testing.assert_allclose(answers, matrix.T.astype(float) @ values, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("method", METHODS["idempotent"])
@settings(max_examples=25)
@given(matrix=matrices(), seed=SEEDS)
def test_what_may_be_seen_twice_may_overlap(method, matrix, seed):
    shared = decompose(matrix, "idempotent", method)
    assert shared.size <= matrix.shape[1]
    values = np.random.default_rng(seed).integers(0, 1000, len(matrix))
    for merge, one in ((np.maximum, max), (np.minimum, min), (np.bitwise_or, operator.or_)):
        answers = shared.reconstruct(shared.reduce(values, merge), merge).tolist()
        expected = direct(matrix, values, one)
        assert all(e is None or a == e for a, e in zip(answers, expected, strict=True))
    sets = np.array([*(frozenset([i, i % 3]) for i in range(len(matrix))), None])[:-1]
    union = Operation("union", operator.or_, idempotent=True)
    assert shared.reconstruct(shared.reduce(sets, union), union).tolist() == direct(
        matrix, sets, operator.or_
    )


@pytest.mark.parametrize("method", METHODS["general"])
@given(matrix=matrices())
def test_what_counts_twice_is_seen_once(method, matrix):
    shared = decompose(matrix, "general", method)
    assert shared.size <= matrix.shape[1]
    bags = np.array([*(Counter([i, i % 3]) for i in range(len(matrix))), None])[:-1]
    answers = shared.reconstruct(shared.reduce(bags, operator.add), operator.add).tolist()
    assert answers == direct(matrix, bags, operator.add)


@given(matrix=matrices(), seed=SEEDS)
def test_the_set_basis_is_never_worse_than_composition(matrix, seed):
    size = decompose(matrix, "idempotent", seed=seed).size
    assert size <= decompose(matrix, "idempotent", "add_map").size
    assert size <= min(matrix.shape)


# How often something was seen, as far as it matters whether it was: linear and idempotent at once.
SEEN = Operation(
    "seen",
    operator.add,
    linear=True,
    idempotent=True,
    ufunc=np.add,
    empty=lambda kind: kind.type(0),
)


@given(matrix=matrices(), seed=SEEDS)
def test_what_is_linear_and_idempotent_takes_the_smaller_decomposition(matrix, seed):
    both = decompose_by_kinds(matrix, ("linear", "idempotent"))
    sizes = {kind: decompose_by_kinds(matrix, kind).size for kind in ("linear", "idempotent")}
    assert both.size == min(sizes.values()) == sizes[both.kind]
    counts = np.random.default_rng(seed).integers(0, 2, len(matrix))
    answers = both.reconstruct(both.reduce(counts, SEEN), SEEN)
    seen = [counts[column].any() for column in matrix.T]
    assert (answers > 0).tolist() == seen


def test_neither_kind_of_decomposition_is_always_the_smaller():
    ring = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [1, 0, 0, 1]], dtype=bool)
    all_but_one = ~np.eye(6, dtype=bool)
    kinds = ("linear", "idempotent")
    assert [decompose_by_kinds(ring, kind).size for kind in kinds] == [3, 4]
    assert [decompose_by_kinds(all_but_one, kind).size for kind in kinds] == [6, 4]
    assert decompose_by_kinds(ring, kinds).kind == "linear"
    assert decompose_by_kinds(all_but_one, kinds).kind == "idempotent"
    with pytest.raises(FragmentError, match="no kind"):
        decompose_by_kinds(ring, ())


@settings(max_examples=20)
@given(matrix=matrices(), seed=SEEDS)
def test_nodes_merge_records_and_decompose_alike(matrix, seed):
    rng = np.random.default_rng(seed)
    nodes = [rng.integers(0, 100, len(matrix)) for _ in range(3)]
    for kind, merge in (("linear", np.add), ("idempotent", np.maximum), ("general", np.add)):
        records = [decompose(matrix, kind).reduce(values, merge) for values in nodes]
        whole = decompose(matrix, kind)
        answers = whole.reconstruct(merge.reduce(records), merge)
        together = whole.reconstruct(whole.reduce(merge.reduce(nodes), merge), merge)
        np.testing.assert_array_equal(answers, together)


@pytest.mark.parametrize("hidden", [None, "sparse", "dense"])
@pytest.mark.parametrize("kind", METHODS)
@pytest.mark.parametrize(("fragments", "queries"), [(15, 30), (30, 30), (45, 30)])
def test_generated_matrices_have_as_many_records_as_their_rank(fragments, queries, kind, hidden):
    for gain in (0.5, 0.7):
        matrix = generate(queries, fragments, gain, kind, hidden, seed=int(10 * gain))
        shared = decompose(matrix)
        assert shared.size == rank(matrix)
        values = np.arange(fragments) ** 3
        assert shared.reconstruct(shared.reduce(values)).tolist() == (values @ matrix).tolist()


@pytest.mark.parametrize("kind", ["idempotent", "general"])
def test_planted_bases_are_found(kind):
    for gain in (0.3, 0.5, 0.7):
        matrix = generate(40, 60, gain, kind, seed=3)
        assert decompose(matrix, kind).size <= round(40 * (1 - gain))


def test_matrices_that_defeat_lu_keep_their_rank():
    defeated = 0
    for seed in range(8):
        matrix = generate(30, 30, 0.5, "linear", seed=seed)
        values = np.random.default_rng(seed).uniform(0, 1, 30)
        expected = matrix.T.astype(float) @ values
        defeated += decompose(matrix, "linear", "lu").size > rank(matrix)
        for method in METHODS["linear"]:
            shared = decompose(matrix, "linear", method)
            answers = shared.reconstruct(shared.reduce(values))
            np.testing.assert_allclose(answers, expected, rtol=1e-9, err_msg=method)
        assert decompose(matrix).size == rank(matrix)
    assert defeated


def test_a_matrix_whose_inverse_explodes():
    # Its rank is full, though doubles cannot tell: entries of its inverse double every two rows.
    size = 120
    steps = np.subtract.outer(np.arange(size), np.arange(size))
    matrix = (steps == 0) | ((steps > 0) & (steps % 2 == 1))
    unions = np.random.default_rng(0).random((size, 40)) < 0.5
    both = np.hstack([matrix, unions])
    assert decompose(matrix).size == size
    shared = decompose(both)
    values = np.random.default_rng(1).uniform(1, 2, size)
    counts = np.arange(size)
    np.testing.assert_allclose(
        shared.reconstruct(shared.reduce(values)), both.T @ values, rtol=1e-9
    )
    assert shared.reconstruct(shared.reduce(counts)).tolist() == (counts @ both).tolist()


def test_a_prime_that_divides_the_determinant_misses_a_rank():
    matrix = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]])  # its determinant is 2
    assert modular.echelon(matrix, 2).rank == 2
    assert modular.echelon(matrix, next(modular.primes())).rank == 3
