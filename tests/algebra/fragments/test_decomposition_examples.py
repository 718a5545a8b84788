"""The worked examples of Huebsch et al., and what no decomposition may get wrong."""

from decimal import Decimal
from itertools import combinations

import numpy as np
import pytest

from gingham.algebra.fragments import Operation
from gingham.algebra.fragments.published import METHODS, decompose, generate
from gingham.core.errors import FragmentError

# Section 2.1: flags of packets, five queries that count bad ones.
FLAGS = np.array(
    [[1, 0, 1, 0, 0], [0, 1, 1, 0, 0], [0, 0, 0, 1, 0], [1, 0, 1, 1, 0], [0, 1, 1, 1, 1]],
    dtype=bool,
)
# Sections 4 and 5: the same matrix for linear and for idempotent aggregates.
SECTION_4 = np.array(
    [[1, 1, 0, 1, 1], [1, 0, 1, 1, 0], [0, 1, 1, 1, 0], [1, 1, 0, 0, 0], [1, 1, 1, 1, 0]],
    dtype=bool,
)
ALL_METHODS = [(kind, method) for kind, methods in METHODS.items() for method in methods]


def test_five_counts_of_flags_need_four_records():
    counts = np.array([23, 43, 18, 109, 13])
    for kind in ("linear", "general"):
        shared = decompose(FLAGS, kind)
        assert shared.size == 4
        assert shared.reconstruct(shared.reduce(counts)).tolist() == (counts @ FLAGS).tolist()


@pytest.mark.parametrize("method", METHODS["linear"])
def test_the_answers_of_section_4_come_from_four_records(method):
    shared = decompose(SECTION_4, "linear", method)
    answers = shared.reconstruct(shared.reduce(np.array([13, 54, 24, 78, 32])))
    assert shared.size == 4
    np.testing.assert_allclose(answers, [177, 147, 110, 123, 13], rtol=1e-12)


@pytest.mark.parametrize("method", METHODS["idempotent"])
def test_the_fifth_row_of_section_5_is_the_or_of_others(method):
    shared = decompose(SECTION_4, "idempotent", method)
    answers = shared.reconstruct(shared.reduce(np.array([13, 54, 24, 78, 32])))
    assert answers.tolist() == [78, 78, 54, 54, 13]
    if method == "set_basis":
        assert shared.size == 4


def test_blending_makes_a_collapse_possible():
    # Section 5: rows one and four cannot be collapsed before two and four are blended.
    matrix = np.array([[0, 1, 1, 1], [1, 0, 0, 1], [1, 1, 1, 1], [0, 1, 0, 1]], dtype=bool)
    assert decompose(matrix, "idempotent", "basic_maw").size == 3
    assert decompose(matrix, "idempotent", "set_basis").size == 3


@pytest.mark.parametrize("base", [2, 3, 4])
def test_all_unions_of_overlapping_queries_need_one_record_per_base(base):
    # Section 6.1: 2^b - 1 fragments, as many queries.
    sets = np.array([[number >> bit & 1 for bit in range(base)] for number in range(1, 1 << base)])
    matrix = sets @ sets.T > 0
    assert decompose(matrix, "idempotent").size == base


def test_the_paper_s_decomposition_falls_back_to_no_sharing():
    # Every two of four queries overlap: six fragments, and none contains another.
    matrix = np.array([[i in pair for i in range(4)] for pair in combinations(range(4), 2)])
    shared = decompose(matrix, "general", "basic")
    assert shared.size == 4
    assert "no sharing" in shared.notices[0]


@pytest.mark.parametrize(("kind", "method"), ALL_METHODS)
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (1, 1), (4, 1), (1, 4)])
def test_empty_matrices_single_queries_and_zero_rows(kind, method, shape):
    for matrix in (np.zeros(shape, dtype=bool), np.ones(shape, dtype=bool)):
        shared = decompose(matrix, kind, method)
        assert shared.certified()
        assert shared.size == int(matrix.any())
        answers = shared.reconstruct(shared.reduce(np.ones((shape[0], 2), dtype=np.int64)))
        assert answers.shape == (shape[1], 2)


@pytest.mark.parametrize("kind", METHODS)
def test_equal_queries_share_a_record_and_empty_ones_need_none(kind):
    matrix = np.array([[1, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]], dtype=bool)
    assert decompose(matrix, kind).size == 2


@pytest.mark.parametrize(("kind", "method"), [("linear", "exact"), ("general", "disjoint")])
def test_ten_thousand_fragments(kind, method):
    matrix = np.random.default_rng(0).random((10_000, 60)) < 0.1
    shared = decompose(matrix, kind, method)
    assert shared.size <= 60
    counts = np.arange(10_000)
    assert shared.reconstruct(shared.reduce(counts)).tolist() == (counts @ matrix).tolist()


def test_ten_thousand_fragments_of_maxima():
    bases = np.random.default_rng(0).random((10_000, 12)) < 0.3
    unions = np.random.default_rng(1).random((12, 60)) < 0.2
    matrix = bases.astype(int) @ unions > 0
    shared = decompose(matrix, "idempotent")
    values = np.arange(10_000)
    expected = [values[column].max() if column.any() else None for column in matrix.T]
    answers = shared.reconstruct(shared.reduce(values)).tolist()
    assert all(want in (None, got) for want, got in zip(expected, answers, strict=True))
    assert shared.size <= 12


def test_integers_beyond_64_bits_and_decimals_stay_exact():
    matrix = np.array([[1, 1, 0, 1], [0, 1, 1, 1], [1, 0, 1, 1]], dtype=bool)
    shared = decompose(matrix)
    assert shared.size == 3
    large = np.array([10**40 + 1, -(10**39), 7], dtype=object)
    assert shared.reconstruct(shared.reduce(large)).tolist() == [
        10**40 + 8, 9 * 10**39 + 1, 7 - 10**39, 9 * 10**39 + 8
    ]  # fmt: skip
    longest = np.array([2**63 - 1, 2**63 - 1, 1])
    assert shared.reconstruct(shared.reduce(longest)).tolist() == [
        2**63,
        2**64 - 2,
        2**63,
        2**64 - 1,
    ]
    money = np.array([Decimal("0.10"), Decimal("0.2"), Decimal("99999999999999999999999999.37")])
    assert shared.reconstruct(shared.reduce(money)).tolist() == [
        Decimal("99999999999999999999999999.47"),
        Decimal("0.30"),
        Decimal("99999999999999999999999999.57"),
        Decimal("99999999999999999999999999.67"),
    ]


def test_a_query_without_fragments_has_the_empty_answer():
    matrix = np.array([[1, 0], [1, 0]], dtype=bool)
    values = np.array([4, 2])
    lowest = np.iinfo(np.int64).min
    for operation, expected in ((np.maximum, [4, lowest]), (np.bitwise_or, [6, 0])):
        shared = decompose(matrix, "idempotent")
        answers = shared.reconstruct(shared.reduce(values, operation), operation)
        assert answers.tolist() == expected
    assert decompose(matrix).reconstruct(decompose(matrix).reduce(values)).tolist() == [6, 0]


def test_top_two_counts_a_value_once_for_each_query():
    top = Operation("top 2", lambda one, other: tuple(sorted(one + other)[-2:]))
    partials = np.empty(5, dtype=object)
    partials[:] = [(9,), (7, 8), (6,), (5,), None]
    shared = decompose(FLAGS, "general")
    answers = shared.reconstruct(shared.reduce(partials, top), top).tolist()
    assert answers == [(5, 9), (7, 8), (8, 9), (5, 6), None]


def test_what_an_aggregate_cannot_do_is_refused():
    matrix = np.eye(3, dtype=bool)
    values = np.arange(3)
    with pytest.raises(FragmentError, match="add cannot use an idempotent decomposition"):
        decompose(matrix, "idempotent").reduce(values, np.add)
    with pytest.raises(FragmentError, match="is not known to ignore"):
        decompose(matrix, "idempotent").reduce(values, lambda one, _: one)
    with pytest.raises(FragmentError, match="maximum cannot use a linear decomposition"):
        decompose(matrix, "linear").reduce(values, np.maximum)
    with pytest.raises(FragmentError, match="qr needs linear aggregates"):
        decompose(matrix, "idempotent", "qr")
    with pytest.raises(FragmentError, match="would round"):
        decompose(matrix, "linear", "svd").reduce(values + 2**60)
    with pytest.raises(FragmentError, match="NaN or infinity"):
        decompose(matrix, "linear").reduce(np.array([1.0, np.nan, 2.0]))
    with pytest.raises(FragmentError, match="'a' cannot be added"):
        decompose(matrix, "linear").reduce(np.array(["a", "b", "c"], dtype=object))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: decompose(np.zeros(3, dtype=bool)), "1 dimensions"),
        (lambda: decompose(np.array([[2, 0]])), "other entries than 0 and 1"),
        (lambda: decompose(np.eye(2), "additive"), "there is no kind 'additive'"),
        (lambda: decompose(np.eye(2), "linear", "qq"), "none of ours"),
        (lambda: decompose(np.eye(2)).reduce(np.arange(3)), "there are 2 fragments"),
        (lambda: decompose(np.eye(2)).reconstruct(np.arange(1)), "there are 2 records"),
        (lambda: generate(0, 5, 0.5), "no matrix"),
        (lambda: generate(10, 500, 0.5), "too few"),
        (lambda: generate(10, 10, 0.5, "max"), "there is no kind"),
        (lambda: generate(10, 10, 0.5, hidden="deep"), "cannot be hidden"),
    ],
)
def test_bad_input_is_told_what_to_do(wrong, said):
    with pytest.raises(FragmentError, match=said) as caught:
        wrong()
    assert caught.value.instead


def test_records_that_nobody_made_are_noticed():
    # The last query is half the sum of the others: no integers make that sum odd.
    pairs = np.array([[1, 1, 0, 1], [0, 1, 1, 1], [1, 0, 1, 1]], dtype=bool)
    shared = decompose(pairs)
    assert shared.size == 3
    assert shared.reconstruct(np.array([2, 0, 0])).tolist() == [2, 0, 0, 1]
    with pytest.raises(FragmentError, match="do not belong together"):
        shared.reconstruct(np.array([1, 0, 0]))
