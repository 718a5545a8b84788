"""Add a query to a plan whose sketches are in use and cannot change any more."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, product

from gingham.estimates.algebra.join_query import JoinQuery, JoinTree, Occurrence, join_trees
from gingham.estimates.algebra.sharing_plan import SharingPlan
from gingham.estimates.algebra.vertex import Factor

# How many combinations of sketches are tried at most.
TRIED = 10_000


def adopt(plan: SharingPlan, queries: Sequence[JoinQuery], query: JoinQuery) -> SharingPlan | None:
    """Add a query to a plan of shared sketches, to be estimated from these; None if it cannot be.

    It can be if for each of its relations one of the plan's `queries` reads the same rows by the
    same attributes, and if signs fit: joined attributes have the same xi family, all others
    different ones.
    """
    *planned, tree = join_trees([*queries, query])
    available: dict[Occurrence, dict[Factor, None]] = defaultdict(dict)
    for other in planned:
        for occurrence, factor in zip(other.occurrences, plan.factors[other.name], strict=True):
            available[occurrence][factor] = None
    chosen = max(
        _fitting_factors(
            plan, tree, [list(available[occurrence]) for occurrence in tree.occurrences]
        ),
        key=lambda factors: _copies(plan, factors),
        default=None,
    )
    if chosen is None:
        return None
    return replace(
        plan,
        factors={**plan.factors, tree.name: chosen},
        copies={**plan.copies, tree.name: _copies(plan, chosen)},
        weights={**plan.weights, tree.name: 1.0},
    )


def _fitting_factors(
    plan: SharingPlan, tree: JoinTree, choices: Sequence[Sequence[Factor]]
) -> Iterator[tuple[Factor, ...]]:
    """Try combinations of one sketch factor for each occurrence; yield those whose signs fit."""
    for factors in islice(product(*choices), TRIED):
        # All sketches of a factor are on the same xi families; an empty factor estimates nothing.
        if not all(factors):
            continue
        families = [plan.vertices[factor[0][0]].families for factor in factors]
        joined = [(families[a][i], families[b][j]) for (a, i), (b, j) in tree.edges]
        edges = Counter(left for left, _ in joined)
        if all(left == right and edges[left] == 1 for left, right in joined):
            yield factors


def _copies(plan: SharingPlan, factors: Sequence[Factor]) -> int:
    """The number of copies of a join estimate: the words of its smallest sketch."""
    return min(plan.words[vertex] for factor in factors for vertex, _ in factor)
