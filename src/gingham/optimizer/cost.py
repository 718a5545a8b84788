"""Predicted seconds of this engine."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from gingham.core.errors import WorkloadError
from gingham.plan.load import Value

# Conditions are decided for every cell of a grid, so a grid has no more cells than this.
MOST_CELLS = 1 << 16


@dataclass(frozen=True, slots=True)
class Cost:
    """What each thing takes, in seconds on two slow cores; `gingham calibrate` measures them.

    A plan reads every row once; cuts it into a slice in every tree and into a cell in every grid;
    makes shards; and for every condition looks at the shards of its grid.
    """

    opening: float = 20e-3  # of a tree, however few rows there are
    row: float = 50e-9
    tree: float = 100e-9
    grid: float = 100e-9
    shard: float = 1e-6
    final: float = 10e-9

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Cost:
        """What `gingham calibrate --save` wrote."""
        try:
            return cls(**json.loads(Path(path).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError) as error:
            raise WorkloadError(
                f"no costs in {os.fspath(path)}", str(error), "a file of gingham calibrate --save"
            ) from error

    def write(self, path: str | os.PathLike[str]) -> None:
        """Keep them for `read`."""
        Path(path).write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")

    def shards(self, shards: Value, conditions: Value) -> Value:
        """Making shards, and looking at them once for every condition."""
        return shards * (self.shard + conditions * self.final)
