"""Maximal bicliques (concepts): sets of rows and columns with nothing but ones between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gingham.core.arrays import Bools, Float32s, Ints

# A set grows while its next column has this many standard deviations more rows than by chance.
_SURPRISE = 1.5
_STEPS = 40


@dataclass(frozen=True, slots=True, eq=False)
class Concepts:
    """Concepts (maximal bicliques) of a fragment matrix: concepts x rows and concepts x columns."""

    rows: Bools
    columns: Bools

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Ints) -> Concepts:
        return Concepts(self.rows[index], self.columns[index])

    def joined(self, other: Concepts) -> Concepts:
        """The concepts (maximal bicliques) of both lists, each once."""
        columns = np.concatenate([self.columns, other.columns])
        first = _first_of_equal_rows(columns)
        return Concepts(np.concatenate([self.rows, other.rows])[first], columns[first])


def closed_concepts(columns: Bools, ones: Float32s) -> Concepts:
    """Close sets of matrix columns to concepts: the rows with all of these, and all they share."""
    rows = _containing(columns, ones.T)
    return Concepts(rows, _containing(rows, ones))


def star_concepts(ones: Float32s) -> Concepts:
    """The concepts (maximal bicliques) of single rows or of single columns, whichever are fewer."""
    count, width = ones.shape
    if width <= count:
        return Concepts(ones.T > 0, _containing(ones.T > 0, ones))
    return closed_concepts(ones > 0, ones)


def large_concepts(ones: Float32s) -> Concepts:
    """Find concepts of a matrix larger than chance explains, grown from columns and from rows."""
    by_columns = closed_concepts(_grown_columns(ones), ones)
    across = np.ascontiguousarray(ones.T)
    by_rows = closed_concepts(_containing(_grown_columns(across), ones), ones)
    concepts = by_columns.joined(by_rows)
    return concepts[np.flatnonzero(concepts.columns.any(axis=1) & concepts.rows.any(axis=1))]


def surprise(concepts: Concepts, ones: Float32s) -> Float32s:
    """How unlikely each concept (maximal biclique) is by chance, given the density of its rows.

    It is the Kullback-Leibler divergence of the share of its columns from the expected share.
    """
    density = np.log(np.clip(ones.mean(axis=1), 1e-3, 1 - 1e-3))
    chance = np.clip(np.exp(concepts.rows.astype(np.float32) @ density), 1e-12, 1 - 1e-6)
    share = np.clip(concepts.columns.mean(axis=1), 1e-6, 1 - 1e-6)
    more = share * np.log(share / chance) + (1 - share) * np.log((1 - share) / (1 - chance))
    return np.where(share > chance, more, 0).astype(np.float32)


def most_constrained_first(ones: Float32s, needed: Bools) -> Concepts:
    """Cover matrix ones by concepts greedily, next the one that shares them with fewest others."""
    uncovered = needed.astype(np.float32)
    company = ones @ uncovered.T @ ones  # the needed ones that may share a biclique with each
    concepts: list[Concepts] = []
    while uncovered.any():
        entry = int(np.where(uncovered > 0, company, np.inf).argmin())
        concept = grown_on(ones, uncovered, *divmod(entry, ones.shape[1]))
        concepts.append(concept)
        rows, columns = np.flatnonzero(concept.rows[0]), np.flatnonzero(concept.columns[0])
        block = np.ix_(rows, columns)
        company -= ones[:, columns] @ uncovered[block].T @ ones[rows]
        uncovered[block] = 0
    return together(concepts)


def together(parts: Sequence[Concepts]) -> Concepts:
    """Concatenate lists of concepts (maximal bicliques of a matrix)."""
    rows = np.concatenate([part.rows for part in parts])
    return Concepts(rows, np.concatenate([part.columns for part in parts]))


def grown_on(ones: Float32s, weight: Float32s, row: int, column: int) -> Concepts:
    """Find a concept around one matrix entry that covers much weight, removing rows or columns."""
    rows, columns = np.flatnonzero(ones[:, column]), np.flatnonzero(ones[row])
    here = ones[np.ix_(rows, columns)]
    heavy = weight[np.ix_(rows, columns)]
    by_columns, gained = _climb_by_removing(here, heavy)
    by_rows, regained = _climb_by_removing(here.T, heavy.T)
    chosen = np.zeros((1, ones.shape[1]), dtype=bool)
    if gained >= regained:
        chosen[0, columns[by_columns]] = True
    else:
        chosen[0] = ones[rows[by_rows]].all(axis=0)
    return closed_concepts(chosen, ones)


def _climb_by_removing(ones: Float32s, weight: Float32s) -> tuple[Bools, float]:
    """Remove rows from a biclique while the weight of the columns that all rows share increases."""
    shared = np.asarray(ones.all(axis=0), dtype=bool)
    best = float(weight[:, shared].sum())
    while not shared.all():
        narrower = ones[:, ~shared].T
        columns = narrower @ ones >= narrower.sum(axis=1, keepdims=True) - 0.5
        inside = ((narrower @ weight) * columns).sum(axis=1)
        chosen = int(inside.argmax())
        if inside[chosen] <= best:
            break
        best, remaining = float(inside[chosen]), narrower[chosen] > 0
        shared, ones, weight = columns[chosen], ones[remaining], weight[remaining]
    return shared, best


def _grown_columns(ones: Float32s) -> Bools:
    """Grow sets of matrix columns from single ones, and from pairs that are often zero together."""
    count, width = ones.shape
    share = ones.mean(axis=0)
    spread = np.sqrt(share * (1 - share)) + 1e-6
    first, second = _column_pairs(ones, 16 * max(count, width))
    rows = np.concatenate([ones.T, (ones[:, first] * ones[:, second]).T])
    column_sets: list[Bools] = []
    for _ in range(_STEPS):
        rows = rows[rows.any(axis=1)]
        rows = rows[_first_of_equal_rows(rows > 0)]
        if not len(rows):
            break
        sizes = rows.sum(axis=1, keepdims=True)
        meets = rows @ ones
        columns = meets >= sizes - 0.5
        column_sets.append(columns)
        above = (meets - sizes * share) / (np.sqrt(sizes) * spread)
        above[columns] = -np.inf
        best = above.argmax(axis=1)
        growing = above[np.arange(len(rows)), best] > _SURPRISE
        rows = (rows * ones[:, best].T)[growing]
        rows = rows[rows.sum(axis=1) > 1.5]
    return np.concatenate(column_sets) if column_sets else np.zeros((0, width), dtype=bool)


def _column_pairs(ones: Float32s, most: int) -> tuple[Ints, Ints]:
    """The pairs of matrix columns that are zero together most often, compared with chance."""
    zeros = 1 - ones
    share = zeros.mean(axis=0)
    chance = np.outer(share, share)
    together = zeros.T @ zeros / len(ones)
    lift = (together - chance) / np.sqrt(chance * (1 - chance) / len(ones) + 1e-9)
    first, second = np.triu_indices(ones.shape[1], 1)
    strongest = np.argsort(-lift[first, second], kind="stable")[:most]
    return first[strongest], second[strongest]


def _containing(sets: Bools, ones: Float32s) -> Bools:
    """For each set of matrix rows, the columns that are one in all of them: sets x columns."""
    members = sets.astype(np.float32)
    return members @ ones >= members.sum(axis=1, keepdims=True) - 0.5


def _first_of_equal_rows(rows: Bools) -> Ints:
    """The indices of the first of equal matrix rows."""
    packed = np.ascontiguousarray(np.packbits(rows, axis=1))
    keys = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    return np.sort(np.unique(keys, return_index=True)[1])
