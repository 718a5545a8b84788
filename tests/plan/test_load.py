"""How many places rows fill, and the other way round."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gingham.plan.load import expected_places, spread


@given(rows=st.integers(1, 10_000), places=st.floats(1, 1e4))
def test_spread_undoes_expected_places(rows: int, places: float):
    filled = expected_places(rows, places)
    if 1 < filled < 0.99 * rows:
        assert spread(rows, filled) == pytest.approx(places, rel=1e-3)
