"""Compute the counters of AMS sketches: sums of frequencies times random signs of keys.

Signs are linear over bits, so they are computed for 64 keys at once: a table holds the parities
of all 256 subsets of eight bits of the keys, and a copy looks up one row for each byte of its
seed (the method of the four Russians). Sums are taken bit by bit of the frequencies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from gingham.core.arrays import Ints, Positions, Words
from gingham.core.errors import AnswerError
from gingham.estimates.algebra.signs import ONE, cubes

# Keys and copies that are processed at a time: their tables and signs stay in the CPU's cache.
BLOCK, COPIES = 1 << 14, 1 << 11
LARGEST = 2**63 - 1
BITS = (1 << np.arange(8, dtype=np.uint8)).reshape(8, 1)


def count(families: Sequence[Words], keys: Sequence[Words], frequencies: Ints) -> Ints:
    """Compute a sketch's counters, one per copy: the sum of frequency times signs of join keys.

    There is a xi family (its seeds) and a column of keys for each attribute; frequencies may be
    negative.
    """
    return count_slices(families, keys, frequencies, np.zeros(1, dtype=np.intp))[0]


def count_slices(
    families: Sequence[Words],
    keys: Sequence[Words],
    frequencies: Ints,
    starts: Positions,
) -> Ints:
    """Compute a row of sketch counters for each slice; `starts` has the first key of each slice."""
    check_magnitude(frequencies)
    if len(starts) > 1:
        keys, frequencies, starts = _aligned_slices(keys, frequencies, starts)
    # Modulo 2^64, which is exact: check_magnitude refuses what would overflow.
    total = np.zeros((len(starts), len(families[0])), dtype=np.uint64)
    parities = _Parities(families, -(-min(len(frequencies), BLOCK) // 64))
    for start in range(0, len(frequencies), BLOCK):
        stop = start + BLOCK
        first = int(np.searchsorted(starts, start, side="right")) - 1
        last = int(np.searchsorted(starts, stop))
        inside = np.maximum(starts[first:last] - start, 0)
        for copies, odd in parities.of([column[start:stop] for column in keys]):
            total[first:last, copies] += _signed_sums(odd, frequencies[start:stop], inside)
    flipped = np.bitwise_xor.reduce([seeds[:, 2] & ONE for seeds in families])
    counters = total.view(np.int64)
    return np.where(flipped == ONE, -counters, counters)


def check_magnitude(frequencies: Ints) -> None:
    """Refuse frequencies of join keys that add up to more than a sketch's counter holds."""
    # As floats first: exact sums of whole numbers are slow and rarely needed.
    if np.abs(frequencies.astype(np.float64)).sum() < LARGEST / 2:
        return
    if sum(abs(int(value)) for value in frequencies) > LARGEST:
        raise overflow()


def overflow() -> AnswerError:
    """The error of a sketch's counter that 64 bits cannot hold."""
    return AnswerError(
        "a sketch counter overflows",
        "the values of one relation add up to more than 64 bits hold",
        "sum a smaller unit (thousands, not ones), or shorter windows",
    )


class _Parities:
    """Finds for each copy of a sketch the join keys whose product of signs is -1, as bits.

    The same memory is used for all blocks: allocating it costs more than the computation.
    """

    def __init__(self, families: Sequence[Words], words: int) -> None:
        copies = len(families[0])
        self._copies = [slice(a, min(a + COPIES, copies)) for a in range(0, copies, COPIES)]
        # By byte of the seeds for a key and for its cube: which bits each copy chooses.
        self._chosen = [
            np.ascontiguousarray(seeds[:, :2]).view(np.uint8).reshape(-1, 16).T.astype(np.intp)
            for seeds in families
        ]
        self._odd, self._rows = np.empty((2, min(copies, COPIES), words), dtype=np.uint64)
        self._table = np.zeros((256, words), dtype=np.uint64)

    def of(self, keys: Sequence[Words]) -> Iterator[tuple[slice, Words]]:
        """Yield copies and the bits of their keys' signs, which the next step overwrites."""
        words = self._table.shape[1]
        planes = [
            [*_bit_planes(column, words), *_bit_planes(cubes(column), words)] for column in keys
        ]
        for copies in self._copies:
            size = copies.stop - copies.start
            odd, rows = self._odd[:size], self._rows[:size]
            odd[:] = 0
            for chosen, bits in zip(self._chosen, planes, strict=True):
                for byte, chooses in enumerate(chosen):
                    eight = bits[8 * byte : 8 * byte + 8]
                    if any(row.any() for row in eight):
                        table = self._choices(eight)
                        np.take(table, chooses[copies], axis=0, out=rows, mode="clip")
                        np.bitwise_xor(odd, rows, out=odd)
            yield copies, odd

    def _choices(self, eight: Sequence[Words]) -> Words:
        """Fill the table of signs: row c is the exclusive or of rows whose bits are set in c."""
        table = self._table
        for bit, row in enumerate(eight):
            np.bitwise_xor(table[: 1 << bit], row, out=table[1 << bit : 2 << bit])
        return table


def _bit_planes(values: Words, words: int) -> Words:
    """Transpose words of join keys or frequencies to bit planes: row b has bit b of all."""
    columns = np.zeros((8, 1, 64 * words), dtype=np.uint8)
    columns[:, 0, : len(values)] = values.astype("<u8", copy=False).view(np.uint8).reshape(-1, 8).T
    return np.packbits(columns & BITS, axis=2, bitorder="little").reshape(64, -1).view("<u8")


def _signed_sums(odd: Words, frequencies: Ints, starts: Positions) -> Words:
    """Sum frequencies of join keys, negated where the sign bit is set, by slice and copy."""
    least = frequencies.min()
    above = frequencies.view(np.uint64) - least.view(np.uint64)
    planes = _bit_planes(above, odd.shape[1])[: int(above.max()).bit_length()]
    words = starts // 64
    negated = _count_sign_bits(odd, words) * least.view(np.uint64)
    for bit, plane in enumerate(planes):
        negated += _count_sign_bits(odd & plane, words) << np.uint64(bit)
    sums = np.add.reduceat(frequencies.view(np.uint64), starts)
    return sums[:, None] - (negated << ONE)


def _count_sign_bits(bits: Words, starts: Positions) -> Words:
    """Count the sign bits that are set, by slice and copy of a sketch."""
    counts = np.bitwise_count(bits)
    if len(starts) == 1:
        return counts.sum(axis=1, dtype=np.uint64)[None, :]
    return np.add.reduceat(counts, starts, axis=1, dtype=np.uint64).T


def _aligned_slices(
    keys: Sequence[Words], frequencies: Ints, starts: Positions
) -> tuple[list[Words], Ints, Positions]:
    """Pad slices with join keys of frequency zero, so that each starts at a multiple of 64."""
    lengths = np.diff(starts, append=len(frequencies))
    padded_lengths = -(-lengths // 64) * 64
    padded_starts = np.cumsum(padded_lengths) - padded_lengths
    positions = np.arange(len(frequencies)) + np.repeat(padded_starts - starts, lengths)
    padded = [np.zeros(padded_lengths.sum(), dtype=np.uint64) for _ in (*keys, frequencies)]
    for column, values in zip(padded, (*keys, frequencies.view(np.uint64)), strict=True):
        column[positions] = values
    return padded[:-1], padded[-1].view(np.int64), padded_starts
