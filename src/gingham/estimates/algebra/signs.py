"""Random signs of join keys: four-wise independent, reproducible from a seed (xi families).

The sign of key i is the parity of the bits that i and i cubed, taken in the field of 2^64
elements, have in common with two random words, plus one random bit: any four (even five)
different keys have signs that are independent, each +1 or -1 with equal probability (Alon,
Matias, Szegedy 1996: dual BCH codes). All 64 bits of a key count, so nothing is folded; a
polynomial modulo an odd prime would fold keys beyond the prime, and its last bit is not exactly
balanced. Cubes are computed once for each key and not for each copy: a sign then costs two ANDs.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from gingham.core.arrays import Ints, Words

ONE, HALF = np.uint64(1), np.uint64(2**32 - 1)
# Every fourth bit, from the first, second, third and fourth one on.
FOURTHS = [np.uint64((2**64 - 1) // 15 << first) for first in range(4)]


def family_seeds(seed: int, number: int, copies: int) -> Words:
    """Draw the seeds of a xi family: for each copy a word for a key, one for its cube, a sign bit.

    The first seeds are the same whatever the number of copies.
    """
    key = [seed & (2**64 - 1), number]
    return np.random.Philox(key=key).random_raw(3 * copies).reshape(copies, 3)


def signs(seeds: Words, keys: Words) -> Ints:
    """Compute the random sign, +1 or -1, of each join key in each copy of a sketch."""
    common = (seeds[:, :1] & keys) ^ (seeds[:, 1:2] & cubes(keys))
    odd = (np.bitwise_count(common).astype(np.uint64) ^ seeds[:, 2:]) & ONE
    return 1 - 2 * odd.astype(np.int64)


def cubes(keys: Words) -> Words:
    """Compute the third power of each join key in the field of 2^64 elements, for random signs."""
    low, high = keys & HALF, keys >> np.uint64(32)
    # In a field of characteristic two squaring is linear: it only spreads the bits.
    square = _reduce_polynomial(_spread_bits(low), _spread_bits(high))
    few, many = square & HALF, square >> np.uint64(32)
    lowest, highest = _polynomial_product(low, few), _polynomial_product(high, many)
    # Three products of halves instead of four (Karatsuba).
    middle = _polynomial_product(low ^ high, few ^ many) ^ lowest ^ highest
    return _reduce_polynomial(lowest ^ middle << np.uint64(32), highest ^ middle >> np.uint64(32))


def _spread_bits(bits: Words) -> Words:
    """Insert a zero after each of the 32 bits of half a join key: its square as a polynomial."""
    for shift in (16, 8, 4, 2, 1):
        mask = np.uint64((2**64 - 1) // (2**shift + 1))  # every other group of `shift` bits
        bits = (bits | bits << np.uint64(shift)) & mask
    return bits


def _polynomial_product(left: Words, right: Words) -> Words:
    """Multiply polynomials of 32 bits (halves of join keys) over the field of two elements.

    Where factors have one bit in four, an integer product adds at most eight ones at each
    position, and carries stay within the three positions that are empty.
    """
    lefts, rights = ([side & every for every in FOURTHS] for side in (left, right))
    result = np.zeros_like(left)
    for first, every in enumerate(FOURTHS):
        products = (lefts[i] * rights[first - i] for i in range(4))
        result |= reduce(np.bitwise_xor, products) & every
    return result


def _reduce_polynomial(low: Words, high: Words) -> Words:
    """Reduce a polynomial of 128 bits modulo x^64 + x^4 + x^3 + x + 1, to a 64-bit join key."""
    beyond = high >> np.uint64(63) ^ high >> np.uint64(61) ^ high >> np.uint64(60)
    folded = high ^ beyond
    return low ^ folded ^ folded << ONE ^ folded << np.uint64(3) ^ folded << np.uint64(4)
