"""Atomic sketches: the frequencies of keys, projected on random signs.

Signs are linear over bits, so they are computed for 64 keys at once: a table holds the parities
of all 256 choices from eight bits of the keys, and a copy looks up one row for each byte of its
seed (the method of the four Russians). Sums are taken bit by bit of the frequencies.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gingham.algebra.sketches.xi import ONE, Words, cubes
from gingham.core.errors import AnswerError

Counters = npt.NDArray[np.int64]

# Keys at a time: the tables and the signs of a thousand copies stay in the cache.
BLOCK = 1 << 13
MOST = 2**63 - 1
BITS = (1 << np.arange(8, dtype=np.uint8)).reshape(8, 1)


def count(
    families: Sequence[Words], keys: Sequence[Words], frequencies: npt.NDArray[np.int64]
) -> Counters:
    """One counter for each copy: the sum of frequency times the product of the keys' signs.

    There is a family and a column of keys for each attribute; frequencies may be negative.
    """
    return count_slices(families, keys, frequencies, np.zeros(1, dtype=np.intp))[0]


def count_slices(
    families: Sequence[Words],
    keys: Sequence[Words],
    frequencies: npt.NDArray[np.int64],
    starts: npt.NDArray[np.intp],
) -> Counters:
    """A row of counters for each slice of the keys; `starts` tells where slices begin."""
    check_magnitude(frequencies)
    if len(starts) > 1:
        keys, frequencies, starts = _aligned(keys, frequencies, starts)
    # Modulo 2^64, which the check has made exact.
    total = np.zeros((len(starts), len(families[0])), dtype=np.uint64)
    for start in range(0, len(frequencies), BLOCK):
        stop = start + BLOCK
        odd = _odd(families, [column[start:stop] for column in keys])
        first = int(np.searchsorted(starts, start, side="right")) - 1
        last = int(np.searchsorted(starts, stop))
        inside = np.maximum(starts[first:last] - start, 0)
        total[first:last] += _weighed(odd, frequencies[start:stop], inside)
    flipped = np.bitwise_xor.reduce([seeds[:, 2] & ONE for seeds in families])
    counters = total.view(np.int64)
    return np.where(flipped == ONE, -counters, counters)


def check_magnitude(frequencies: npt.NDArray[np.int64]) -> None:
    """A counter may reach the sum of all magnitudes, and has 63 bits."""
    # As floats first: exact sums of whole numbers are slow and rarely needed.
    if np.abs(frequencies.astype(np.float64)).sum() < MOST / 2:
        return
    if sum(abs(int(value)) for value in frequencies) > MOST:
        raise overflow()


def overflow() -> AnswerError:
    """The error of a counter that 64 bits cannot hold."""
    return AnswerError(
        "a sketch counter overflows",
        "the values of one relation add up to more than 64 bits hold",
        "sum a smaller unit (thousands, not ones), or shorter windows",
    )


def _odd(families: Sequence[Words], keys: Sequence[Words]) -> Words:
    """For each copy the keys whose product of signs is -1, a bit for each key."""
    words = -(-len(keys[0]) // 64)
    odd = np.zeros((len(families[0]), words), dtype=np.uint64)
    found = np.empty_like(odd)
    for seeds, column in zip(families, keys, strict=True):
        for place, powers in enumerate((column, cubes(column))):
            chosen = np.ascontiguousarray(seeds[:, place]).view(np.uint8).reshape(-1, 8)
            chosen = chosen.T.astype(np.intp)
            planes = _planes(powers, words)
            for byte in range(8):
                eight = planes[8 * byte : 8 * byte + 8]
                if eight.any():
                    # Into the same memory each time: new memory costs more than the lookup.
                    np.take(_choices(eight), chosen[byte], axis=0, out=found, mode="clip")
                    odd ^= found
    return odd


def _planes(values: Words, words: int) -> Words:
    """Bit by bit: row b has bit b of all values."""
    columns = np.zeros((8, 1, 64 * words), dtype=np.uint8)
    columns[:, 0, : len(values)] = values.astype("<u8", copy=False).view(np.uint8).reshape(-1, 8).T
    return np.packbits(columns & BITS, axis=2, bitorder="little").reshape(64, -1).view("<u8")


def _choices(eight: Words) -> Words:
    """Row c is the exclusive or of the rows whose bits are set in c."""
    table = np.zeros((256, eight.shape[1]), dtype=np.uint64)
    for bit, row in enumerate(eight):
        table[1 << bit : 2 << bit] = table[: 1 << bit] ^ row
    return table


def _weighed(odd: Words, frequencies: npt.NDArray[np.int64], starts: npt.NDArray[np.intp]) -> Words:
    """The sum of frequencies, negated where the bit is set, by slice and copy; modulo 2^64."""
    least = frequencies.min()
    above = frequencies.view(np.uint64) - least.view(np.uint64)
    planes = _planes(above, odd.shape[1])[: int(above.max()).bit_length()]
    words = starts // 64
    negated = _ones(odd, words) * least.view(np.uint64)
    for bit, plane in enumerate(planes):
        negated += _ones(odd & plane, words) << np.uint64(bit)
    sums = np.add.reduceat(frequencies.view(np.uint64), starts)
    return sums[:, None] - (negated << ONE)


def _ones(bits: Words, starts: npt.NDArray[np.intp]) -> Words:
    """How many bits are set, by slice and copy."""
    counts = np.bitwise_count(bits)
    if len(starts) == 1:
        return counts.sum(axis=1, dtype=np.uint64)[None, :]
    return np.add.reduceat(counts, starts, axis=1, dtype=np.uint64).T


def _aligned(
    keys: Sequence[Words], frequencies: npt.NDArray[np.int64], starts: npt.NDArray[np.intp]
) -> tuple[list[Words], npt.NDArray[np.int64], npt.NDArray[np.intp]]:
    """The same slices, each from a multiple of 64 on, with keys that count nothing in between."""
    lengths = np.diff(starts, append=len(frequencies))
    room = -(-lengths // 64) * 64
    moved = np.cumsum(room) - room
    places = np.arange(len(frequencies)) + np.repeat(moved - starts, lengths)
    spread = [np.zeros(room.sum(), dtype=np.uint64) for _ in (*keys, frequencies)]
    for column, given in zip(spread, (*keys, frequencies.view(np.uint64)), strict=True):
        column[places] = given
    return spread[:-1], spread[-1].view(np.int64), moved
