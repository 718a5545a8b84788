"""Greatest common divisors: by Euclid's algorithm, and from a table that is made once for a run."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from gingham.core.errors import BudgetError

# The table of the study: all pairs up to here, 4 GB of 8 bytes each. Ours takes 2 bytes each.
LARGEST_TABLE = 32_768

Divisor = Callable[[int, int], tuple[int, int]]  # greatest common divisor, operations it took


def euclid(a: int, b: int) -> tuple[int, int]:
    """Compute the greatest common divisor of two slides; an operation is a step of Euclid.

    >>> euclid(60, 36)
    (12, 3)
    """
    steps = 0
    while b:
        a, b = b, a % b
        steps += 1
    return a, steps


@lru_cache(maxsize=2)
def divisors_from_table(largest: int) -> Divisor:
    """Preload the divisors of all pairs of numbers up to the largest; return the lookup.

    Shein et al. (CIKM 2015), Section 3.3. The table is made on the first call and kept. Numbers
    beyond it take steps of Euclid's algorithm until they are in it: with a table up to the longest
    slide that is one step, whatever the other number is. A lookup is one operation.

    >>> from_table = divisors_from_table(100)
    >>> from_table(60, 36), from_table(1_000_000, 36), from_table(1_000_000, 1_001)
    ((12, 2), (4, 2), (1, 3))
    """
    if largest > LARGEST_TABLE:
        raise BudgetError(
            f"a table of all divisors up to {largest:,}",
            f"it grows with the square of that; {LARGEST_TABLE:,} is the most",
            f"divisors_from_table({LARGEST_TABLE}), which needs a few steps of Euclid's algorithm",
        )
    # Of each pair the larger number comes first after one step: half of the square is enough.
    rows = [
        array("H", np.gcd(np.arange(b), b).astype(np.uint16).tobytes()) for b in range(largest + 1)
    ]

    def from_table(a: int, b: int) -> tuple[int, int]:
        if 0 < b <= largest:
            return rows[b][a % b], 2
        steps = 2
        while b > largest:
            a, b = b, a % b
            steps += 1
        return (rows[b][a % b], steps) if b else (a, steps)

    return from_table
