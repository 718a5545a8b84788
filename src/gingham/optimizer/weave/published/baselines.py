"""Partitions without a search, which the papers compare with: no sharing, and random trees."""

from __future__ import annotations

import numpy as np

from gingham.optimizer.weave.weaving_problem import Partition, Problem


def no_share(problem: Problem) -> Partition:
    """Weave nothing: give each window a tree of its own."""
    return Partition(np.arange(len(problem.windows)))


def random_trees(problem: Problem) -> Partition:
    """Weave at random: put each window into one of a random number of trees."""
    rng = np.random.default_rng(problem.seed)
    n = len(problem.windows)
    trees = rng.integers(0, rng.integers(1, n + 1), n)
    return Partition(np.unique(trees, return_inverse=True)[1])
