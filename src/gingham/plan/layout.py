"""The numbering of shards: grid after grid, by cells or by records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from gingham.core.arrays import Ints


class GridLayout(Protocol):
    """The shards of one grid have the numbers from `offset` to `offset + cells`."""

    @property
    def offset(self) -> int: ...
    @property
    def cells(self) -> int: ...
    @property
    def keys(self) -> tuple[str, ...]: ...
    @property
    def tree(self) -> int: ...


class Layout(Protocol):
    """The numbering of the shards of all grids: a forest's cells, or its records."""

    @property
    def grids(self) -> Sequence[GridLayout]: ...
    @property
    def cells(self) -> int: ...


def grid_starts(layout: Layout) -> tuple[Ints, Ints]:
    """The first number of each grid, and the tree of each grid."""
    offsets = np.array([grid.offset for grid in layout.grids], dtype=np.int64)
    return offsets, np.array([grid.tree for grid in layout.grids], dtype=np.int64)
