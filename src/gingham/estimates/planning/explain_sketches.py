"""A plan of sketches as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gingham.estimates.algebra import Vertex
from gingham.estimates.planning.sketch_plan import RelationPass, SketchPlan, SketchTree
from gingham.plan.slices import periodic

# So many queries are listed beside a sketch that they share.
_LISTED = 6


def explain_sketches(plan: SketchPlan) -> str:
    """Write a plan of sketches as text: their sizes, and the queries that share each."""
    return "\n".join(_lines(plan))


def _lines(plan: SketchPlan) -> Iterator[str]:
    """The lines of a plan of sketches as text."""
    sharing = plan.sharing
    held = " in all slices that are held at once" if plan.edges else ""
    yield (
        f"{len(plan.queries)} queries, {len(sharing.vertices)} sketches, {sharing.held:,} words"
        f"{held}, for the least {sharing.metric} error, one pass over each relation"
    )
    for tree in plan.trees if plan.edges else ():
        yield f"  {_describe_tree(tree, plan)}"
    for step in plan.passes:
        yield f"  {_describe_pass(step)}"
        for vertex in sharing.of(step.relation):
            yield f"    {_describe_sketch(vertex, plan)}"
    for part in (part for query in plan.queries for part in query.parts):
        yield (
            f"  {part}: {sharing.space(part):,} words, {sharing.copies[part]:,} copies, "
            f"weight {sharing.weights[part]:.3g}"
        )
    for notice in plan.notices:
        yield f"  notice: {notice}"


def _describe_tree(tree: SketchTree, plan: SketchPlan) -> str:
    """Describe queries that share slices: how these are cut, and how much memory they take."""
    sharing = plan.sharing
    held = max(sharing.slices[vertex] for vertex in tree.vertices)
    words = sum(sharing.slices[vertex] * sharing.words[vertex] for vertex in tree.vertices)
    listed = _listed(tree.queries)
    if not tree.edges:
        return f"one slice for {listed}, {words:,} words"
    pattern = str(periodic(tree.edges) or "slices in a long pattern")
    return f"slices of {listed}: {pattern}, {held:,} held at once, {words:,} words"


def _listed(queries: Sequence[str]) -> str:
    """The names of the first queries of a list."""
    return ", ".join(queries[:_LISTED]) + (", ..." if len(queries) > _LISTED else "")


def _describe_pass(step: RelationPass) -> str:
    """Describe the pass over a relation that makes its sketches."""
    parts = [f"{step.relation}: rows grouped by {', '.join(step.attributes)}"]
    if step.sliced:
        parts.append("slice")
    if step.fragments.cell_fragments:
        over = " x ".join(axis.attribute.sql for axis in step.fragments.axes) or "all rows"
        parts.append(f"{step.fragments.count} fragments of {over}")
    if step.changes is not None:
        parts.append("insertions and deletions")
    return ", ".join(parts)


def _describe_sketch(vertex: Vertex, plan: SketchPlan) -> str:
    """Describe a sketch: what it sums, its words, and the queries that share it."""
    sharing = plan.sharing
    users = [
        query
        for query, factors in sharing.factors.items()
        if any(vertex.number == number for factor in factors for number, _ in factor)
    ]
    aggregate = f"sum({vertex.measure})" if vertex.measure else "count"
    selected = " of some fragments" if vertex.coefficients else ""
    words, slices = sharing.words[vertex.number], sharing.slices[vertex.number]
    times = f" in {slices:,} slices" if slices > 1 else ""
    attributes = ", ".join(vertex.attributes)
    return f"{aggregate} by {attributes}{selected}: {words:,} words{times} for {_listed(users)}"
