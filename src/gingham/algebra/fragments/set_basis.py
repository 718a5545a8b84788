"""Decompositions for idempotent aggregates: the smallest set basis found with a given effort.

The same problem as Boolean rank, as covering a bipartite graph by bicliques, and as role mining.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from gingham.algebra.fragments.composition import add_composition
from gingham.algebra.fragments.concepts import (
    Concepts,
    closed_concepts,
    large_concepts,
    most_constrained_first,
    star_concepts,
    surprise,
    together,
)
from gingham.algebra.fragments.cover import SetCover
from gingham.algebra.fragments.cover_search import Budget, CoverSearch
from gingham.algebra.fragments.irreducible import essential, fooling, irreducible, looks_random
from gingham.core.arrays import Bools, Float32s

# The work (see `SetCover.work`) of an effort of one: about a millisecond.
_WORK = 1_000_000
# The most entries times concepts of a cover.
_INCIDENCES = 1 << 26
# With fewer entries than this, chance explains anything, and searching is quick.
_SMALL = 400
# With at most this many entries, Add Composition is quick enough for a first cover.
_COMPOSED = 160 * 160
# The most steps of a search, for each entry that is to be covered.
_STEPS = 20


@dataclass(frozen=True, slots=True, eq=False)
class SetBasis:
    """The rows of a fragment matrix's set basis, with notices on its distance to a lower bound."""

    rows: Bools
    notices: tuple[str, ...] = ()


def set_basis(matrix: Bools, effort: int, seed: int, seconds: float | None = None) -> SetBasis:
    """Find few rows whose ORs give every row of a fragment matrix without all-zero rows.

    1. Drop rows and columns that are ORs of others. One basis row for each remaining row, or for
       each remaining column, is a first basis.
    2. If the remaining matrix looks random, no smaller basis is to be expected.
    3. Count ones that pairwise need different basis rows: a lower bound. If it is met, stop.
    4. Otherwise cover the ones that imply all others by as few concepts as possible.

    >>> set_basis(np.array([[1, 0], [0, 1], [1, 1]], dtype=bool), effort=1, seed=0).rows.tolist()
    [[True, False], [False, True]]
    """
    until = time.monotonic() + (np.inf if seconds is None else seconds)
    rows, columns = irreducible(matrix)
    ones = matrix[np.ix_(rows, columns)].astype(np.float32)
    concepts = star_concepts(ones)
    if ones.size > _SMALL and looks_random(ones):
        notices = (f"{len(concepts)} records; what is left looks random and was not searched",)
    else:
        needed = essential(ones)
        rng = np.random.default_rng(seed)
        least = fooling(ones, needed, len(concepts), rng)
        notices = ()
        if least < len(concepts):
            concepts, notices = _search_covers(ones, needed, concepts, least, effort, rng, until)
    # A dropped column belongs to a concept if all of the concept's rows have it.
    missing = 1 - matrix[rows].astype(np.float32)
    return SetBasis(concepts.rows.astype(np.float32) @ missing == 0, notices)


def _search_covers(
    ones: Float32s,
    needed: Bools,
    first_cover: Concepts,
    least: int,
    effort: int,
    rng: np.random.Generator,
    until: float,
) -> tuple[Concepts, tuple[str, ...]]:
    """Cover the needed matrix ones by few concepts, starting from several covers; with notices."""
    at_row, at_column = np.nonzero(needed)
    starts = [first_cover, most_constrained_first(ones, needed)]
    if ones.size <= _COMPOSED:
        starts += [_composed_basis(ones, one_at_a_time=one) for one in (True, False)]
    most = _INCIDENCES * 2 // (3 * len(at_row))
    grown = large_concepts(ones)
    grown = grown[np.argsort(-surprise(grown, ones), kind="stable")[:most]]
    concepts = together([*starts, grown])
    by_row, by_column = np.ascontiguousarray(concepts.rows.T), concepts.columns.T.copy()
    members = by_row[at_row] & by_column[at_column]
    ends = np.cumsum([len(start) for start in starts]).tolist()
    candidates = [
        _prune_cover(members, range(end - len(start), end))
        for start, end in zip(starts, ends, strict=True)
    ]
    cover = SetCover(members, spare=len(concepts) // 2)
    for worth in (None, surprise(concepts, ones)):
        cover.greedy(worth)
        candidates.append(cover.chosen.tolist())
        cover.clear()
    cover.start(min(candidates, key=len))
    search = CoverSearch(ones, at_row, at_column, concepts, cover)
    budget = Budget(effort * _WORK, _STEPS * len(at_row), until)
    smallest = search.run(least, budget, rng)
    bound = f"at least {least} records are needed, {len(smallest)} were found"
    late = "; the clock stopped the search" if search.out_of_time else ""
    return smallest, (bound + late,)


def _prune_cover(members: Bools, chosen: range) -> list[int]:
    """The concepts that are left when those not needed are dropped from a set cover."""
    cover = SetCover(members[:, chosen.start : chosen.stop])
    cover.start(range(len(chosen)))
    return [chosen[number] for number in cover.chosen.tolist()]


def _composed_basis(ones: Float32s, *, one_at_a_time: bool) -> Concepts:
    """The set basis that Add Composition finds, closed to concepts."""
    concepts = closed_concepts(add_composition(ones > 0, one_at_a_time=one_at_a_time), ones)
    return concepts[np.flatnonzero(concepts.rows.any(axis=1))]
