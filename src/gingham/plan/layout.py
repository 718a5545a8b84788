"""The numbering of shards: grid after grid, by cells or by records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from gingham.core.arrays import Ints


class GridLayout(Protocol):
    """The shards of one grid have the numbers from `offset` to `offset + cells`."""

    @property
    def offset(self) -> int:
        """The first number that shards of the grid have."""
        ...

    @property
    def cells(self) -> int:
        """How many numbers shards of the grid may have: its cells, or its records."""
        ...

    @property
    def keys(self) -> tuple[str, ...]:
        """The key expressions that shards of the grid are grouped by."""
        ...

    @property
    def tree(self) -> int:
        """The number of the tree whose slices the shards of the grid are of."""
        ...


class Layout(Protocol):
    """The numbering of the shards of all grids: a forest's cells, or its records."""

    @property
    def grids(self) -> Sequence[GridLayout]:
        """The layout of each grid, in the order of their numbers."""
        ...

    @property
    def cells(self) -> int:
        """How many numbers shards of all grids may have."""
        ...


def grid_starts(layout: Layout) -> tuple[Ints, Ints]:
    """The first shard number of each grid in a layout, and the tree of each grid."""
    offsets = np.array([grid.offset for grid in layout.grids], dtype=np.int64)
    return offsets, np.array([grid.tree for grid in layout.grids], dtype=np.int64)
