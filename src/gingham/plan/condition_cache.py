"""A cache of the truth of conditions in the cells of grids."""

from __future__ import annotations

import numpy as np

from gingham.logical.predicate import Truths, evaluate
from gingham.plan.bound import Condition
from gingham.plan.grid import Grid

_EVERYWHERE = Truths(true=np.ones(1, dtype=bool), false=np.zeros(1, dtype=bool))


class ConditionCache:
    """Evaluates every condition once for each grid, and remembers in which cells it holds.

    A cache belongs to one forest: grids are told apart by their offsets.
    """

    def __init__(self) -> None:
        self._truths: dict[tuple[int, str], Truths] = {}

    def truths(self, grid: Grid, condition: Condition) -> Truths:
        """Where the condition is true, is false, or raises: a flag for each cell of the grid."""
        # SQL and offset stand for condition and grid: comparing predicates takes longer.
        name = grid.offset, condition.sql
        if grid.by_columns:
            return _EVERYWHERE  # its one cell has no other rows; filters are in the partials
        if name not in self._truths:
            self._truths[name] = evaluate(condition.predicate, grid.axes)
        return self._truths[name]
