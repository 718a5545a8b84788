"""The rate of a stream: rows per second of event time, measured over its last batches."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from gingham.core.time import NEVER, SECOND
from gingham.plan.row_statistics import RowStatistics


class Rates:
    """Follows the rate of a stream, and tells when trees should be woven for another one.

    How rows spread over keys and cells was sampled once; only their number is followed.
    """

    def __init__(self, batches: int, tolerance: float) -> None:
        self.statistics = RowStatistics()
        self._tolerance = tolerance
        self._last: deque[tuple[int, int]] = deque(maxlen=batches)

    def seen(self, rows: int, latest: int) -> None:
        """Note the rows of a micro-batch, and the latest event time after it."""
        if rows and latest != NEVER:
            self._last.append((rows, latest))

    def changed(self) -> RowStatistics | None:
        """Row statistics of the last batches, if trees were woven for too different a rate."""
        if len(self._last) < (self._last.maxlen or 0):
            return None
        rows = sum(count for count, _ in self._last) - self._last[0][0]
        seconds = (self._last[-1][1] - self._last[0][1]) / SECOND
        if seconds <= 0:
            return None
        now, woven_for = rows / seconds, self.statistics.rate
        if max(now, woven_for) <= self._tolerance * min(now, woven_for):
            return None
        return replace(self.statistics, rows=rows, seconds=seconds, counted=True)
