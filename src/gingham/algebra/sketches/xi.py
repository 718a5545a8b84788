"""Four-wise independent signs, reproducible from a seed.

The sign of key i is the parity of the bits that i and i cubed, taken in the field of 2^64
elements, have in common with two random words, plus one random bit: any four (even five)
different keys have signs that are independent, each +1 or -1 with equal probability (Alon,
Matias, Szegedy 1996: dual BCH codes). All 64 bits of a key count, so nothing is folded; a
polynomial modulo an odd prime would fold keys beyond the prime, and its last bit is not exactly
balanced. Powers are taken once for each key and not for each copy: a sign then costs two ANDs.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]

# x^64 + x^4 + x^3 + x + 1 is irreducible.
REMAINDER = np.uint64(0b11011)
ONE, TOP = np.uint64(1), np.uint64(63)


def family(seed: int, number: int, copies: int) -> Words:
    """The seeds of one family: for each copy a word for i, one for its cube, and a sign bit.

    More copies begin with the same ones.
    """
    key = [seed & (2**64 - 1), number]
    return np.random.Philox(key=key).random_raw(3 * copies).reshape(copies, 3)


def signs(seeds: Words, keys: Words) -> npt.NDArray[np.int64]:
    """+1 or -1 for each copy and key."""
    common = (seeds[:, :1] & keys) ^ (seeds[:, 1:2] & cubes(keys))
    odd = (np.bitwise_count(common).astype(np.uint64) ^ seeds[:, 2:]) & ONE
    return 1 - 2 * odd.astype(np.int64)


def cubes(keys: Words) -> Words:
    """The third power of each key in the field of 2^64 elements."""
    return _times(_times(keys, keys), keys)


def _times(left: Words, right: Words) -> Words:
    result = np.zeros_like(left)
    for bit in range(int(right.max(initial=0)).bit_length()):
        result ^= left * ((right >> np.uint64(bit)) & ONE)
        left = (left << ONE) ^ ((left >> TOP) * REMAINDER)
    return result
