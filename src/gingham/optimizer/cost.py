"""Predicted seconds of this engine on a small machine; only their ratios matter."""

from __future__ import annotations

from dataclasses import dataclass

# Conditions are decided for every cell of a grid, so a grid has no more cells than this.
MOST_CELLS = 1 << 16


@dataclass(frozen=True, slots=True)
class Cost:
    """What one row, grid or shard costs, and what is assumed of data not yet seen."""

    row_in_grid: float = 60e-9
    shard: float = 1e-6
    rows: float = 1e6
    slices: float = 100
    groups: float = 1_000  # different values of a key

    def grid(self, cells: float, keys: int) -> float:
        """Coding and grouping every row into one grid, then carrying its shards."""
        shards = min(self.rows, cells * self.slices * self.groups**keys)
        return self.rows * self.row_in_grid + shards * self.shard
