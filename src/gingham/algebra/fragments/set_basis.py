"""Idempotent aggregates: the smallest basis of sets that can be found in a given effort.

The same problem as Boolean rank, as covering a bipartite graph by bicliques, and as role mining.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from gingham.algebra.fragments.composition import Preference, Strategy, Timing, add_composition
from gingham.algebra.fragments.concepts import (
    Concepts,
    closed,
    most_constrained_first,
    pool,
    stars,
    surprise,
    together,
)
from gingham.algebra.fragments.cover import Cover
from gingham.algebra.fragments.cover_search import Budget, LocalSearch
from gingham.algebra.fragments.irreducible import essential, fooling, irreducible, looks_random
from gingham.core.arrays import Bools, Float32s

# What an effort of one may touch: about a millisecond's worth.
_TOUCHED = 1_000_000
# No more entries times concepts than this are kept.
_INCIDENCES = 1 << 26
# Below this many entries chance explains anything, and searching is quick.
_SMALL = 400
# Up to this many entries Add Composition is quick enough to begin with.
_COMPOSED = 160 * 160
_STRATEGIES = (Strategy(Preference.REMEMBER, None), Strategy(Preference.ANY, Timing.DELAYED))
# A search is given up after so many steps for each entry that is to be covered.
_STEPS = 20


@dataclass(frozen=True, slots=True, eq=False)
class SetBasis:
    """Basis rows, and what is known about their number."""

    rows: Bools
    notices: tuple[str, ...] = ()


def set_basis(matrix: Bools, effort: int, seed: int, seconds: float | None = None) -> SetBasis:
    """Rows whose ORs give every row of the matrix; none of the matrix' rows may be all zero.

    1. Drop rows and columns that are ORs of others: a row or a column for each that is left is a
       basis already.
    2. If what is left looks random, nothing smaller is to be expected.
    3. Count ones that pairwise need different basis rows. If there are as many, nothing is smaller.
    4. Otherwise cover the ones that imply all others by concepts, as few as can be found.

    >>> set_basis(np.array([[1, 0], [0, 1], [1, 1]], dtype=bool), effort=1, seed=0).rows.tolist()
    [[True, False], [False, True]]
    """
    until = time.monotonic() + (np.inf if seconds is None else seconds)
    rows, columns = irreducible(matrix)
    ones = matrix[np.ix_(rows, columns)].astype(np.float32)
    found = stars(ones)
    if ones.size > _SMALL and looks_random(ones):
        notices = (f"{len(found)} records; what is left looks random and was not searched",)
    else:
        needed = essential(ones)
        rng = np.random.default_rng(seed)
        least = fooling(ones, needed, len(found), rng)
        notices = ()
        if least < len(found):
            found, notices = _search(ones, needed, found, least, effort, rng, until)
    # The columns that were dropped belong to a concept if all of its rows have them.
    missing = 1 - matrix[rows].astype(np.float32)
    return SetBasis(found.rows.astype(np.float32) @ missing == 0, notices)


def _search(
    ones: Float32s,
    needed: Bools,
    known: Concepts,
    least: int,
    effort: int,
    rng: np.random.Generator,
    until: float,
) -> tuple[Concepts, tuple[str, ...]]:
    """Cover the needed ones by concepts, beginning with those that are known to do so."""
    at_row, at_column = np.nonzero(needed)
    starts = [known, most_constrained_first(ones, needed)]
    if ones.size <= _COMPOSED:
        starts += [_composed(ones, strategy) for strategy in _STRATEGIES]
    most = _INCIDENCES * 2 // (3 * len(at_row))
    found = pool(ones)
    found = found[np.argsort(-surprise(found, ones), kind="stable")[:most]]
    concepts = together([*starts, found])
    by_row, by_column = np.ascontiguousarray(concepts.rows.T), concepts.columns.T.copy()
    members = by_row[at_row] & by_column[at_column]
    ends = np.cumsum([len(start) for start in starts]).tolist()
    candidates = [
        _pruned(members, range(end - len(start), end))
        for start, end in zip(starts, ends, strict=True)
    ]
    cover = Cover(members, spare=len(concepts) // 2)
    for worth in (None, surprise(concepts, ones)):
        cover.greedy(worth)
        candidates.append(cover.chosen.tolist())
        cover.clear()
    cover.start(min(candidates, key=len))
    search = LocalSearch(ones, at_row, at_column, concepts, cover)
    budget = Budget(effort * _TOUCHED, _STEPS * len(at_row), until)
    found = search.run(least, budget, rng)
    bound = f"at least {least} records are needed, {len(found)} were found"
    late = "; the clock stopped the search" if search.late else ""
    return found, (bound + late,)


def _pruned(members: Bools, chosen: range) -> list[int]:
    """Of concepts that cover everything, those that are needed for it."""
    cover = Cover(members[:, chosen.start : chosen.stop])
    cover.start(range(len(chosen)))
    return [chosen[place] for place in cover.chosen.tolist()]


def _composed(ones: Float32s, strategy: Strategy) -> Concepts:
    """The basis that Add Composition finds, made maximal."""
    found = closed(add_composition(ones > 0, strategy), ones)
    return found[np.flatnonzero(found.rows.any(axis=1))]
