"""The study of Shein et al. (CIKM 2015): its settings (Table 1) and the values that it prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from gingham.datasets.windows import primes_up_to, skewed_windows, zipf_windows

# The study's word for it is Zipf. "length": popularity is a power of the slide, the reading that
# fits its text. "rank": a power of the rank, the longest slide being the first.
Law = Literal["length", "rank"]

RUNS = 5
MEMORY = 96 * 2**30 * 8  # bits of the study's machine
PAPER_RATIO = (500, 1e62)  # queries, and operations of BS / F1: abstract and Section 1


@dataclass(frozen=True, slots=True)
class Setting:
    """One point of an experiment: a line of Table 1 with the varied parameter set."""

    queries: int
    longest: int
    rate: float
    skew: float
    overlap: int
    prime: bool = False
    fragments: bool = False  # by rank only: a range need not be a multiple of its slide

    def windows(self, seed: int, law: Law = "length") -> list[tuple[int, int]]:
        """Draw its windows (range, slide)."""
        slides = primes_up_to(self.longest) if self.prime else range(1, self.longest + 1)
        if law == "length":
            return skewed_windows(
                self.queries, slides, skew=self.skew, overlap=self.overlap, seed=seed
            )
        return zipf_windows(
            self.queries,
            slides,
            skew=self.skew,
            overlap=self.overlap,
            fragments=self.fragments,
            seed=seed,
        )


@dataclass(frozen=True, slots=True)
class Published:
    """A line of Table 2, and the numbers of trees that the text gives."""

    bs_best: float
    f1_best: float
    average: float  # seconds of BS / F1
    most: float
    opt_percent: float  # that F1+Opt saves
    trees: Mapping[float, int] = field(default_factory=dict[float, int])


@dataclass(frozen=True, slots=True)
class Experiment:
    """One experiment: what is varied, its points in the study's order, and what it found."""

    number: int
    figure: int
    parameter: str
    points: Sequence[tuple[float, Setting]]
    published: Published


EXPERIMENTS = (
    Experiment(
        1,
        7,
        "queries",
        [
            (n, Setting(n, 1000, 0.002, 0.5, 10))
            for n in (100, 250, 550, 1000, 10_000, 100_000, 1_000_000)
        ],
        Published(550, 1e6, 350, 790, 28),
    ),
    Experiment(
        2,
        8,
        "longest slide",
        [
            (s, Setting(1000, s, 1.0, 3, 100, prime=True))
            for s in (100, 200, 400, 600, 800, 1000, 2000, 5000, 10_000)
        ],
        Published(800, 10_000, 2_200, 10_000, 18),
    ),
    Experiment(
        3,
        9,
        "rate",
        [
            (r, Setting(1000, 100, r, 1, 1000))
            for r in (100, 200, 400, 900, 10_000, 100_000, 1_000_000)
        ],
        Published(
            900,
            1e6,
            3_800,
            16_000,
            19,
            {100: 71, 400: 29, 900: 15, 10_000: 4, 100_000: 1, 1_000_000: 1},
        ),
    ),
    Experiment(
        4,
        10,
        "skew",
        [(z, Setting(50, 500, 0.1, z, 100)) for z in (0, 1, 2.25, 3, 5, 10, 30, 100)],
        Published(2.25, 100, 14_000, 60_000, 18),
    ),
    Experiment(
        5,
        11,
        "overlap factor",
        [(o, Setting(1000, 600, 1.0, 3, o, prime=True)) for o in (100, 70, 50, 40, 20, 10, 1)],
        Published(40, 1, 5_600, 16_000, 26),
    ),
)
