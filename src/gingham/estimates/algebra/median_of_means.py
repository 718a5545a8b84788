"""Estimate a mean from samples, with an interval around the median of means of groups."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from gingham.core.arrays import Floats
from gingham.core.errors import GinghamError

# Products of sketches have long tails: the variance of fewer samples is no estimate of theirs.
_FEWEST = 100


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimated answer, its interval, the variance of the mean, the words it is made from."""

    value: float
    lower: float
    upper: float
    variance: float
    copies: int
    words: int


def median_of_means(samples: Floats, confidence: float = 0.95, words: int = 0) -> Estimate:
    """Estimate a join's answer from samples by their mean, with an interval around it.

    The interval is around a median of means. By Chebyshev's inequality the mean of a group is off
    by more than k standard deviations with probability 1/k² at most; the median is off only if half
    of all groups are. As many groups are taken as make the interval shortest: one up to 97 %, more
    for higher confidence. With too few samples to know the deviation the interval is infinite.
    """
    check_confidence(confidence)
    copies, value = len(samples), float(samples.mean())
    variance = float(samples.var(ddof=1)) if copies > 1 else math.inf
    if copies < fewest_copies(confidence):
        lower, upper = -math.inf, math.inf
    else:
        lower, upper = _interval(samples, variance, confidence)
    return Estimate(
        value=value,
        lower=min(lower, value),
        upper=max(upper, value),
        variance=variance / copies,
        copies=copies,
        words=words,
    )


def check_confidence(confidence: float) -> None:
    """Refuse a confidence of intervals that is no probability."""
    if not 0 < confidence < 1:
        raise GinghamError(
            f"a confidence of {confidence}", "it is a probability", "0.95, or another below 1"
        )


def fewest_copies(confidence: float) -> int:
    """The least number of copies (samples) for which an estimate has a finite interval."""
    return max(_FEWEST, math.ceil(2 / (1 - confidence)))


def _interval(samples: Floats, variance: float, confidence: float) -> tuple[float, float]:
    """The interval of an estimate: the median of means of as many groups as make it shortest."""
    groups, deviations = _shortest(confidence, len(samples))
    middle = float(np.median([part.mean() for part in np.array_split(samples, groups)]))
    reach = deviations * math.sqrt(variance / (len(samples) // groups))
    return middle - reach, middle + reach


def _shortest(confidence: float, copies: int) -> tuple[int, float]:
    """The number of groups of samples with the shortest interval, and its width in deviations."""
    choices = [(groups, _deviations(groups, confidence)) for groups in range(1, 33, 2)]
    possible = [choice for choice in choices if choice[0] <= max(1, copies // 2)]
    return min(possible, key=lambda choice: choice[1] * math.sqrt(choice[0]))


@cache
def _deviations(groups: int, confidence: float) -> float:
    """How many standard deviations of a group's mean the median of means is off by at most."""
    low, high = 0.0, 0.5
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _majority(groups, middle) <= 1 - confidence else (low, middle)
    return math.sqrt(1 / low)


def _majority(groups: int, probability: float) -> float:
    """The probability that the means of most groups are off, if each is with this probability."""
    return math.fsum(
        math.comb(groups, off) * probability**off * (1 - probability) ** (groups - off)
        for off in range(groups // 2 + 1, groups + 1)
    )
