import math
import pickle
from fractions import Fraction

import pytest

from gingham.algebra.edges import normalized
from gingham.algebra.edges.primes import factorized
from gingham.algebra.edges.published import METHODS, edge_rate
from gingham.algebra.edges.published.gcd_table import divisors_from_table, euclid
from gingham.core.errors import BudgetError, QueryError
from gingham.datasets.windows import primes_up_to, stock_windows
from gingham.optimizer.weave.woven_plan import window_classes

# F1, Examples 2 and 4, and Weave Share, Example 2: classes, edges, composite slide.
EXAMPLES = [
    ([(2, 0), (3, 0), (4, 0), (5, 0), (6, 0)], 44, 60),
    ([(3, 0), (4, 0), (4, 3), (6, 0), (6, 2), (9, 0)], 27, 36),
    ([(9, 0), (9, 3), (6, 0), (6, 4)], 8, 18),
]


def classes_of(windows):
    return [c for window in windows for c in window_classes(window)]


@pytest.mark.parametrize("method", ["best", *METHODS])
@pytest.mark.parametrize(("classes", "edges", "period"), EXAMPLES)
def test_every_way_finds_the_published_edge_rates(method, classes, edges, period):
    rate = edge_rate(classes, method)
    assert abs(rate - edges / period) <= max(rate.margin, 1e-12)
    assert rate.exact == (method != "blocks")
    if rate.fraction is not None:
        assert rate.fraction == Fraction(edges, period)
    assert rate.operations > 0


def test_the_bit_set_marks_as_many_bits_as_its_complexity_says():
    # Slides 4 and 6 lie within 2; an lcm of 30 has 15 + 10 + 6 edges.
    slides = [(2, 0), (3, 0), (4, 0), (5, 0), (6, 0)]
    assert edge_rate(slides, "bit_set").operations == 31
    assert edge_rate(slides, "bit_loop").operations == 31
    assert edge_rate(slides, "bit_scan").operations == 30 * 3


def test_remembered_divisors_save_operations():
    classes = [(s, 0) for s in range(20, 34)]
    plain, memoised = edge_rate(classes, "f1"), edge_rate(classes, "f1_memoised")
    assert plain.fraction == memoised.fraction
    assert memoised.operations < plain.operations


def test_the_table_of_divisors_is_made_once_and_kept():
    edge_rate([(6, 0), (10, 0)], "f1_memoised")
    made = divisors_from_table.cache_info().misses
    edge_rate([(15, 0), (9, 0), (14, 3)], "f1_memoised")
    assert divisors_from_table.cache_info().misses == made


def test_divisors_from_the_table_are_those_of_the_library():
    from_table = divisors_from_table(40)
    for a in [*range(130), 10**20, 10**20 + 7]:
        for b in range(1, 130):
            assert from_table(a, b)[0] == math.gcd(a, b) == euclid(a, b)[0]
    assert from_table(10**20, 36)[1] == 2
    with pytest.raises(BudgetError):
        divisors_from_table(40_000)


def test_f1_has_a_term_for_every_group_and_needs_no_check_of_equal_residues():
    # Primes: each divisor of a product of others takes Euclid at least two steps.
    primes = [(prime, 0) for prime in (2, 3, 5, 7, 11, 13)]
    looked_up = edge_rate(primes, "f1_memoised").operations
    assert looked_up == (2**6 - 1) * 3  # a step, a lookup and an addition for each group


def test_primes_are_independent():
    primes = primes_up_to(1000)
    assert len(primes) == 168
    rate = edge_rate([(prime, 0) for prime in primes])
    assert rate.exact
    assert rate == pytest.approx(1 - math.prod(1 - 1 / prime for prime in primes), rel=1e-12)


def test_eighteen_primes_are_exact_though_they_have_too_many_groups():
    # Too many terms for inclusion and exclusion, and a period too long for a bit set.
    primes = primes_up_to(100)[-18:]
    rate = edge_rate([(prime, 0) for prime in primes])
    assert rate.exact
    assert rate == pytest.approx(1 - math.prod(1 - 1 / prime for prime in primes), rel=1e-12)


def test_sixty_stock_windows_take_a_thousandth_of_the_operations_of_f1():
    classes = classes_of(stock_windows(60))
    rate = edge_rate(classes)
    assert rate.exact
    # All classes with residue zero meet each other: F1 adds up every group of them.
    meeting = sum(residue == 0 for _, residue in normalized(classes))
    assert 2**meeting > 1_000 * rate.operations


def test_many_stock_windows_are_exact_and_agree_with_random_blocks():
    classes = classes_of(stock_windows(256))
    exact, sampled = edge_rate(classes), edge_rate(classes, "blocks")
    assert exact.exact
    assert not sampled.exact
    assert abs(exact - sampled) <= sampled.margin < 0.01


def test_what_is_too_much_for_a_table_is_sampled_and_says_so():
    classes = classes_of(stock_windows(40))
    exact, sampled = edge_rate(classes), edge_rate(classes, most=10)
    assert (exact.exact, sampled.exact) == (True, False)
    assert "random blocks" in sampled.how
    assert abs(exact - sampled) <= sampled.margin


@pytest.mark.parametrize(
    "method", ["naive", "bit_set", "bit_loop", "bit_scan", "f1", "f1_memoised"]
)
def test_the_published_ways_give_up_on_stock_windows(method):
    with pytest.raises(BudgetError, match=r"edge_rate\(classes\)"):
        edge_rate(classes_of(stock_windows(60)), method, most=1_000_000)


def test_slides_that_differ_by_microseconds_have_an_exact_rate():
    hour = 3_600_000_000
    classes = [(hour + i, 0) for i in range(40)]
    rate = edge_rate(classes)
    apart = sum(1 / slide for slide, _ in classes)
    assert rate.exact
    assert apart * (1 - 1e-6) < rate < apart


def test_a_common_pane_changes_only_the_unit():
    classes = [(6, 1), (10, 3), (15, 1)]
    scaled = [(slide * 60_000_000, residue * 60_000_000 + 17) for slide, residue in classes]
    one, other = edge_rate(scaled).fraction, edge_rate(classes).fraction
    assert one is not None
    assert one * 60_000_000 == other


def test_no_classes_have_no_edges_and_slide_one_has_all():
    assert edge_rate([]) == 0
    assert edge_rate([(1, 0), (7, 3)]) == 1


@pytest.mark.parametrize(
    "classes",
    [[(0, 0)], [(-3, 0)], [(2.5, 0)], [(3, 0.5)], [(1 << 70, 0)], [(3,)], [7], [("3", 0)]],
)
def test_what_is_no_class_is_refused(classes):
    with pytest.raises(QueryError):
        edge_rate(classes)


def test_an_unknown_way_is_told_the_names():
    with pytest.raises(QueryError, match="bit_set"):
        edge_rate([(2, 0)], "magic")


def test_a_rate_survives_pickling():
    rate = pickle.loads(pickle.dumps(edge_rate([(2, 0), (3, 1)])))  # noqa: S301
    assert (rate, rate.fraction, rate.exact) == (2 / 3, Fraction(2, 3), True)


@pytest.mark.parametrize("number", [1, 2, 97, 1 << 40, 99_991 * 99_989, 3_599_999_999, 4093**2])
def test_factors_are_prime_and_multiply_to_the_number(number):
    factors = factorized(number)
    assert math.prod(prime**power for prime, power in factors) == number
    assert all(all(p % d for d in range(2, min(p, 2000))) for p, _ in factors)


def test_classes_within_coarser_ones_are_dropped_from_a_hundred_thousand():
    # Only primes are no multiples of something smaller here.
    thinned = normalized((slide, 0) for slide in range(2, 100_001))
    assert thinned == tuple((prime, 0) for prime in primes_up_to(100_000))
