"""The costs of this engine: what a row, a tree, a grid or a shard takes, in seconds."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from gingham.core.errors import WorkloadError
from gingham.plan.row_statistics import Value

# Conditions are decided for every cell of a grid, so a grid has no more cells than this.
MOST_CELLS = 1 << 16


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds on two slow cores; `gingham calibrate` measures them on other machines.

    A plan reads every row once. By cells it cuts a row into a slice in every tree and into a cell
    in every grid; makes shards; and for every condition looks at the shards of its grid.
    """

    opening: float = 20e-3  # of a tree, however few rows there are
    row: float = 50e-9  # read once
    tree: float = 100e-9  # a row in a tree
    grid: float = 100e-9  # a row in a grid
    shard: float = 1e-6  # made, shuffled and stored
    final: float = 10e-9  # a shard that is read for one condition
    shard_column: float = 0.5e-6  # a column of a shard beyond the first
    # By columns: seconds of all cores together.
    workers: float = 0.3  # Python workers, however few rows there are
    input: float = 18e-9  # a value handed to Python
    byte: float = 1e-9  # of all these values
    comparison: float = 0.4e-9  # a row compared with one constant
    condition: float = 1.0e-9  # a row looked at for one condition
    update: float = 2.5e-9  # a selected row added to one column
    packed: float = 1e-6  # a shard made, handed over and read
    packed_column: float = 0.3e-6  # one of its columns
    cores: float = 2.0

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Cost:
        """Read the costs of a machine from the file that `gingham calibrate --save` wrote."""
        try:
            return cls(**json.loads(Path(path).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError) as error:
            raise WorkloadError(
                f"no costs in {os.fspath(path)}", str(error), "a file of gingham calibrate --save"
            ) from error

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the costs of a machine to a file for `read`."""
        Path(path).write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")

    def shards(self, shards: Value, conditions: Value) -> Value:
        """Predicted seconds for making shards and reading them once for every condition."""
        return shards * (self.shard + conditions * self.final)
