"""Estimate an average as the ratio of an estimated sum and an estimated count."""

from __future__ import annotations

import math

import numpy as np

from gingham.core.arrays import Floats
from gingham.estimates.algebra.median_of_means import Estimate, check_confidence, fewest_copies


def ratio_of_means(
    sums: Floats, counts: Floats, confidence: float = 0.95, words: int = 0
) -> Estimate:
    """Estimate sum / count from samples of both, made copy by copy, with an interval around it.

    For the true average a, the mean of sum - a * count is zero. By Chebyshev's inequality it is off
    by more than k standard deviations with probability 1/k² at most, so the interval has every a
    for which it is not: the solutions of a quadratic inequality (Fieller 1954). That needs no
    approximation for large numbers of copies, and sums and counts that are wrong together, because
    they share signs, make it short. If the count itself may be zero, the interval is infinite.
    """
    check_confidence(confidence)
    copies = len(sums)
    total, rows = float(sums.mean()), float(counts.mean())
    value = total / rows if rows else math.nan
    lower, upper, variance = -math.inf, math.inf, math.inf
    if copies > 1 and rows:
        variance = float((sums - value * counts).var(ddof=1)) / rows**2 / copies
    if copies >= fewest_copies(confidence):
        spread = np.cov(sums, counts) / (copies * (1 - confidence))
        lower, upper = _solutions(total, rows, spread)
    return Estimate(
        value=value, lower=lower, upper=upper, variance=variance, copies=copies, words=words
    )


def _solutions(total: float, rows: float, spread: Floats) -> tuple[float, float]:
    """All averages a with (total - a rows)² <= the variance of sum - a count, times k².

    `spread` has the covariances of the means of sum and count, times k².
    """
    square = rows**2 - float(spread[1, 1])
    if square <= 0:
        return -math.inf, math.inf
    middle = (total * rows - float(spread[0, 1])) / square
    rest = (total**2 - float(spread[0, 0])) / square
    # The ratio itself is a solution, so this is negative by rounding only.
    reach = math.sqrt(max(middle**2 - rest, 0.0))
    value = total / rows
    return min(middle - reach, value), max(middle + reach, value)
