"""Plans that need no search: nobody shares, all share, anybody shares with anybody."""

from __future__ import annotations

import numpy as np

from gingham.optimizer.weave.problem import Partition, Problem


def no_share(problem: Problem) -> Partition:
    """A tree for each window."""
    return Partition(np.arange(len(problem.windows)))


def shared(problem: Problem) -> Partition:
    """One tree for all windows."""
    return Partition(np.zeros(len(problem.windows), dtype=np.int64))


def random_trees(problem: Problem) -> Partition:
    """As many trees as chance wants, and windows in any of them."""
    chance = np.random.default_rng(problem.seed)
    n = len(problem.windows)
    trees = chance.integers(0, chance.integers(1, n + 1), n)
    return Partition(np.unique(trees, return_inverse=True)[1])
