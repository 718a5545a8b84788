"""Insert-then-Weave: each window joins the tree that it gains most with, then trees merge."""

from __future__ import annotations

import numpy as np

from gingham.optimizer.weave.edge_measures import EncodedEdges
from gingham.optimizer.weave.weaver import Weaver, stopped_early
from gingham.optimizer.weave.weaving_problem import Partition, Problem


def insert_then_weave(problem: Problem) -> Partition:
    """Put windows into trees in the order given, then merge trees while that saves something.

    Guirguis et al. (CIKM 2011), Section 6.
    """
    measure, cost, rate = problem.measure, problem.cost, problem.rate
    encoded: list[EncodedEdges] = []
    edges = np.empty(len(problem.windows))
    factors = np.empty(len(problem.windows))
    tree_of_window = np.empty(len(problem.windows), dtype=np.int64)
    operations = 0
    sets, set_rates = problem.sets.of_window.tolist(), problem.sets.rates
    for i, factor in enumerate(problem.windows.factors.tolist()):
        window, own_rate, n = problem.encoded[sets[i]], float(set_rates[sets[i]]), len(encoded)
        operations += n
        tree = n
        # Out of time, each of the other windows gets a tree of its own.
        if n and not problem.out_of_time:
            common = np.minimum(
                measure.overlaps(window, encoded)[0], np.minimum(edges[:n], own_rate)
            )
            together = cost.tree(edges[:n] + own_rate - common, factors[:n] + factor, rate)
            gains = (
                cost.tree(edges[:n], factors[:n], rate) + problem.price(own_rate, factor) - together
            )
            best = int(np.argmax(gains))
            if gains[best] > 0:
                tree = best
                encoded[tree] = measure.union((encoded[tree], window))
                edges[tree] += own_rate - common[tree]
                factors[tree] += factor
        if tree == n:
            encoded.append(window)
            edges[n], factors[n] = own_rate, factor
        tree_of_window[i] = tree
    n = len(encoded)
    weaver = Weaver.of_trees(edges[:n], factors[:n], encoded, cost, rate, measure)
    woven = weaver.weave(problem.until)
    merged_tree = np.empty(n, dtype=np.int64)
    for number, members in enumerate(woven.members):
        merged_tree[members] = number
    return Partition(
        tree_of_window=merged_tree[tree_of_window],
        rates=woven.rates,
        exact=measure.exact,
        how=measure.how,
        error=measure.error,
        operations=operations + woven.compared,
        notices=stopped_early(finished=woven.finished),
    )
