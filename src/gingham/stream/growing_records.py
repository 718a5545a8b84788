"""Records of a stream: chosen for the fragments that batches have brought so far.

Fragments that have not been seen are sent as they are, unless records can take them in, without
waiting for anybody (Huebsch et al., Section 8.1). So every partition can send them at once, and the
driver sees them. From the next batch on they are reduced with the others, if that is less.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

import numpy as np

from gingham.core.arrays import Ints
from gingham.core.errors import FragmentError
from gingham.finals.recode import cell_map
from gingham.optimizer.decompose_fragments import decompose_fragments
from gingham.plan.bound import BoundQuery
from gingham.plan.condition_cache import ConditionCache
from gingham.plan.forest import Forest
from gingham.plan.forest_records import ForestRecords
from gingham.stream.epoch import Epoch

# Whether records are sent, chosen by the fragments seen so far, or by all that may occur.
StreamRecords = bool | Literal["static"]


def check_records(send_records: object) -> None:
    """Refuse what `send_records` of a stream cannot be."""
    if send_records not in (True, False, "static"):
        raise FragmentError(
            f"send_records={send_records!r} of a stream",
            "its batches are reduced to records or are not, whatever each of them would cost",
            'True, False or "static"',
        )


def refuse_windows_of_rows(queries: Iterable[BoundQuery], *, sends_records: bool) -> None:
    """Refuse queries with windows of rows in streams that send records."""
    for query in queries:
        if sends_records and query.window.clock.by_rows:
            raise FragmentError(
                f"query {query.name!r} has [ROWS ...] in a stream with send_records",
                "records are chosen for fragments of slices of time",
                "loom.start(...) without send_records, or [RANGE r SLIDE s]",
            )


class GrowingRecords:
    """Chooses the records of epochs, again when fragments have appeared that need too many."""

    def __init__(self, send_records: StreamRecords) -> None:
        self._send_records = send_records
        self._searched: ForestRecords | None = None  # nothing better was found for these

    def chosen(self, epoch: Epoch, before: Epoch) -> Epoch:
        """The epoch of a micro-batch with its records; another number than `before` if they change.

        It is `before` itself if nothing has changed.
        """
        if not self._send_records or epoch.forest is None or not epoch.forest.by_cells.grids:
            return epoch
        number = epoch.number + (epoch is before)
        if epoch.records is None:
            records = self._decomposed(epoch.forest, _occupied_cells(before, epoch.forest), number)
        elif self._send_records == "static" or epoch.records is self._searched:
            return epoch
        else:
            occupied = _occupied_cells(epoch, epoch.forest)
            records = self._decomposed(epoch.forest, occupied, number)
            if records.size >= epoch.records.size:
                self._searched = epoch.records
                return epoch
        self._searched = records
        return replace(epoch, number=number, records=records)

    def _decomposed(self, forest: Forest, occupied: Ints, number: int) -> ForestRecords:
        """Decompose the fragments of a forest, with the number of the epoch as generation."""
        seen = None if self._send_records == "static" else occupied
        return decompose_fragments(forest, seen, ConditionCache(), generation=number)


def _occupied_cells(epoch: Epoch, forest: Forest) -> Ints:
    """The cells of a forest in which rows were seen, as far as records of an epoch tell.

    A cell of the forest that is only part of a cell that had rows is taken to have some: a query
    that joins tells rows of a fragment apart, and where they are is not known yet.
    """
    if epoch.records is None:
        return np.empty(0, dtype=np.int64)
    known = {part.grid.number: part for part in epoch.records.grids}
    found: list[Ints] = [np.empty(0, dtype=np.int64)]
    for grid in forest.by_cells.grids:
        if grid.number in known:
            part = known[grid.number]
            occupied = part.occupied_cells[cell_map(grid, part.grid)]
            found.append(grid.offset + np.flatnonzero(occupied))
    return np.concatenate(found)
