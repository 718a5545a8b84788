"""How many bins rows fill, and the other way round."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gingham.plan.row_statistics import bins_for_occupied, expected_occupied


@given(rows=st.integers(1, 10_000), bins=st.floats(1, 1e4))
def test_bins_for_occupied_undoes_expected_occupied(rows: int, bins: float):
    occupied = expected_occupied(rows, bins)
    if 1 < occupied < 0.99 * rows:
        assert bins_for_occupied(rows, occupied) == pytest.approx(bins, rel=1e-3)
