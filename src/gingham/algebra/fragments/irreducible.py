"""Reductions and lower bounds of a set-basis problem: what matters of its rows and columns."""

from __future__ import annotations

from itertools import count

import numpy as np

from gingham.core.arrays import Bools, Float32s, Ints

# Zeros and ones as 32-bit floats: their products are exact below 2^24, and BLAS is fast.

# A matrix that deviates from chance by more standard deviations than this is not random.
_STRUCTURED = 5.0
_ATTEMPTS = 8


def irreducible(matrix: Bools) -> tuple[Ints, Ints]:
    """Find matrix rows that are no OR of other rows, and columns likewise, until all are needed.

    A basis of these is a basis of all: a dropped row is the OR of rows that it contains, and so
    of their basis rows.
    """
    sides = [np.arange(len(matrix)), np.arange(matrix.shape[1])]
    ones = matrix.astype(np.float32)
    for turn in count():  # rows and columns take turns
        kept = _no_union(ones)
        if turn and kept.all():
            break
        sides[turn % 2] = sides[turn % 2][kept]
        ones = np.ascontiguousarray(ones[kept].T)
    return sides[0], sides[1]


def inside(rows: Float32s) -> Bools:
    """Whether row a of a fragment matrix is a subset of row b, for all pairs: inside[a, b]."""
    common = rows @ rows.T
    return common == np.diagonal(common)[:, None]


def essential(ones: Float32s) -> Bools:
    """Select the ones of a matrix that have to be covered because no other one implies them.

    A maximal biclique that covers (a, b) also covers (i, j) if row a lies in row i and column b in
    column j. So maximal bicliques that cover the essential ones cover all ones.
    """
    rows, columns = inside(ones).astype(np.float32), inside(ones.T).astype(np.float32)
    implied_by = rows.T @ ones @ columns
    return (ones > 0) & (implied_by < 1.5)


def fooling(ones: Float32s, needed: Bools, most: int, rng: np.random.Generator) -> int:
    """Bound the size of a set basis from below by a fooling set: ones that share no biclique.

    The set is chosen greedily, ones that share bicliques with few others first; further attempts
    use slightly different orders.
    """
    at_row, at_column = np.nonzero(needed)
    company = (ones @ needed.T.astype(np.float32) @ ones)[at_row, at_column]
    matrix, best = ones > 0, 0
    for attempt in range(_ATTEMPTS):
        shaken = company * (1 + 0.2 * rng.random(len(company))) if attempt else company
        order = np.argsort(shaken, kind="stable")
        best = max(best, _pairwise_apart(matrix, at_row[order], at_column[order]))
        if best == most:
            break
    return best


def _pairwise_apart(matrix: Bools, at_row: Ints, at_column: Ints) -> int:
    """Count matrix ones chosen in order, each dropping those that share a biclique with it."""
    count = 0
    while len(at_row):
        together = matrix[at_row[0], at_column] & matrix[at_row, at_column[0]]
        at_row, at_column = at_row[~together], at_column[~together]
        count += 1
    return count


def looks_random(ones: Float32s) -> bool:
    """Whether matrix columns have common rows as often as chance explains, and rows likewise.

    The squared deviations of all pairs add up to their number, give or take, if columns are
    independent. Then there are no large bicliques beside the rows and columns themselves.
    """
    return _deviation(ones) < _STRUCTURED and _deviation(ones.T) < _STRUCTURED


def _deviation(ones: Float32s) -> float:
    """How many standard deviations the correlations of matrix columns are above chance."""
    count, width = ones.shape
    share = ones.mean(axis=0)
    spread = np.sqrt(np.maximum(share * (1 - share), 1e-9))
    normal = (ones - share) / spread
    pairs = width * (width - 1) / 2
    squares = float((np.square(normal.T @ normal) / count).sum() - width * count) / 2
    return (squares * (count - 1) / count - pairs) / np.sqrt(2 * pairs) if pairs else 0.0


def _no_union(rows: Float32s) -> Bools:
    """Which matrix rows are not the OR of other rows inside them, and the first of equal rows."""
    common = rows @ rows.T
    sizes = np.diagonal(common)
    # Of two equal rows, the later one counts as containing the earlier.
    order = sizes.astype(np.int64) * len(rows) + np.arange(len(rows))
    contains = (common == sizes) & (order < order[:, None])
    return (rows > contains.astype(np.float32) @ rows).any(axis=1)
