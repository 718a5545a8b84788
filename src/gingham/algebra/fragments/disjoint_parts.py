"""Decompositions for general aggregates, whose records may not overlap within a query.

A row of F has to be a union of disjoint basis rows; or, transposed, a query a union of disjoint
sets of fragments (Huebsch et al., Section 3). Either way, a set is subtracted from every set that
contains it.
"""

from __future__ import annotations

import numpy as np

from gingham.core.arrays import Bools, Ints, Words

# Which basis rows make up each row of a matrix (rows x basis), and the basis rows.
Parts = tuple[Bools, Bools]

# Subtracting rows begins with a part per fragment: with this many more fragments than queries,
# too many parts remain.
_TOO_MANY_FRAGMENTS = 4


def disjoint_parts(matrix: Bools) -> Parts:
    """Find the smallest of several disjoint bases of a fragment matrix, at most one part per query.

    Subtracting queries begins with a part per query, and a query that is a disjoint union of
    others needs no part of its own. Subtracting rows is tried in addition.
    """
    across = matrix.T
    candidates = [(sets.T, queries.T) for queries, sets in _both_orders(across)]
    if len(matrix) <= _TOO_MANY_FRAGMENTS * len(across):
        candidates += _both_orders(matrix)
    return min(candidates, key=lambda parts: parts[0].shape[1])


def _both_orders(matrix: Bools) -> list[Parts]:
    """Two disjoint bases of a fragment matrix: rows subtracted by size, and in matrix order."""
    by_size = np.argsort(matrix.sum(axis=1), kind="stable")
    return [
        subtracted(matrix, by_size, largest_first=True),
        subtracted(matrix, np.arange(len(matrix)), largest_first=False),
    ]


def subtracted(matrix: Bools, order: Ints, *, largest_first: bool) -> Parts:
    """Subtract matrix rows from rows that contain them, until no row contains another.

    Rows are subtracted in the given order, or the largest that fits first.
    """
    remaining = _packed_rows(matrix[order])
    members = np.eye(len(remaining), dtype=bool)  # members[t, x]: part t belongs to row x
    progress = True
    while progress:
        progress = False
        for i in range(len(remaining)):
            inside = np.flatnonzero(
                ~(remaining & ~remaining[i]).any(axis=1) & remaining.any(axis=1)
            )
            if largest_first and len(inside) > 1:
                sizes = np.bitwise_count(remaining[inside]).sum(axis=1, dtype=np.int64)
                inside = inside[np.argsort(-sizes, kind="stable")]
            for j in inside:
                if i != j and not (remaining[j] & ~remaining[i]).any():
                    remaining[i] ^= remaining[j]
                    members[j] |= members[i]
                    progress = True
    nonempty = np.flatnonzero(remaining.any(axis=1))
    bits = np.unpackbits(remaining[nonempty].view(np.uint8), axis=1, count=matrix.shape[1])
    parts = np.empty((len(matrix), len(nonempty)), dtype=bool)
    parts[order] = members[nonempty].T
    return parts, bits.astype(bool)


def _packed_rows(rows: Bools) -> Words:
    """Pack rows of a fragment matrix into 64-bit words."""
    packed = np.packbits(rows, axis=1)
    padded = np.zeros((len(rows), -(-packed.shape[1] // 8) * 8), dtype=np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view(np.uint64)
