"""Values that are no numbers merge quietly: NaN is an answer, not a warning."""

import numpy as np
import pytest

from gingham.aggregates.moments import COMOMENTS, MOMENTS
from gingham.aggregates.monoid import Monoid, State
from gingham.aggregates.sums import ADD_DOUBLES

STRANGE = [np.inf, -np.inf, np.nan, 1.7e308, -1.7e308, 0.0]
PAIRS = np.array([(a, b) for a in STRANGE for b in STRANGE]).T
ONE, NONE = np.ones(len(PAIRS[0])), np.zeros(len(PAIRS[0]))


@pytest.mark.parametrize(
    ("monoid", "left", "right"),
    [
        (ADD_DOUBLES, (PAIRS[0], ONE > 0), (PAIRS[1], ONE > 0)),
        (MOMENTS, (ONE, PAIRS[0], NONE), (ONE, PAIRS[1], NONE)),
        (
            COMOMENTS,
            (ONE, PAIRS[0], PAIRS[1], NONE, NONE, NONE),
            (ONE, PAIRS[1], PAIRS[0], NONE, NONE, NONE),
        ),
    ],
    ids=["sum", "moments", "comoments"],
)
def test_infinities_and_overflow_merge_without_a_warning(
    monoid: Monoid, left: tuple[np.ndarray, ...], right: tuple[np.ndarray, ...]
):
    merged = monoid.merge(State(left), State(right))
    assert len(merged) == len(PAIRS[0])
