"""A grid: attributes cut into intervals, whose product are cells."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from gingham.logical.predicate import Axis


@dataclass(frozen=True, slots=True)
class Grid:
    """The product of some attributes' intervals, grouped by some keys.

    Its cells are numbered from `offset` on, among the cells of all grids. Its rows are cut into the
    slices of its tree. Its `number` names it for good, even when queries that come or go change
    its axes.

    A grid that `selects` the rows of one condition, given by its SQL, has one cell and is filled by
    columns: only these rows enter it.
    """

    axes: tuple[Axis, ...]
    keys: tuple[str, ...]
    offset: int
    number: int
    tree: int = 0
    selects: str | None = None

    @property
    def by_columns(self) -> bool:
        """Whether the grid is filled by columns, with the rows of one condition."""
        return self.selects is not None

    @property
    def cells(self) -> int:
        """The number of cells of the grid."""
        return prod(axis.size for axis in self.axes)

    @property
    def over(self) -> str:
        """The attributes of the grid as text, for `explain`."""
        if self.selects is not None:
            return self.selects
        return " x ".join(axis.attribute.sql for axis in self.axes) or "all rows"
