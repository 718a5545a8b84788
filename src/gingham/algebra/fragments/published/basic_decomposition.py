"""Basic Decomposition for general aggregates (Huebsch et al., Section 3)."""

from __future__ import annotations

import numpy as np

from gingham.algebra.fragments.disjoint_parts import Parts, subtracted
from gingham.core.arrays import Bools


def basic_decomposition(matrix: Bools) -> Parts:
    """Basic Decomposition: subtract matrix rows from rows that contain them, in matrix order.

    There may be more basis rows than queries.
    """
    return subtracted(matrix, np.arange(len(matrix)), largest_first=False)
