"""Random fragment matrices, and answers and ranks that nobody could get wrong."""

from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from hypothesis import strategies as st


@st.composite
def matrices(draw: st.DrawFn, most: int = 10) -> np.ndarray:
    """Sparse, dense or unions of few bases; empty ones, equal rows and zero rows included."""
    fragments, queries = draw(st.integers(0, most)), draw(st.integers(0, most))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    density = draw(st.sampled_from([0.1, 0.3, 0.5, 0.8]))
    if draw(st.booleans()):
        return rng.random((fragments, queries)) < density
    bases = draw(st.integers(1, 5))
    left, right = rng.random((fragments, bases)) < density, rng.random((bases, queries)) < 0.4
    return left.astype(int) @ right > 0


def rank(matrix: np.ndarray) -> int:
    """Elimination with fractions."""
    rows = [[Fraction(int(entry)) for entry in row] for row in matrix]
    found = 0
    for column in range(matrix.shape[1]):
        pivot = next((row for row in rows[found:] if row[column]), None)
        if pivot is None:
            continue
        rows.remove(pivot)
        rows.insert(found, pivot)
        found += 1
        for place in range(found, len(rows)):
            factor = rows[place][column] / pivot[column]
            if factor:
                rows[place] = [a - factor * b for a, b in zip(rows[place], pivot, strict=True)]
    return found


def direct(matrix: np.ndarray, partials: np.ndarray, merge: Callable[[Any, Any], Any]) -> list[Any]:
    """Each query's answer from its own fragments, None without any."""
    chosen = ([partials[i] for i in np.flatnonzero(column)] for column in matrix.T)
    return [reduce(merge, values) if values else None for values in chosen]
