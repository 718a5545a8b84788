"""Where time goes."""

from __future__ import annotations

import time


class Stopwatch:
    """Seconds by the name of what they were spent on."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        """What passed since the last lap was spent on this."""
        now = time.perf_counter()
        self.laps[name] = self.laps.get(name, 0.0) + now - self._last
        self._last = now
