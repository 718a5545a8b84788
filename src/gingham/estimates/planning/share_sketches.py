"""Which sketches are kept for all join aggregates, and what is taken from each relation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np

from gingham.algebra.edges import normalized
from gingham.estimates import algebra
from gingham.estimates.algebra.join_query import JoinQuery
from gingham.estimates.algebra.sharing_plan import plan_sharing
from gingham.estimates.algebra.space import Metric
from gingham.estimates.planning.sketch_plan import ROW, BoundJoin, Fragments, Pass, SketchPlan
from gingham.logical.predicate import evaluate
from gingham.optimizer.axes import axes_of
from gingham.plan.bound import Condition

# A row's fragment is looked up in a list of all cells.
MOST_CELLS = 1 << 12


def share_sketches(
    queries: Sequence[BoundJoin],
    times: Mapping[str, str | None],
    *,
    budget: int,
    metric: Metric = "average",
    weights: Mapping[str, float] | None = None,
    seed: int = 0,
) -> SketchPlan:
    """Plan all queries within a budget of words.

    `times` has the event time of each relation; `weights` say how hard queries are, as far as
    that is known: the others count as one in the middle.
    """
    wanted = {relation: _selections(queries, relation) for relation in times}
    sharing = plan_sharing(
        [_as_algebra(query, wanted) for query in queries],
        budget=budget,
        metric=metric,
        weights=_all_weights(queries, weights or {}),
        fold=True,
        fragments={r: found.fragments.count for r, found in wanted.items() if found.of},
        seed=seed,
    )
    windowed = {
        relation
        for query in queries
        if query.query.window is not None
        for relation in query.query.relations.values()
    }
    passes: list[Pass] = []
    for relation in dict.fromkeys(vertex.relation for vertex in sharing.vertices):
        own = [vertex for vertex in sharing.vertices if vertex.relation == relation]
        passes.append(
            Pass(
                relation,
                tuple(dict.fromkeys(a for vertex in own for a in vertex.attributes)),
                tuple(dict.fromkeys(v.measure for v in own if v.measure is not None)),
                wanted[relation].fragments,
                sliced=relation in windowed and times[relation] is not None,
            )
        )
    notices = [notice for found in wanted.values() for notice in found.notices]
    return SketchPlan(tuple(queries), sharing, tuple(passes), (*sharing.notices, *notices))


def adopt(plan: SketchPlan, query: BoundJoin) -> SketchPlan | None:
    """The same sketches and slices, and one more query that they serve; None if they do not."""
    window, relations = query.query.window, {one.relation for one in plan.passes}
    if not relations.issuperset(query.query.relations.values()):
        return None
    if window is not None and normalized([*plan.edges, *window.classes]) != plan.edges:
        return None
    wanted = {relation: _selections(plan.queries, relation) for relation in relations}
    known = [_as_algebra(one, wanted) for one in plan.queries]
    sharing = algebra.adopt(plan.sharing, known, _as_algebra(query, wanted))
    if sharing is None:
        return None
    return replace(plan, queries=(*plan.queries, query), sharing=sharing)


@dataclass(frozen=True, slots=True)
class _Selections:
    """The fragments of a relation, and which of them each condition selects.

    A condition that is not listed would make too many cells: it is a part of what is summed.
    """

    fragments: Fragments = field(default_factory=Fragments)
    of: Mapping[Condition, frozenset[int]] = field(default_factory=dict[Condition, frozenset[int]])
    notices: tuple[str, ...] = ()


def _selections(queries: Sequence[BoundJoin], relation: str) -> _Selections:
    read = [
        query.conditions.get(alias)
        for query in queries
        for alias, its in query.query.relations.items()
        if its == relation
    ]
    conditions = [c for c in dict.fromkeys(read) if c is not None]
    listed: list[Condition] = []
    # Those with few intervals first, so that as many as possible are told apart.
    for condition in sorted(conditions, key=lambda c: _cells([c])):
        if _cells([*listed, condition]) <= MOST_CELLS:
            listed.append(condition)
    if not listed:
        return _Selections(notices=_crowded(relation, conditions))
    apart = [c for c in conditions if c not in listed]
    axes = tuple(axes_of(listed).values())
    truths = np.stack([evaluate(c.predicate, axes).true for c in listed])
    # Rows that satisfy no condition are left out unless somebody reads all rows.
    everything = None in read or bool(apart)
    signatures, of_cells = np.unique(truths, axis=1, return_inverse=True)
    numbers = np.full(signatures.shape[1], -1)
    kept = np.ones(signatures.shape[1], dtype=np.bool_) if everything else signatures.any(axis=0)
    numbers[kept] = np.arange(kept.sum())
    of = {
        condition: frozenset(numbers[satisfied & kept].tolist())
        for condition, satisfied in zip(listed, signatures, strict=True)
    }
    fragments = Fragments(axes, tuple(numbers[of_cells.ravel()].tolist()))
    return _Selections(fragments, of, _crowded(relation, apart))


def _cells(conditions: list[Condition]) -> int:
    return prod(axis.size for axis in axes_of(conditions).values())


def _crowded(relation: str, apart: list[Condition]) -> tuple[str, ...]:
    return tuple(
        f"{relation}: rows with {condition.sql} are summed apart: too many cells otherwise"
        for condition in apart
    )


def _as_algebra(query: BoundJoin, wanted: Mapping[str, _Selections]) -> JoinQuery:
    measures = {alias: measure.sql for alias, measure in query.measures.items()}
    selections: dict[str, frozenset[int]] = {}
    for alias, condition in query.conditions.items():
        found = wanted[query.query.relations[alias]].of.get(condition)
        if found is not None:
            selections[alias] = found
        else:
            measures[alias] = query.measures.get(alias, ROW).where(condition.sql)
    return JoinQuery(query.joins, query.name, query.query.relations, measures, selections)


def _all_weights(
    queries: Sequence[BoundJoin], known: Mapping[str, float]
) -> dict[str, float] | None:
    own = {query.name: known[query.name] for query in queries if query.name in known}
    if not own:
        return None
    usual = float(np.median(list(own.values())))
    return {query.name: own.get(query.name, usual) for query in queries}
