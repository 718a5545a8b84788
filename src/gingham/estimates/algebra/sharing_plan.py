"""The plan of shared sketches: which queries share each sketch, and how large it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Literal, cast, get_args

from gingham.core.errors import GinghamError
from gingham.estimates.algebra.allocation import (
    Metric,
    allocate,
    check_weights,
    least_error,
)
from gingham.estimates.algebra.coalesce import EFFORT, JointGraph, Node, coalesce
from gingham.estimates.algebra.join_query import Join, JoinQuery, join_trees
from gingham.estimates.algebra.sketch_basis import SketchBasis, groups, sketch_basis, worth_tying
from gingham.estimates.algebra.vertex import Factor, Vertex

Sharing = Literal["none", "equal", "fragments"]


@dataclass(frozen=True, slots=True)
class SharingPlan:
    """Sketches, their sizes in words, and the factors that each query multiplies to its estimate.

    `words` are by vertex; `copies` are by query, the words of its smallest sketch. `error` is the
    sum (metric "average") or the maximum of weight / copies over queries. `slices` has in how many
    slices of time each sketch is held at once: a budget pays for its words as often.
    """

    vertices: tuple[Vertex, ...]
    factors: Mapping[str, tuple[Factor, ...]]
    words: tuple[int, ...]
    copies: Mapping[str, int]
    error: float
    metric: Metric
    weights: Mapping[str, float]
    seed: int
    notices: tuple[str, ...]
    slices: tuple[int, ...]

    @property
    def allocation(self) -> dict[Vertex, int]:
        """The words of each sketch by its vertex."""
        return dict(zip(self.vertices, self.words, strict=True))

    @property
    def fingerprint(self) -> str:
        """A hash that is equal for plans whose sketches may be added; checkpoints hold it."""
        printed = repr((self.seed, self.vertices, self.words)).encode()
        return blake2b(printed, digest_size=8).hexdigest()

    @property
    def held(self) -> int:
        """The words of all sketches in all slices of time in which they are held at once."""
        return sum(words * slices for words, slices in zip(self.words, self.slices, strict=True))

    @property
    def least_error(self) -> float:
        """The least error that its queries can have with one word in all, if words were divided."""
        uses = [{v for factor in query for v, _ in factor} for query in self.factors.values()]
        weights = [self.weights[query] for query in self.factors]
        return least_error(self.metric, uses, weights, self.slices)

    def of(self, relation: str) -> list[Vertex]:
        """The sketches of one relation in the plan of shared sketches."""
        return [vertex for vertex in self.vertices if vertex.relation == relation]

    def space(self, query: str) -> int:
        """The number of words of sketches that the estimate of a query is made from."""
        used = {vertex for factor in self.factors[query] for vertex, _ in factor}
        return self.copies[query] * len(used)

    def within(self, budget: int, weights: Mapping[str, float] | None = None) -> SharingPlan:
        """Divide another budget, or by other weights, among the same sketches."""
        all_weights = dict(self.weights if weights is None else weights)
        uses = {
            query: {vertex for factor in factors for vertex, _ in factor}
            for query, factors in self.factors.items()
        }
        allocation = allocate(
            uses,
            budget=budget,
            metric=self.metric,
            weights=all_weights,
            prices=dict(enumerate(self.slices)),
        )
        return replace(
            self,
            words=tuple(allocation.words[vertex.number] for vertex in self.vertices),
            copies=allocation.copies,
            error=allocation.error,
            weights=all_weights,
        )


def plan_sharing(
    queries: Iterable[JoinQuery | Sequence[Join]] | Mapping[str, Sequence[Join]],
    *,
    budget: int,
    metric: Metric = "average",
    weights: Sequence[float] | Mapping[str, float] | None = None,
    share: Sharing = "fragments",
    fold: bool = False,
    fragments: Mapping[str, int] | None = None,
    seed: int = 0,
    effort: int = EFFORT,
) -> SharingPlan:
    """Choose the sketches of all join queries, and who shares them, within a budget of words.

    `weights` are variances relative to the squared answer, all 1 if none are given. `share` is
    "none", "equal" for sketches with equal selections (as in the paper), or "fragments" to also
    add up selections from fragments, whose number in each relation is in `fragments`. `fold` keeps
    one sketch for both sides of a self-join. `effort` bounds the search, see `coalesce`.

    >>> plan = plan_sharing([[("r", "a", "s", "b")], [("r", "a", "t", "c")]], budget=30)
    >>> [(vertex.relation, words) for vertex, words in plan.allocation.items()]
    [('r', 10), ('s', 10), ('t', 10)]
    """
    return choose_sketches(
        queries,
        metric=metric,
        weights=weights,
        share=share,
        fold=fold,
        fragments=fragments,
        seed=seed,
        effort=effort,
    ).within(budget)


def choose_sketches(
    queries: Iterable[JoinQuery | Sequence[Join]] | Mapping[str, Sequence[Join]],
    *,
    metric: Metric = "average",
    weights: Sequence[float] | Mapping[str, float] | None = None,
    share: Sharing = "fragments",
    fold: bool = False,
    fragments: Mapping[str, int] | None = None,
    seed: int = 0,
    effort: int = EFFORT,
) -> SharingPlan:
    """Choose the sketches of all join queries as `plan_sharing` does, without words yet."""
    for value, kind in ((metric, Metric), (share, Sharing)):
        if value not in get_args(kind):
            raise GinghamError(
                f"{value!r} is no choice", "it is not known", f"one of {', '.join(get_args(kind))}"
            )
    if isinstance(queries, Mapping):
        named = cast("Mapping[str, Sequence[Join]]", queries)
        queries = [JoinQuery(joins, name) for name, joins in named.items()]
    trees = join_trees(queries)
    names = [tree.name for tree in trees]
    if weights is not None and not isinstance(weights, Mapping):
        if len(weights) != len(names):
            raise GinghamError(
                f"{len(weights)} weights for {len(names)} queries",
                "each query has one weight",
                "as many weights as queries, or none",
            )
        weights = dict(zip(names, weights, strict=True))
    all_weights = check_weights(names, weights)
    universe = fragments or {}
    graph = coalesce(
        trees,
        metric,
        all_weights,
        share=share != "none",
        fold=fold,
        ties=worth_tying(trees, universe) if share == "fragments" else (),
        effort=effort,
    )
    slices = [tree.slices for tree in trees]
    if share == "fragments":
        basis, notices = _reduce_selections(graph, universe, metric, all_weights, slices)
    else:
        basis, notices = sketch_basis(graph, universe), []
    return SharingPlan(
        vertices=basis.vertices,
        factors=dict(zip(names, basis.factors, strict=True)),
        words=(),
        copies={},
        error=0.0,
        metric=metric,
        weights=dict(zip(names, all_weights, strict=True)),
        seed=seed,
        notices=(*graph.notices, *notices),
        slices=tuple(basis.held_slices(slices)),
    )


def join_plans(plans: Sequence[SharingPlan]) -> SharingPlan:
    """Put plans of sketches side by side: nothing is shared between them, and no words are given.

    Sketches and xi families are numbered through.
    """
    vertices: list[Vertex] = []
    factors: dict[str, tuple[Factor, ...]] = {}
    families = 0
    for plan in plans:
        first = len(vertices)
        vertices += [
            replace(
                vertex,
                number=first + vertex.number,
                families=tuple(families + family for family in vertex.families),
            )
            for vertex in plan.vertices
        ]
        families += 1 + max((f for vertex in plan.vertices for f in vertex.families), default=-1)
        for query, of_query in plan.factors.items():
            factors[query] = tuple(
                tuple((first + vertex, times) for vertex, times in factor) for factor in of_query
            )
    return replace(
        plans[0],
        vertices=tuple(vertices),
        factors=factors,
        words=(),
        copies={},
        weights={query: weight for plan in plans for query, weight in plan.weights.items()},
        notices=tuple(dict.fromkeys(notice for plan in plans for notice in plan.notices)),
        slices=tuple(held for plan in plans for held in plan.slices),
    )


def _reduce_selections(
    graph: JointGraph,
    universe: Mapping[str, int],
    metric: Metric,
    weights: Sequence[float],
    slices: Sequence[Sequence[int]],
) -> tuple[SketchBasis, list[str]]:
    """Replace groups of sketched selections by a basis where that lowers the error."""
    best = sketch_basis(graph, universe)
    notices: list[str] = []
    reduced: list[Node] = []
    for key, members in groups(graph).items():
        selections = {graph.nodes[member].occurrence.selection for member in members}
        if len(selections) < 2:
            continue
        tried = sketch_basis(graph, universe, [*reduced, key])
        fewer = len(best.vertices) - len(tried.vertices)
        if fewer <= 0:
            continue
        errors = [
            least_error(metric, one.uses(), weights, one.held_slices(slices))
            for one in (tried, best)
        ]
        if errors[0] < errors[1]:
            relation = key.occurrence.relation
            notices.append(
                f"{relation}: {len(selections)} selections from {len(members) - fewer} sketches"
            )
            reduced.append(key)
            best = tried
    return best, notices
