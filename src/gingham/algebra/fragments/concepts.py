"""Maximal bicliques (concepts): sets of rows and columns with nothing but ones between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gingham.core.arrays import Bools, Float32s, Ints

# Growth goes on while the next column meets this many standard deviations more rows than by chance.
_SURPRISE = 1.5
_STEPS = 40


@dataclass(frozen=True, slots=True, eq=False)
class Concepts:
    """Many concepts: a row of `rows` and of `columns` for each."""

    rows: Bools
    columns: Bools

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Ints) -> Concepts:
        return Concepts(self.rows[index], self.columns[index])

    def joined(self, other: Concepts) -> Concepts:
        """These and those, each once."""
        columns = np.concatenate([self.columns, other.columns])
        first = _distinct(columns)
        return Concepts(np.concatenate([self.rows, other.rows])[first], columns[first])


def closed(columns: Bools, ones: Float32s) -> Concepts:
    """The concepts of sets of columns: all rows that have them, and all that these rows share."""
    rows = _containing(columns, ones.T)
    return Concepts(rows, _containing(rows, ones))


def stars(ones: Float32s) -> Concepts:
    """A concept for each row, or for each column, whichever are fewer."""
    count, width = ones.shape
    if width <= count:
        return Concepts(ones.T > 0, _containing(ones.T > 0, ones))
    return closed(ones > 0, ones)


def pool(ones: Float32s) -> Concepts:
    """Concepts that are larger than chance explains, grown from columns and from rows."""
    by_columns = closed(_grown(ones), ones)
    across = np.ascontiguousarray(ones.T)
    by_rows = closed(_containing(_grown(across), ones), ones)
    found = by_columns.joined(by_rows)
    return found[np.flatnonzero(found.columns.any(axis=1) & found.rows.any(axis=1))]


def surprise(concepts: Concepts, ones: Float32s) -> Float32s:
    """How unlikely it is by chance that so many columns are one in all rows of each concept.

    The divergence of their share from what the density of the rows lets expect.
    """
    density = np.log(np.clip(ones.mean(axis=1), 1e-3, 1 - 1e-3))
    chance = np.clip(np.exp(concepts.rows.astype(np.float32) @ density), 1e-12, 1 - 1e-6)
    share = np.clip(concepts.columns.mean(axis=1), 1e-6, 1 - 1e-6)
    more = share * np.log(share / chance) + (1 - share) * np.log((1 - share) / (1 - chance))
    return np.where(share > chance, more, 0).astype(np.float32)


def most_constrained_first(ones: Float32s, needed: Bools) -> Concepts:
    """Cover the needed ones, each time from the open one that shares a biclique with fewest."""
    still = needed.astype(np.float32)
    company = ones @ still.T @ ones
    found: list[Concepts] = []
    while still.any():
        place = int(np.where(still > 0, company, np.inf).argmin())
        found.append(grown_on(ones, still, *divmod(place, ones.shape[1])))
        rows, columns = np.flatnonzero(found[-1].rows[0]), np.flatnonzero(found[-1].columns[0])
        block = np.ix_(rows, columns)
        company -= ones[:, columns] @ still[block].T @ ones[rows]
        still[block] = 0
    return together(found)


def together(parts: Sequence[Concepts]) -> Concepts:
    """All of them, in order."""
    rows = np.concatenate([part.rows for part in parts])
    return Concepts(rows, np.concatenate([part.columns for part in parts]))


def grown_on(ones: Float32s, weight: Float32s, row: int, column: int) -> Concepts:
    """A concept with the given one that covers much weight, found by restricting step by step."""
    rows, columns = np.flatnonzero(ones[:, column]), np.flatnonzero(ones[row])
    here = ones[np.ix_(rows, columns)]
    heavy = weight[np.ix_(rows, columns)]
    by_columns, gained = _climb(here, heavy)
    by_rows, regained = _climb(here.T, heavy.T)
    chosen = np.zeros((1, ones.shape[1]), dtype=bool)
    if gained >= regained:
        chosen[0, columns[by_columns]] = True
    else:
        chosen[0] = ones[rows[by_rows]].all(axis=0)
    return closed(chosen, ones)


def _climb(ones: Float32s, weight: Float32s) -> tuple[Bools, float]:
    """Columns that all remaining rows share; rows go as long as the weight inside increases."""
    shared = np.asarray(ones.all(axis=0), dtype=bool)
    best = float(weight[:, shared].sum())
    while not shared.all():
        narrower = ones[:, ~shared].T
        columns = narrower @ ones >= narrower.sum(axis=1, keepdims=True) - 0.5
        inside = ((narrower @ weight) * columns).sum(axis=1)
        chosen = int(inside.argmax())
        if inside[chosen] <= best:
            break
        best, kept = float(inside[chosen]), narrower[chosen] > 0
        shared, ones, weight = columns[chosen], ones[kept], weight[kept]
    return shared, best


def _grown(ones: Float32s) -> Bools:
    """Sets of columns, grown from single columns and from pairs that are zero together often."""
    count, width = ones.shape
    share = ones.mean(axis=0)
    spread = np.sqrt(share * (1 - share)) + 1e-6
    first, second = _pairs(ones, 16 * max(count, width))
    rows = np.concatenate([ones.T, (ones[:, first] * ones[:, second]).T])
    found: list[Bools] = []
    for _ in range(_STEPS):
        rows = rows[rows.any(axis=1)]
        rows = rows[_distinct(rows > 0)]
        if not len(rows):
            break
        sizes = rows.sum(axis=1, keepdims=True)
        meets = rows @ ones
        columns = meets >= sizes - 0.5
        found.append(columns)
        above = (meets - sizes * share) / (np.sqrt(sizes) * spread)
        above[columns] = -np.inf
        best = above.argmax(axis=1)
        growing = above[np.arange(len(rows)), best] > _SURPRISE
        rows = (rows * ones[:, best].T)[growing]
        rows = rows[rows.sum(axis=1) > 1.5]
    return np.concatenate(found) if found else np.zeros((0, width), dtype=bool)


def _pairs(ones: Float32s, most: int) -> tuple[Ints, Ints]:
    """The pairs of columns that are zero together most above chance."""
    zeros = 1 - ones
    share = zeros.mean(axis=0)
    chance = np.outer(share, share)
    together = zeros.T @ zeros / len(ones)
    lift = (together - chance) / np.sqrt(chance * (1 - chance) / len(ones) + 1e-9)
    first, second = np.triu_indices(ones.shape[1], 1)
    strongest = np.argsort(-lift[first, second], kind="stable")[:most]
    return first[strongest], second[strongest]


def _containing(sets: Bools, ones: Float32s) -> Bools:
    """For each set of rows, the columns that are one in all of them."""
    members = sets.astype(np.float32)
    return members @ ones >= members.sum(axis=1, keepdims=True) - 0.5


def _distinct(rows: Bools) -> Ints:
    packed = np.ascontiguousarray(np.packbits(rows, axis=1))
    keys = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    return np.sort(np.unique(keys, return_index=True)[1])
