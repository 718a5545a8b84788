"""Seconds: measured a few times, or measured in part and extrapolated."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

# Once this many seconds went into one number, it is not measured again.
PATIENCE = 10.0


@dataclass(frozen=True, slots=True)
class Timing:
    """The seconds of each repetition, which did `measured` parts `of` the whole.

    What was `capped` did not come to its end: it takes at least so long.
    """

    seconds: tuple[float, ...]
    measured: int = 1
    of: int = 1
    capped: bool = False

    @property
    def extrapolated(self) -> bool:
        """Whether only a part was measured."""
        return self.measured < self.of

    @property
    def best(self) -> float:
        """The quickest repetition, for the whole."""
        return min(self.seconds) * self.of / self.measured

    @property
    def median(self) -> float:
        """The middle repetition, for the whole."""
        return statistics.median(self.seconds) * self.of / self.measured

    def as_json(self) -> dict[str, object]:
        """Every number, raw and derived."""
        return {
            "seconds": list(self.seconds),
            "measured": self.measured,
            "of": self.of,
            "extrapolated": self.extrapolated,
            "capped": self.capped,
            "best": self.best,
            "median": self.median,
        }


def repeat(work: Callable[[], T], times: int) -> tuple[tuple[float, ...], list[T]]:
    """Run up to `times` times; the seconds of each run, and what it returned."""
    seconds: list[float] = []
    results: list[T] = []
    while len(seconds) < times and sum(seconds) < PATIENCE:
        start = time.perf_counter()
        results.append(work())
        seconds.append(time.perf_counter() - start)
    return tuple(seconds), results
