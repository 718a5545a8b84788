"""Hold the sketches of streams to their budget, however many slices there are.

A plan gives each sketch as many words as fit if streams go hand in hand. If one is ahead of the
other, if batches are long, or while an older plan has windows to close, there are more slices. Then
copies are dropped: those that are left are as good as if there had never been more.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from gingham.core import names
from gingham.core.arrays import Ints
from gingham.estimates.planning.sketch_table import keep_words, words_of
from gingham.estimates.sketch_epoch import SketchEpoch

_STEPS = 60  # of halving an interval: the precision of floats


def hold_budget(epochs: Sequence[SketchEpoch], budget: int) -> None:
    """Drop copies of all sketches in equal proportion until their words fit the budget.

    One word of each sketch stays in each slice: a window that lacks a slice would be wrong.
    """
    tables = [(epoch, table) for epoch in epochs for table in (epoch.tables, *epoch.parts)]
    if not tables:
        return
    held = [words_of(table) for _, table in tables]
    if sum(int(words.sum()) for words in held) <= budget:
        return
    planned = [np.array(e.plan.sharing.words)[_numbers(table)] for e, table in tables]
    kept = kept_words(np.concatenate(held), np.concatenate(planned), budget)
    ends = np.cumsum([len(words) for words in held])
    cut = [
        keep_words(table, words)
        for (_, table), words in zip(tables, np.split(kept, ends[:-1]), strict=True)
    ]
    for epoch in epochs:
        epoch.tables = cut.pop(0)
        epoch.parts = [cut.pop(0) for _ in epoch.parts]


def kept_words(held: Ints, planned: Ints, budget: int) -> Ints:
    """How many words of each sketch and slice to keep, so that together they fit a budget.

    All keep the same part of the words that are planned for them, if they have so many: a window
    has as many copies as the scarcest of its slices.

    >>> kept_words(np.array([10, 10, 4, 5]), np.array([10, 10, 10, 5]), 22).tolist()
    [7, 7, 4, 3]
    """

    def keep(part: float) -> Ints:
        return np.minimum(held, np.maximum(1, np.floor(part * planned))).astype(np.int64)

    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if keep(middle).sum() <= budget else (low, middle)
    return keep(low)


def _numbers(table: pa.Table) -> Ints:
    """The numbers of the sketches that rows of a sketch table are of."""
    return table[names.SKETCH].to_numpy()
