"""Plan the sketches of all join aggregates, and the pass over each relation that makes them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from math import prod

import numpy as np

from gingham.algebra.edges import normalized
from gingham.estimates.algebra import adopt
from gingham.estimates.algebra.allocation import Metric
from gingham.estimates.algebra.join_query import JoinQuery
from gingham.estimates.algebra.sharing_plan import SharingPlan, choose_sketches, join_plans
from gingham.estimates.planning.bound_join import ROW, BoundJoin, Measure
from gingham.estimates.planning.sketch_plan import (
    FragmentGrid,
    RelationPass,
    SketchPlan,
    SketchTree,
)
from gingham.estimates.planning.weave_sketches import (
    Edges,
    SharedSketches,
    WovenTree,
    most_slices,
    one_tree,
    weave_sketches,
)
from gingham.logical.predicate import evaluate
from gingham.logical.window import Window
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
    delays: Mapping[str, int] | None = None,
    changes: Mapping[str, str] | None = None,
    per_slice: bool = False,
    known: dict[bytes, SharedSketches] | None = None,
) -> SketchPlan:
    """Plan the shared sketches of all join queries within a budget of words.

    `times` has the event time of each relation, None for tables. `weights` say how hard queries
    are to estimate, as far as that is known; all others get the median of these. `delays` has by
    stream how late rows may come, in microseconds: windows are open for so much longer. `changes`
    has by relation SQL of how many rows a row adds, where rows may say that others are gone. With
    `per_slice` the budget is for one slice, whatever their number, and all windows have the same
    slices. `known` is what was found for parts of the queries, and is added to: the next plan of
    nearly the same queries is quick then.
    """
    known = {} if known is None else known
    selections = {relation: _selections(queries, relation) for relation in times}
    all_weights = _all_weights(queries, weights or {})
    fragments = {r: s.grid.count for r, s in selections.items() if s.fragments}
    streams = {relation for relation, time in times.items() if time is not None}

    def share(some: Sequence[BoundJoin], edges: Edges) -> SharedSketches:
        parts = [
            replace(part, slices={} if per_slice else _held(query, edges, streams, delays or {}))
            for query in some
            for part in _join_queries(query, selections)
        ]
        own = None if all_weights is None else {p.name: all_weights[p.name] for p in parts}
        inputs = repr((parts, own, fragments, metric, seed))
        key = blake2b(inputs.encode(), digest_size=16).digest()
        if key not in known:
            known[key] = SharedSketches(
                choose_sketches(
                    parts, metric=metric, weights=own, fold=True, fragments=fragments, seed=seed
                )
            )
        return known[key]

    woven = one_tree(queries, share) if per_slice else weave_sketches(queries, share, streams)
    sharing = join_plans([tree.sketches.plan for tree in woven.trees]).within(budget)
    windowed = {
        relation
        for query in queries
        if query.query.window is not None
        for relation in query.query.relations.values()
    }
    passes = [
        _relation_pass(
            relation,
            sharing,
            selections[relation].grid,
            sliced=relation in windowed and times[relation] is not None,
            changes=(changes or {}).get(relation),
        )
        for relation in dict.fromkeys(vertex.relation for vertex in sharing.vertices)
    ]
    of_selections = [notice for selection in selections.values() for notice in selection.notices]
    return SketchPlan(
        queries=tuple(queries),
        sharing=sharing,
        passes=tuple(passes),
        trees=tuple(_numbered(woven.trees)),
        notices=(*sharing.notices, *woven.notices, *of_selections),
    )


def _numbered(trees: Iterable[WovenTree]) -> Iterator[SketchTree]:
    """Trees of join queries, with the numbers of their sketches in the plan of all trees."""
    first = 0
    for tree in trees:
        last = first + len(tree.sketches.plan.vertices)
        yield SketchTree(tuple(q.name for q in tree.queries), tree.edges, range(first, last))
        first = last


def _held(
    query: BoundJoin, edges: Edges, streams: Collection[str], delays: Mapping[str, int]
) -> dict[str, int]:
    """In how many slices the streams of a join query, by alias, are held while a window is open.

    A window is open until the watermarks of all its streams have passed it.
    """
    window, relations = query.query.window, query.query.relations
    if window is None:
        return {}
    delay = max((delays.get(relation, 0) for relation in relations.values()), default=0)
    held = most_slices(edges, window.range + delay)
    return {alias: held for alias, relation in relations.items() if relation in streams}


def adopt_query(plan: SketchPlan, query: BoundJoin) -> SketchPlan | None:
    """Add a join query that the sketches and slices of a plan can answer as they are.

    None if they cannot: a relation, an edge, a selection or a measure is missing, or signs clash.
    """
    relations = {step.relation for step in plan.passes}
    if not relations.issuperset(query.query.relations.values()):
        return None
    selections = {relation: _selections(plan.queries, relation) for relation in relations}
    adopted = {
        tree: sharing
        for tree in plan.trees
        if (sharing := _adopt_in(tree, plan, query, selections)) is not None
    }
    if not adopted:
        return None
    # The fewer slices a window has, the fewer words more are held.
    best = min(adopted, key=lambda tree: _slices_in(tree, query.query.window))
    larger = replace(best, queries=(*best.queries, query.name))
    return replace(
        plan,
        queries=(*plan.queries, query),
        sharing=adopted[best],
        trees=tuple(larger if tree is best else tree for tree in plan.trees),
    )


def _slices_in(tree: SketchTree, window: Window | None) -> int:
    """How many slices of a tree a window has."""
    return 1 if window is None else most_slices(tree.edges, window.range)


def _adopt_in(
    tree: SketchTree, plan: SketchPlan, query: BoundJoin, selections: Mapping[str, _Selections]
) -> SharingPlan | None:
    """Add a join query to a plan, to read the sketches of one tree; None if they do not serve."""
    window = query.query.window
    if bool(tree.edges) != (window is not None):
        return None
    if window is not None and normalized([*tree.edges, *window.classes]) != tree.edges:
        return None
    members = [other for other in plan.queries if other.name in tree.queries]
    planned = [part for other in members for part in _join_queries(other, selections)]
    sharing = plan.sharing
    for part in _join_queries(query, selections):
        adopted = adopt(sharing, planned, part)
        if adopted is None:
            return None
        sharing = adopted
        planned.append(part)
    return sharing


def _relation_pass(
    relation: str, sharing: SharingPlan, grid: FragmentGrid, *, sliced: bool, changes: str | None
) -> RelationPass:
    """Collect the columns that the sketches of a relation need in one pass."""
    vertices = sharing.of(relation)
    return RelationPass(
        relation=relation,
        attributes=tuple(dict.fromkeys(a for vertex in vertices for a in vertex.attributes)),
        measures=tuple(dict.fromkeys(v.measure for v in vertices if v.measure is not None)),
        fragments=grid,
        sliced=sliced,
        changes=changes,
    )


@dataclass(frozen=True, slots=True)
class _Selections:
    """The fragments of a relation, and which of them each condition selects.

    A condition that is not in `fragments` would make too many cells: it is evaluated as part of
    the measure instead.
    """

    grid: FragmentGrid = field(default_factory=FragmentGrid)
    fragments: Mapping[Condition, frozenset[int]] = field(
        default_factory=dict[Condition, frozenset[int]]
    )
    notices: tuple[str, ...] = ()


def _selections(queries: Sequence[BoundJoin], relation: str) -> _Selections:
    """Cut the rows of a relation into the fragments of all conditions, as far as cells allow."""
    read = [
        query.conditions.get(alias)
        for query in queries
        for alias, name in query.query.relations.items()
        if name == relation
    ]
    conditions = [c for c in dict.fromkeys(read) if c is not None]
    in_grid: list[Condition] = []
    # Conditions with few intervals first, so that as many as possible have a place in the grid.
    for condition in sorted(conditions, key=lambda c: _cell_count([c])):
        if _cell_count([*in_grid, condition]) <= MOST_CELLS:
            in_grid.append(condition)
    if not in_grid:
        return _Selections(notices=_notices_of_conditions(relation, conditions))
    apart = [c for c in conditions if c not in in_grid]
    axes = tuple(axes_of(in_grid).values())
    truths = np.stack([evaluate(c.predicate, axes).true for c in in_grid])
    # Rows that satisfy no condition are left out unless some query reads all rows.
    all_read = None in read or bool(apart)
    signatures, cell_signatures = np.unique(truths, axis=1, return_inverse=True)
    sketched = np.ones(signatures.shape[1], dtype=np.bool_) if all_read else signatures.any(axis=0)
    numbers = np.full(signatures.shape[1], -1)
    numbers[sketched] = np.arange(sketched.sum())
    return _Selections(
        FragmentGrid(axes, tuple(numbers[cell_signatures.ravel()].tolist())),
        {
            condition: frozenset(numbers[satisfied & sketched].tolist())
            for condition, satisfied in zip(in_grid, signatures, strict=True)
        },
        _notices_of_conditions(relation, apart),
    )


def _cell_count(conditions: list[Condition]) -> int:
    """The number of cells of a relation's grid that tells these selections apart."""
    return prod(axis.size for axis in axes_of(conditions).values())


def _notices_of_conditions(relation: str, apart: list[Condition]) -> tuple[str, ...]:
    """Notices of the conditions that would make too many cells, and are summed apart."""
    return tuple(
        f"{relation}: rows with {condition.sql} are summed apart: too many cells otherwise"
        for condition in apart
    )


def _join_queries(query: BoundJoin, selections: Mapping[str, _Selections]) -> Iterator[JoinQuery]:
    """Translate a bound join into what is estimated: two queries for an average, one otherwise."""
    for name, measures in query.parts.items():
        yield _join_query(query, name, measures, selections)


def _join_query(
    query: BoundJoin,
    name: str,
    of_relations: Mapping[str, Measure],
    selections: Mapping[str, _Selections],
) -> JoinQuery:
    """Translate a sum over a join: conditions become sets of fragments, or part of the measure."""
    measures = {alias: measure.sql for alias, measure in of_relations.items()}
    selected: dict[str, frozenset[int]] = {}
    for alias, condition in query.conditions.items():
        fragments = selections[query.query.relations[alias]].fragments.get(condition)
        if fragments is not None:
            selected[alias] = fragments
        else:
            measures[alias] = of_relations.get(alias, ROW).where(condition.sql)
    return JoinQuery(
        joins=query.joins,
        name=name,
        relations=query.query.relations,
        measures=measures,
        selections=selected,
    )


def _all_weights(
    queries: Sequence[BoundJoin], known: Mapping[str, float]
) -> dict[str, float] | None:
    """Fill in the median for join queries of unknown weight; None if no weight is known.

    Both parts of an average have its weight: it needs as many copies of one as of the other.
    """
    weights = {query.name: known[query.name] for query in queries if query.name in known}
    if not weights:
        return None
    median = float(np.median(list(weights.values())))
    return {part: weights.get(query.name, median) for query in queries for part in query.parts}
