"""Set cover: which sets cover all entries, with gains and losses kept up to date."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from gingham.core.arrays import Bools, Float32s, Ints

# A set worth nothing is still chosen if it covers what no other set does.
_TINY = 1e-6


class SetCover:
    """A set cover of matrix entries by concepts: entries, candidate sets, and the sets chosen.

    For each set it maintains the weight of entries that choosing it would cover, and that dropping
    it would uncover. `work` counts the numbers touched for that, as a measure of time that is the
    same on every machine.
    """

    def __init__(self, members: Bools, spare: int = 0) -> None:
        count, width = members.shape
        self._covers = np.zeros((count, width + spare), dtype=np.uint8)  # entries x sets
        self._covers[:, :width] = members
        self._count = width
        self._cover_count = np.zeros(count, dtype=np.int64)
        self._weight = np.ones(count, dtype=np.float32)
        self._gain = self._covers.sum(axis=0, dtype=np.float32)
        self._loss = np.zeros(width + spare, dtype=np.float32)
        self._chosen = np.zeros(width + spare, dtype=bool)
        self._changed_at = np.zeros(width + spare, dtype=np.int64)
        self.work = 0

    @property
    def chosen(self) -> Ints:
        """The numbers of the sets that the set cover has chosen."""
        return np.flatnonzero(self._chosen)

    @property
    def open(self) -> Ints:
        """The matrix entries that no chosen set of the cover covers."""
        return np.flatnonzero(self._cover_count == 0)

    @property
    def weight(self) -> Float32s:
        """The weight of each matrix entry in the search for a small set cover."""
        return self._weight

    @property
    def full(self) -> bool:
        """Whether the set cover has no room to admit a further candidate set."""
        return self._count == self._covers.shape[1]

    def greedy(self, worth: Float32s | None = None) -> None:
        """Choose the set that covers most open entries until none is open, then prune the cover.

        If sets have a worth, the set with most of its worth in open entries is chosen instead.
        """
        scale = np.ones_like(self._gain)
        if worth is not None:
            scale[: len(worth)] = worth / np.maximum(self._gain[: len(worth)], 1)
        while not self._cover_count.all():
            score = np.where(self._gain > 0, self._gain * scale + _TINY * self._gain, -1)
            self.add(int(np.where(self._chosen, -1, score).argmax()))
        self.prune()

    def start(self, chosen: Iterable[int]) -> None:
        """Choose the sets of a known set cover, then prune it."""
        for number in chosen:
            self.add(number)
        self.prune()

    def clear(self) -> None:
        """Drop all chosen sets of the set cover."""
        for number in self.chosen.tolist():
            self.drop(number)

    def prune(self) -> None:
        """Drop chosen sets of the cover whose entries are all covered by other chosen sets."""
        chosen = self.chosen
        while len(chosen) and self._loss[chosen].min() == 0:
            self.drop(int(chosen[self._loss[chosen].argmin()]))
            chosen = self.chosen

    def admit(self, members: Bools) -> int:
        """Add a candidate set to the set-cover problem, and return its number."""
        new = self._count
        self._count += 1
        self._covers[:, new] = members
        self._gain[new] = self._weight[members & (self._cover_count == 0)].sum()
        return new

    def gain(self, number: int) -> float:
        """The weight of still uncovered matrix entries that choosing a set would cover."""
        return float(self._gain[number])

    def least_missed(self, excluded: int) -> int:
        """The chosen set that alone covers least weight; among equals that chosen longest ago."""
        chosen = self.chosen
        loss = self._loss[chosen].copy()
        loss[chosen == excluded] = np.inf
        equal = chosen[loss == loss.min()]
        return int(equal[self._changed_at[equal].argmin()])

    def most_useful(self, entry: int, excluded: int) -> int:
        """The set with this matrix entry that gains most; among equals that dropped longest ago."""
        allowed = self._covers[entry] > 0
        allowed[excluded] &= allowed.sum() == 1
        sets = np.flatnonzero(allowed)
        gain = self._gain[sets]
        equal = sets[gain == gain.max()]
        return int(equal[self._changed_at[equal].argmin()])

    def add(self, number: int, step: int = 0) -> None:
        """Choose a set for the set cover, and update gains and losses of the other sets."""
        entries = np.flatnonzero(self._covers[:, number])
        self._cover_count[entries] += 1
        first = entries[self._cover_count[entries] == 1]
        shared = entries[self._cover_count[entries] == 2]
        self._chosen[number], self._changed_at[number] = True, step
        self._loss[number] = self._weight[first].sum()
        self._loss -= self._weigh(shared) * self._chosen
        # Entries covered twice now count for neither; this set never counted them.
        self._loss[number] += self._weight[shared].sum()
        self._gain -= self._weigh(first)

    def drop(self, number: int, step: int = 0) -> None:
        """Remove a set from the set cover, and update gains and losses of the other sets."""
        entries = np.flatnonzero(self._covers[:, number])
        self._cover_count[entries] -= 1
        opened = entries[self._cover_count[entries] == 0]
        single = entries[self._cover_count[entries] == 1]
        self._chosen[number], self._changed_at[number], self._loss[number] = False, step, 0
        self._loss += self._weigh(single) * self._chosen
        self._gain += self._weigh(opened)

    def raise_open(self) -> None:
        """Increase the weight of all matrix entries that the set cover leaves open."""
        entries = self.open
        self._weight[entries] += 1
        self._gain += self._covers[entries].sum(axis=0, dtype=np.float32)
        self.work += len(entries) * self._covers.shape[1]

    def _weigh(self, entries: Ints) -> Float32s:
        """For each candidate set of the cover, the total weight of the given entries in it."""
        self.work += (len(entries) + 1) * self._covers.shape[1]
        return self._weight[entries] @ self._covers[entries].astype(np.float32)
