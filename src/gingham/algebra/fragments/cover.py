"""Covering entries by as few sets as possible: greedily, then by weighted local search."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from gingham.core.arrays import Bools, Float32s, Ints

# What is worth nothing is still chosen when it covers what nothing else does.
_TINY = 1e-6


class Cover:
    """Entries to be covered, sets to cover them with, and which of these are chosen.

    Per set it keeps up to date what choosing it would gain, and what dropping it would lose, in
    weights of entries. `work` counts what was touched for that: a measure of time that is the same
    on every machine.
    """

    def __init__(self, members: Bools, spare: int = 0) -> None:
        count, width = members.shape
        self._covers = np.zeros((count, width + spare), dtype=np.uint8)  # entries x sets
        self._covers[:, :width] = members
        self._count = width
        self._times = np.zeros(count, dtype=np.int64)
        self._weight = np.ones(count, dtype=np.float32)
        self._gain = self._covers.sum(axis=0, dtype=np.float32)
        self._loss = np.zeros(width + spare, dtype=np.float32)
        self._chosen = np.zeros(width + spare, dtype=bool)
        self._since = np.zeros(width + spare, dtype=np.int64)
        self.work = 0

    @property
    def chosen(self) -> Ints:
        return np.flatnonzero(self._chosen)

    @property
    def open(self) -> Ints:
        """The entries that no chosen set covers."""
        return np.flatnonzero(self._times == 0)

    @property
    def weight(self) -> Float32s:
        return self._weight

    @property
    def full(self) -> bool:
        """Whether no further set can be admitted."""
        return self._count == self._covers.shape[1]

    def greedy(self, worth: Float32s | None = None) -> None:
        """Choose what covers most that is open, then drop what has become superfluous.

        If sets have a worth: the one with most of its worth still open.
        """
        scale = np.ones_like(self._gain)
        if worth is not None:
            scale[: len(worth)] = worth / np.maximum(self._gain[: len(worth)], 1)
        while not self._times.all():
            score = np.where(self._gain > 0, self._gain * scale + _TINY * self._gain, -1)
            self.add(int(np.where(self._chosen, -1, score).argmax()))
        self.prune()

    def start(self, chosen: Iterable[int]) -> None:
        """Begin with a cover that is known."""
        for one in chosen:
            self.add(one)
        self.prune()

    def clear(self) -> None:
        """Choose nothing."""
        for one in self.chosen.tolist():
            self.drop(one)

    def prune(self) -> None:
        """Drop sets that nobody misses."""
        chosen = self.chosen
        while len(chosen) and self._loss[chosen].min() == 0:
            self.drop(int(chosen[self._loss[chosen].argmin()]))
            chosen = self.chosen

    def admit(self, members: Bools) -> int:
        """One more set to choose from."""
        new = self._count
        self._count += 1
        self._covers[:, new] = members
        self._gain[new] = self._weight[members & (self._times == 0)].sum()
        return new

    def gain(self, one: int) -> float:
        return float(self._gain[one])

    def least_missed(self, spared: int) -> int:
        """The chosen set that covers least alone; among equals the one that is there longest."""
        chosen = self.chosen
        loss = self._loss[chosen].copy()
        loss[chosen == spared] = np.inf
        equal = chosen[loss == loss.min()]
        return int(equal[self._since[equal].argmin()])

    def most_useful(self, entry: int, spared: int) -> int:
        """The set with the entry that gains most; among equals the one that is out longest."""
        allowed = self._covers[entry] > 0
        allowed[spared] &= allowed.sum() == 1
        sets = np.flatnonzero(allowed)
        gain = self._gain[sets]
        equal = sets[gain == gain.max()]
        return int(equal[self._since[equal].argmin()])

    def add(self, one: int, step: int = 0) -> None:
        entries = np.flatnonzero(self._covers[:, one])
        self._times[entries] += 1
        first = entries[self._times[entries] == 1]
        shared = entries[self._times[entries] == 2]
        self._chosen[one], self._since[one] = True, step
        self._loss[one] = self._weight[first].sum()
        self._loss -= self._weigh(shared) * self._chosen
        # What it shares was lost with another before; it never was with this one.
        self._loss[one] += self._weight[shared].sum()
        self._gain -= self._weigh(first)

    def drop(self, one: int, step: int = 0) -> None:
        entries = np.flatnonzero(self._covers[:, one])
        self._times[entries] -= 1
        opened = entries[self._times[entries] == 0]
        single = entries[self._times[entries] == 1]
        self._chosen[one], self._since[one], self._loss[one] = False, step, 0
        self._loss += self._weigh(single) * self._chosen
        self._gain += self._weigh(opened)

    def raise_open(self) -> None:
        """What stays open weighs more from now on."""
        entries = self.open
        self._weight[entries] += 1
        self._gain += self._covers[entries].sum(axis=0, dtype=np.float32)
        self.work += len(entries) * self._covers.shape[1]

    def _weigh(self, entries: Ints) -> Float32s:
        """For each set, the weight of those of the entries that it covers."""
        self.work += (len(entries) + 1) * self._covers.shape[1]
        return self._weight[entries] @ self._covers[entries].astype(np.float32)
