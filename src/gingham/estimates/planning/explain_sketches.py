"""A plan of sketches as text."""

from __future__ import annotations

from collections.abc import Iterator

from gingham.estimates.algebra import Vertex
from gingham.estimates.planning.sketch_plan import RelationPass, SketchPlan
from gingham.plan.slices import periodic

# So many queries are listed beside a sketch that they share.
_LISTED = 6


def explain_sketches(plan: SketchPlan) -> str:
    """Write a plan of sketches as text: their sizes, and the queries that share each."""
    return "\n".join(_lines(plan))


def _lines(plan: SketchPlan) -> Iterator[str]:
    """The lines of a plan of sketches as text."""
    sharing = plan.sharing
    yield (
        f"{len(plan.queries)} queries, {len(sharing.vertices)} sketches of {sum(sharing.words):,} "
        f"words for the least {sharing.metric} error, one pass over each relation"
    )
    if plan.edges:
        pattern = periodic(plan.edges)
        slices = str(pattern or "listed around the data, panes beyond: the pattern is long")
        yield f"  slices: {slices}; every slice has sketches of this size"
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


def _describe_pass(step: RelationPass) -> str:
    """Describe the pass over a relation that makes its sketches."""
    parts = [f"{step.relation}: rows grouped by {', '.join(step.attributes)}"]
    if step.sliced:
        parts.append("slice")
    if step.fragments.cell_fragments:
        over = " x ".join(axis.attribute.sql for axis in step.fragments.axes) or "all rows"
        parts.append(f"{step.fragments.count} fragments of {over}")
    return ", ".join(parts)


def _describe_sketch(vertex: Vertex, plan: SketchPlan) -> str:
    """Describe a sketch: what it sums, its words, and the queries that share it."""
    sharing = plan.sharing
    users = [
        query
        for query, factors in sharing.factors.items()
        if any(vertex.number == number for factor in factors for number, _ in factor)
    ]
    listed = ", ".join(users[:_LISTED]) + (", ..." if len(users) > _LISTED else "")
    aggregate = f"sum({vertex.measure})" if vertex.measure else "count"
    selected = " of some fragments" if vertex.coefficients else ""
    words = sharing.words[vertex.number]
    return f"{aggregate} by {', '.join(vertex.attributes)}{selected}: {words:,} words for {listed}"
