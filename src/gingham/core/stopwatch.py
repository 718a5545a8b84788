"""A stopwatch: how many seconds each step of a run takes."""

from __future__ import annotations

import time


class Stopwatch:
    """Adds up seconds by the name of the step that they were spent on."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        """Add the seconds since the last lap to the step of this name, such as "plan" or "sink"."""
        now = time.perf_counter()
        self.laps[name] = self.laps.get(name, 0.0) + now - self._last
        self._last = now
