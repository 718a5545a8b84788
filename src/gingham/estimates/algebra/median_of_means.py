"""Means of samples, with an interval around their median of means."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from gingham.core.arrays import Floats
from gingham.core.errors import GinghamError

# Products of sketches have long tails: fewer samples do not tell how far they spread.
_FEWEST = 100


@dataclass(frozen=True, slots=True)
class Estimate:
    """An answer, an interval around it, the variance of the mean, and the words it is made from."""

    value: float
    lower: float
    upper: float
    variance: float
    copies: int
    words: int


def median_of_means(samples: Floats, confidence: float = 0.95, words: int = 0) -> Estimate:
    """Estimate what the samples are on average: by their mean, which is right on average.

    The interval is around a median of means. By Chebyshev's inequality the mean of a group is off
    by more than k standard deviations with probability 1/k² at most; the median is off only if half
    of all groups are. As many groups are taken as make the interval shortest: one up to 97 %, more
    for higher confidence. Without samples enough to know the deviation it is endless.
    """
    if not 0 < confidence < 1:
        raise GinghamError(
            f"a confidence of {confidence}", "it is a probability", "0.95, or another below 1"
        )
    copies, value = len(samples), float(samples.mean())
    variance = float(samples.var(ddof=1)) if copies > 1 else math.inf
    if copies < fewest(confidence):
        return Estimate(value, -math.inf, math.inf, variance / copies, copies, words)
    groups, deviations = _shortest(confidence, copies)
    middle = float(np.median([part.mean() for part in np.array_split(samples, groups)]))
    reach = deviations * math.sqrt(variance / (copies // groups))
    lower, upper = min(middle - reach, value), max(middle + reach, value)
    return Estimate(value, lower, upper, variance / copies, copies, words)


def fewest(confidence: float) -> int:
    """The fewest samples that an interval is made from: what it may miss is to be seen in them."""
    return max(_FEWEST, math.ceil(2 / (1 - confidence)))


def _shortest(confidence: float, copies: int) -> tuple[int, float]:
    choices = [(groups, _deviations(groups, confidence)) for groups in range(1, 33, 2)]
    possible = [choice for choice in choices if choice[0] <= max(1, copies // 2)]
    return min(possible, key=lambda choice: choice[1] * math.sqrt(choice[0]))


@cache
def _deviations(groups: int, confidence: float) -> float:
    """How many standard deviations of a group's mean the median stays within."""
    low, high = 0.0, 0.5
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _most(groups, middle) <= 1 - confidence else (low, middle)
    return math.sqrt(1 / low)


def _most(groups: int, probability: float) -> float:
    """How probable it is that most groups are off, if each is with this probability."""
    return math.fsum(
        math.comb(groups, off) * probability**off * (1 - probability) ** (groups - off)
        for off in range(groups // 2 + 1, groups + 1)
    )
