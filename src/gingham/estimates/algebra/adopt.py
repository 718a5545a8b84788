"""One more query over sketches that are kept already."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, product

from gingham.estimates.algebra.join_query import JoinQuery, JoinTree, Occurrence, join_trees
from gingham.estimates.algebra.sharing_plan import SharingPlan
from gingham.estimates.algebra.vertex import Factor

# Ways to choose sketches that are looked at.
TRIED = 10_000


def adopt(
    plan: SharingPlan, queries: Sequence[JoinQuery], newcomer: JoinQuery
) -> SharingPlan | None:
    """The same sketches and one more query that reads them; None if they do not serve it.

    They do if for each of its relations a query of the plan reads the same rows by the same
    attributes, and the signs fit: joined attributes have the same, all others have different ones.
    """
    *known, tree = join_trees([*queries, newcomer])
    of: dict[Occurrence, dict[Factor, None]] = defaultdict(dict)
    for its in known:
        for occurrence, factor in zip(its.occurrences, plan.factors[its.name], strict=True):
            of[occurrence][factor] = None
    chosen = max(
        _fitting(plan, tree, [list(of[occurrence]) for occurrence in tree.occurrences]),
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


def _fitting(
    plan: SharingPlan, tree: JoinTree, choices: Sequence[Sequence[Factor]]
) -> Iterator[tuple[Factor, ...]]:
    for factors in islice(product(*choices), TRIED):
        # All sketches of a factor are on the same signs; one without sketches is nothing.
        if not all(factors):
            continue
        families = [plan.vertices[factor[0][0]].families for factor in factors]
        joined = [(families[a][i], families[b][j]) for (a, i), (b, j) in tree.edges]
        once = Counter(left for left, _ in joined)
        if all(left == right and once[left] == 1 for left, right in joined):
            yield factors


def _copies(plan: SharingPlan, factors: Sequence[Factor]) -> int:
    return min(plan.words[vertex] for factor in factors for vertex, _ in factor)
