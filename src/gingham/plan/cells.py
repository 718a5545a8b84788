"""What conditions are in the cells of grids."""

from __future__ import annotations

from gingham.core.arrays import Bools
from gingham.logical.predicate import Truths, evaluate
from gingham.plan.bound import Condition
from gingham.plan.forest import Grid


class Cells:
    """What conditions are in the cells of grids, each evaluated once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, str], Truths] = {}
        self._raising: dict[tuple[int, str], Bools | None] = {}

    def of(self, grid: Grid, condition: Condition) -> Truths:
        # SQL and offset stand for condition and grid: comparing predicates takes longer.
        name = grid.offset, condition.sql
        if name not in self._known:
            self._known[name] = evaluate(condition.predicate, grid.axes)
        return self._known[name]

    def raising(self, grid: Grid, condition: Condition) -> Bools | None:
        """The cells in which a condition raises; None if it never does."""
        name = grid.offset, condition.sql
        if name not in self._raising:
            raises = self.of(grid, condition).raises
            self._raising[name] = raises if raises.any() else None
        return self._raising[name]
