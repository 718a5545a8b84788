"""Insert-then-Weave: one window after the other into the tree that it weaves best with."""

from __future__ import annotations

import numpy as np

from gingham.optimizer.weave.edge_measures import Row
from gingham.optimizer.weave.weaver import Weaver, stopped_early
from gingham.optimizer.weave.weaving_problem import Partition, Problem


def insert_then_weave(problem: Problem) -> Partition:
    """Put windows into trees in the order given, then merge trees while that saves something.

    Guirguis et al. (CIKM 2011), Section 6.
    """
    measure, cost, rate = problem.measure, problem.cost, problem.rate
    rows: list[Row] = []
    edges = np.empty(len(problem.windows))
    factors = np.empty(len(problem.windows))
    numbers = np.empty(len(problem.windows), dtype=np.int64)
    operations = 0
    sets, set_rates = problem.sets.of_window.tolist(), problem.sets.rates
    for i, factor in enumerate(problem.windows.factors.tolist()):
        row, own, n = problem.rows[sets[i]], float(set_rates[sets[i]]), len(rows)
        operations += n
        tree = n
        # Once time is up, what is left stays alone.
        if n and not problem.late:
            common = np.minimum(measure.overlaps(row, rows)[0], np.minimum(edges[:n], own))
            together = cost.tree(edges[:n] + own - common, factors[:n] + factor, rate)
            gains = cost.tree(edges[:n], factors[:n], rate) + problem.price(own, factor) - together
            best = int(np.argmax(gains))
            if gains[best] > 0:
                tree = best
                rows[tree] = measure.union((rows[tree], row))
                edges[tree] += own - common[tree]
                factors[tree] += factor
        if tree == n:
            rows.append(row)
            edges[n], factors[n] = own, factor
        numbers[i] = tree
    n = len(rows)
    weaver = Weaver.of_trees(edges[:n], factors[:n], rows, cost, rate, measure)
    woven = weaver.weave(problem.until)
    tree_of_tree = np.empty(n, dtype=np.int64)
    for number, members in enumerate(woven.members):
        tree_of_tree[members] = number
    return Partition(
        tree_of_tree[numbers],
        woven.rates,
        measure.exact,
        measure.how,
        measure.error,
        operations + woven.looked_at,
        stopped_early(finished=woven.finished),
    )
