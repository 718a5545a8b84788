"""Who shares which sketches, and how large they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Literal, cast, get_args

from gingham.core.errors import GinghamError
from gingham.estimates.algebra.allocation import (
    Metric,
    allocate,
    check_budget,
    check_weights,
    least_error,
)
from gingham.estimates.algebra.coalesce import EFFORT, JointGraph, coalesce
from gingham.estimates.algebra.join_query import Join, JoinQuery, join_trees
from gingham.estimates.algebra.sketch_basis import SketchBasis, groups, sketch_basis, worth_tying
from gingham.estimates.algebra.vertex import Factor, Vertex

Sharing = Literal["none", "equal", "fragments"]


@dataclass(frozen=True, slots=True)
class SharingPlan:
    """Sketches, their words, and how each query multiplies them to its estimate.

    `error` is the sum (metric "average") or the maximum of weight / copies over queries.
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

    @property
    def allocation(self) -> dict[Vertex, int]:
        """Words by vertex."""
        return dict(zip(self.vertices, self.words, strict=True))

    @property
    def fingerprint(self) -> str:
        """Equal for plans whose sketches may be added."""
        told = repr((self.seed, self.vertices, self.words)).encode()
        return blake2b(told, digest_size=8).hexdigest()

    def of(self, relation: str) -> list[Vertex]:
        """The sketches of one relation."""
        return [vertex for vertex in self.vertices if vertex.relation == relation]

    def space(self, query: str) -> int:
        """The words that the estimate of a query is made from."""
        used = {vertex for factor in self.factors[query] for vertex, _ in factor}
        return self.copies[query] * len(used)

    def within(self, budget: int, weights: Mapping[str, float] | None = None) -> SharingPlan:
        """The same sketches with other sizes."""
        weighed = dict(self.weights if weights is None else weights)
        uses = {
            query: {vertex for factor in factors for vertex, _ in factor}
            for query, factors in self.factors.items()
        }
        found = allocate(uses, budget=budget, metric=self.metric, weights=weighed)
        return replace(
            self,
            words=tuple(found.words[vertex.number] for vertex in self.vertices),
            copies=found.copies,
            error=found.error,
            weights=weighed,
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
    """Choose sketches for all queries within a budget of words.

    `weights` are variances relative to the squared answer, all 1 if nothing is known. `share`:
    nothing, what has equal selections (as in the paper), or also what can be added up from
    fragments, where `fragments` says how many there are of a relation. `fold` keeps one sketch
    for both sides of a self-join.

    >>> plan = plan_sharing([[("r", "a", "s", "b")], [("r", "a", "t", "c")]], budget=30)
    >>> [(vertex.relation, words) for vertex, words in plan.allocation.items()]
    [('r', 10), ('s', 10), ('t', 10)]
    """
    for value, kind in ((metric, Metric), (share, Sharing)):
        if value not in get_args(kind):
            raise GinghamError(
                f"{value!r} is no choice", "it is not known", f"one of {', '.join(get_args(kind))}"
            )
    if isinstance(queries, Mapping):
        named = cast("Mapping[str, Sequence[Join]]", queries)
        queries = [JoinQuery(joins, name) for name, joins in named.items()]
    found = join_trees(queries)
    names = [tree.name for tree in found]
    if weights is not None and not isinstance(weights, Mapping):
        if len(weights) != len(names):
            raise GinghamError(
                f"{len(weights)} weights for {len(names)} queries",
                "each query has one weight",
                "as many weights as queries, or none",
            )
        weights = dict(zip(names, weights, strict=True))
    weighed = check_weights(names, weights)
    universe = fragments or {}
    graph = coalesce(
        found,
        metric,
        weighed,
        share=share != "none",
        fold=fold,
        ties=worth_tying(found, universe) if share == "fragments" else (),
        effort=effort,
    )
    realized, notices = _reduced(graph, universe, metric, weighed, reduce=share == "fragments")
    check_budget(budget, len(realized.vertices))
    return SharingPlan(
        realized.vertices,
        dict(zip(names, realized.factors, strict=True)),
        (),
        {},
        0.0,
        metric,
        dict(zip(names, weighed, strict=True)),
        seed,
        (*graph.notices, *notices),
    ).within(budget)


def _reduced(
    graph: JointGraph,
    universe: Mapping[str, int],
    metric: Metric,
    weights: Sequence[float],
    *,
    reduce: bool,
) -> tuple[SketchBasis, list[str]]:
    """Replace groups of selections by a basis wherever that lowers the error."""
    best = sketch_basis(graph, universe)
    chosen: list[str] = []
    taken = []
    for key, members in groups(graph).items() if reduce else ():
        selections = {graph.nodes[member].occurrence.selection for member in members}
        if len(selections) < 2:
            continue
        tried = sketch_basis(graph, universe, [*taken, key])
        fewer = len(best.vertices) - len(tried.vertices)
        if fewer <= 0:
            continue
        error = least_error(metric, best.uses(), weights)
        if least_error(metric, tried.uses(), weights) < error:
            relation = key.occurrence.relation
            chosen.append(
                f"{relation}: {len(selections)} selections from {len(members) - fewer} sketches"
            )
            taken.append(key)
            best = tried
    return best, chosen
