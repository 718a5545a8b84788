"""A pile of shards of one grid, merged whenever it has grown enough."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from gingham.columns.program import PartialProgram
from gingham.columns.reduce import reduce_runs
from gingham.columns.vectors import Vector, joined
from gingham.core import names
from gingham.core.arrays import Ints

_FEW = 1 << 14
_GROWTH = 2


class ShardPile:
    """Shards of one grid, from chunk after chunk: those of a group and slice are merged."""

    def __init__(self, partials: Sequence[PartialProgram]) -> None:
        self._partials = partials
        self._parts: list[tuple[Ints, Ints, list[list[Vector]]]] = []
        self._size = 0
        self._merged = 0  # the number of shards after the last merge

    def __len__(self) -> int:
        return self._size

    def add(self, groups: Ints, instants: Ints, columns: list[list[Vector]]) -> None:
        """Add shards: their groups by number, the starts of their slices, and their partials."""
        self._parts.append((groups, instants, columns))
        self._size += len(groups)
        if self._size > max(_FEW, _GROWTH * self._merged):
            self._merge()

    def table(self, key_names: Sequence[str], keys: Sequence[pa.Array]) -> pa.Table:
        """The merged shards as a table; `keys` are the key values by the number of the group."""
        self._merge()
        ((groups, instants, columns),) = self._parts
        index = pa.array(groups)
        found = {names.INSTANT: pa.array(instants)}
        found |= {name: key.take(index) for name, key in zip(key_names, keys, strict=True)}
        for partial, vectors in zip(self._partials, columns, strict=True):
            for name, column in zip(partial.names, vectors, strict=True):
                found[name] = column.to_arrow()
        return pa.table(found)

    def _merge(self) -> None:
        """Merge the shards of the same group and slice."""
        if len(self._parts) > 1:
            groups = np.concatenate([part[0] for part in self._parts])
            instants = np.concatenate([part[1] for part in self._parts])
            order = np.lexsort((instants, groups))
            groups, instants = groups[order], instants[order]
            changed = np.ones(len(order), dtype=bool)
            changed[1:] = (groups[1:] != groups[:-1]) | (instants[1:] != instants[:-1])
            starts = np.flatnonzero(changed)
            columns = [
                self._merged_partial(number, partial, order, starts)
                for number, partial in enumerate(self._partials)
            ]
            self._parts = [(groups[starts], instants[starts], columns)]
        self._size = self._merged = len(self._parts[0][0]) if self._parts else 0

    def _merged_partial(
        self, number: int, partial: PartialProgram, order: Ints, starts: Ints
    ) -> list[Vector]:
        """The columns of one partial, merged over runs of shards in this order."""
        whole = [
            joined([part[2][number][i] for part in self._parts]).take(order)
            for i in range(len(partial.names))
        ]
        return reduce_runs(partial.monoid, whole, starts)
