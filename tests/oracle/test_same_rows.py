from decimal import Decimal

import pytest

from tests.oracle.same_rows import canonical_row, rows_differ


def rows(*values):
    return [canonical_row(row, [("c", "any")] * len(row)) for row in values]


def test_the_order_of_rows_does_not_matter_but_their_number_does():
    assert not rows_differ(rows((1, "a"), (2, "b")), rows((2, "b"), (1, "a")), summed=False)
    assert rows_differ(rows((1, "a")), rows((1, "a"), (1, "a")), summed=False)


@pytest.mark.parametrize("summed", [True, False])
def test_only_floats_that_were_summed_may_differ_by_rounding(summed):
    wanted, own = rows((1, 0.1 + 0.2)), rows((1, 0.3))
    assert bool(rows_differ(wanted, own, summed=summed)) is not summed


def test_rows_of_equal_keys_are_matched_by_their_floats():
    wanted = rows(("k", 1.0, 5.0), ("k", 1.0 + 1e-12, 4.0))
    assert not rows_differ(wanted, rows(("k", 1.0, 4.0), ("k", 1.0, 5.0)), summed=True)
    assert rows_differ(wanted, rows(("k", 1.0, 4.0), ("k", 2.0, 5.0)), summed=True)


def test_decimals_are_equal_by_value_and_never_equal_to_floats():
    assert not rows_differ(rows((Decimal("1.50"),)), rows((Decimal("1.5"),)), summed=False)
    assert rows_differ(rows((Decimal("1.5"),)), rows((1.5,)), summed=True)


def test_nan_is_nan_and_no_number():
    assert not rows_differ(rows((float("nan"),)), rows((float("nan"),)), summed=True)
    assert rows_differ(rows((float("nan"),)), rows((1.0,)), summed=True)
