"""Medians of means, with an interval that holds for any distribution."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from gingham.core.errors import GinghamError


@dataclass(frozen=True, slots=True)
class Estimate:
    """An answer, an interval around it, the variance of the mean, and the words it is made from."""

    value: float
    lower: float
    upper: float
    variance: float
    copies: int
    words: int


def median_of_means(
    samples: npt.NDArray[np.float64], confidence: float = 0.95, words: int = 0
) -> Estimate:
    """Estimate what the samples are on average.

    By Chebyshev's inequality the mean of a group is off by more than k standard deviations with
    probability 1/k² at most; the median is off only if half of all groups are. As many groups are
    taken as make the interval shortest: one up to 97 %, more for higher confidence.
    """
    if not 0 < confidence < 1:
        raise GinghamError(
            f"a confidence of {confidence}", "it is a probability", "0.95, or another below 1"
        )
    copies = len(samples)
    if copies < 2:
        value = float(samples[0])
        return Estimate(value, -math.inf, math.inf, math.inf, copies, words)
    groups, deviations = _shortest(confidence, copies)
    means = [part.mean() for part in np.array_split(samples, groups)]
    variance = float(samples.var(ddof=1))
    value = float(np.median(means))
    reach = deviations * math.sqrt(variance / (copies // groups))
    return Estimate(value, value - reach, value + reach, variance / copies, copies, words)


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
