"""The study of Guirguis et al. (CIKM 2011): how it is read, and the values that it prints.

It draws slides by Zipf's law from "a discrete range" of templates, and overlap factors evenly from
one on; it tells neither the templates nor whether factors are whole, nor how finely time is cut.
No single reading gives all of its values, and two of them contradict each other: see
docs/papers/guirguis.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gingham.datasets.windows import zipf_windows

# The study's settings where a figure says nothing else, in rows per second.
SKEW, OVERLAP = 0.6, 50.0
LOW, MEDIUM, HIGH = 50.0, 300.0, 10_000.0


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to draw the study's windows: templates in seconds, and ticks in a second."""

    name: str
    longest: int  # the templates are its divisors
    whole: bool  # whether ranges are multiples of slides
    ticks: int = 1

    def windows(
        self, n: int, *, skew: float = SKEW, overlap: float = OVERLAP, seed: int = 1
    ) -> list[tuple[int, int]]:
        """Draw n windows (range, slide), in ticks."""
        slides = [d * self.ticks for d in range(1, self.longest + 1) if self.longest % d == 0]
        return zipf_windows(
            n, slides, skew=skew, overlap=overlap, fragments=not self.whole, seed=seed
        )


WHOLE = Reading("whole multiples", 360, whole=True)
TENTHS = Reading("any multiple, tenths of a second", 3600, whole=False, ticks=10)
SECONDS = Reading("any multiple, seconds", 3600, whole=False)
READINGS = (WHOLE, TENTHS, SECONDS)


@dataclass(frozen=True, slots=True)
class PublishedGain:
    """How much less Weave Share costs than one tree, as the text says."""

    figure: int
    queries: int
    rate: float
    percent: float
    overlap: float = OVERLAP


GAINS: Sequence[PublishedGain] = (
    PublishedGain(6, 1000, 10_000, 62),
    PublishedGain(8, 250, 50, 80),
    PublishedGain(8, 250, 2_000, 24),
    PublishedGain(8, 250, 3_000, 6),
    PublishedGain(8, 1000, 10_000, 12),
    PublishedGain(8, 2000, 10_000, 24),
    # "Less than 200" is one tree; from there to 2,000 it is 19 to 74%, the first not being legible.
    PublishedGain(9, 2000, 100_000, 0, 100),
    PublishedGain(9, 2000, 100_000, 74, 2000),
)
# Weave Share over Insert-then-Weave and Shared at 1,000 queries, by the rate (Figures 4 and 5).
ORDERS = {LOW: 1e3, MEDIUM: 1e4}
# At 10,000 rows/s: over Random, Insert-then-Weave, No Share and Local Search (Section 7.2).
OVER_SEARCHES = 100.0
