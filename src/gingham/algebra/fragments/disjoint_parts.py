"""General aggregates: every partial reaches every query once (Huebsch et al., Section 3).

Then a row of F has to be a union of disjoint basis rows; or, from the other side, a query a union
of disjoint sets of fragments. Either way a set is taken out of every set that contains it.
"""

from __future__ import annotations

import numpy as np

from gingham.core.arrays import Bools, Ints, Words

Parts = tuple[Bools, Bools]

# Rows start as one part per fragment: with so many more fragments than queries they stay too many.
_TOO_LONG = 4


def disjoint_parts(matrix: Bools) -> Parts:
    """The smallest of several such bases, of rows and of queries; never more than queries.

    From the queries' side no sharing is where it begins, and a query that is a disjoint union of
    others vanishes.
    """
    across = matrix.T
    found = [(sets.T, queries.T) for queries, sets in _both_orders(across)]
    if len(matrix) <= _TOO_LONG * len(across):
        found += _both_orders(matrix)
    return min(found, key=lambda parts: parts[0].shape[1])


def _both_orders(matrix: Bools) -> list[Parts]:
    by_size = np.argsort(matrix.sum(axis=1), kind="stable")
    return [
        subtracted(matrix, by_size, largest_first=True),
        subtracted(matrix, np.arange(len(matrix)), largest_first=False),
    ]


def subtracted(matrix: Bools, order: Ints, *, largest_first: bool) -> Parts:
    """Take rows out of rows until none contains another; remember which parts make up each row.

    The others are tried in order, or the largest that fits first.
    """
    rest = _words(matrix[order])
    members = np.eye(len(rest), dtype=bool)  # members[t, x]: part t belongs to row x
    progress = True
    while progress:
        progress = False
        for i in range(len(rest)):
            inside = np.flatnonzero(~(rest & ~rest[i]).any(axis=1) & rest.any(axis=1))
            if largest_first and len(inside) > 1:
                sizes = np.bitwise_count(rest[inside]).sum(axis=1, dtype=np.int64)
                inside = inside[np.argsort(-sizes, kind="stable")]
            for j in inside:
                if i != j and not (rest[j] & ~rest[i]).any():
                    rest[i] ^= rest[j]
                    members[j] |= members[i]
                    progress = True
    kept = np.flatnonzero(rest.any(axis=1))
    bits = np.unpackbits(rest[kept].view(np.uint8), axis=1, count=matrix.shape[1])
    parts = np.empty((len(matrix), len(kept)), dtype=bool)
    parts[order] = members[kept].T
    return parts, bits.astype(bool)


def _words(rows: Bools) -> Words:
    packed = np.packbits(rows, axis=1)
    padded = np.zeros((len(rows), -(-packed.shape[1] // 8) * 8), dtype=np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view(np.uint64)
