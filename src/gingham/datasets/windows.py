"""Random windows as in the studies of Weave Share (CIKM 2011) and F1 (CIKM 2015).

Slides are drawn from a list of templates, the longest ones being the most popular, by Zipf's law or
by a power of their length; a range is its slide times a random overlap factor from one up to a
largest one.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

# The studies do not list their slides; these are the usual ones, all divisors of an hour.
TEMPLATES = tuple(d for d in range(1, 3601) if 3600 % d == 0)


def zipf_windows(
    n: int,
    slides: Sequence[int],
    *,
    skew: float,
    overlap: float,
    fragments: bool = True,
    seed: int = 0,
) -> list[tuple[int, int]]:
    """Draw n random windows (range, slide); ranges are multiples of slides without `fragments`.

    >>> zipf_windows(3, range(1, 101), skew=0.5, overlap=10, seed=1)
    [(677, 71), (38, 10), (467, 97)]
    """
    chance = np.random.default_rng(seed)
    ranked = np.sort(np.asarray(slides))[::-1]
    popularity = np.arange(1, len(ranked) + 1, dtype=float) ** -skew
    drawn = chance.choice(ranked, n, p=popularity / popularity.sum())
    if fragments:
        ranges = np.rint(chance.uniform(1, overlap, n) * drawn).astype(np.int64)
    else:
        ranges = chance.integers(1, int(overlap), n, endpoint=True) * drawn
    return list(zip(ranges.tolist(), drawn.tolist(), strict=True))


def skewed_windows(
    n: int, slides: Sequence[int], *, skew: float, overlap: int, seed: int = 0
) -> list[tuple[int, int]]:
    """Draw n random windows whose slides are as popular as their length to the power of `skew`.

    A skew of zero makes all slides equally popular, a large one leaves some of the longest.

    >>> skewed_windows(3, range(1, 101), skew=0.5, overlap=10, seed=1)
    [(576, 64), (970, 97), (84, 28)]
    """
    chance = np.random.default_rng(seed)
    lengths = np.asarray(slides)
    popularity = (lengths / lengths.max()) ** skew
    drawn = chance.choice(lengths, n, p=popularity / popularity.sum())
    ranges = chance.integers(1, overlap, n, endpoint=True) * drawn
    return list(zip(ranges.tolist(), drawn.tolist(), strict=True))


def primes_up_to(longest: int) -> list[int]:
    """List primes as slides of test windows that have no factor in common.

    >>> primes_up_to(20)
    [2, 3, 5, 7, 11, 13, 17, 19]
    """
    sieve = np.ones(longest + 1, dtype=bool)
    sieve[:2] = False
    for i in range(2, int(longest**0.5) + 1):
        sieve[i * i :: i] = False
    return np.flatnonzero(sieve).tolist()


def stock_windows(n: int, seed: int = 0) -> list[tuple[int, int]]:
    """Draw n random windows of 600 to 900 seconds that slide by 300 to 600, as in the 2006 study.

    >>> stock_windows(2)
    [(797, 515), (620, 432)]
    """
    chance = random.Random(seed)
    return [(chance.randint(600, 900), chance.randint(300, 600)) for _ in range(n)]
