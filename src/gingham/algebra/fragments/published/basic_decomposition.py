"""Basic Decomposition for general aggregates (Huebsch et al., Section 3)."""

from __future__ import annotations

import numpy as np

from gingham.algebra.fragments.disjoint_parts import Parts, subtracted
from gingham.core.arrays import Bools


def basic_decomposition(matrix: Bools) -> Parts:
    """The paper's: take rows out of rows, in their order, until no row contains another.

    Which basis rows make up each row, and the basis rows; there may be more of these than queries.
    """
    return subtracted(matrix, np.arange(len(matrix)), largest_first=False)
