"""Sketches for different selections of the same rows, fewer than there are selections.

A fragment is a set of rows that satisfy the same selections. A sketch is linear: that of a
selection is the sum of the sketches of its fragments, if all are on the same xi families. So a
basis of the selections, as rows of numbers over fragments, is all that must be kept. Its
coefficients are whole, so counters stay exact.

    all, even, odd    ->    2 sketches: all = even + odd
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from gingham.estimates.algebra.coalesce import JointGraph, Node
from gingham.estimates.algebra.join_query import JoinTree, Occurrence
from gingham.estimates.algebra.lattice import Row, basis, coordinates
from gingham.estimates.algebra.vertex import Factor, Vertex

Selection = frozenset[int] | None

# Stands for every fragment that no selection mentions.
REST = -1


@dataclass(frozen=True, slots=True)
class SketchBasis:
    """Vertices, and for each query the factors of its estimate, one for each occurrence."""

    vertices: tuple[Vertex, ...]
    factors: tuple[tuple[Factor, ...], ...]

    def uses(self) -> list[set[int]]:
        """The vertices that each query reads."""
        return [{vertex for factor in query for vertex, _ in factor} for query in self.factors]


def worth_tying(trees: Iterable[JoinTree], universe: Mapping[str, int]) -> tuple[Occurrence, ...]:
    """Occurrences, selections left out, that have more selections than a basis needs."""
    selections: dict[Occurrence, dict[Selection, None]] = defaultdict(dict)
    for occurrence in (occurrence for tree in trees for occurrence in tree.occurrences):
        selections[replace(occurrence, selection=None)][occurrence.selection] = None
    return tuple(
        occurrence
        for occurrence, found in selections.items()
        if 0 < len(_fewest(tuple(found), universe.get(occurrence.relation))[1]) < len(found)
    )


def sketch_basis(
    graph: JointGraph, universe: Mapping[str, int], reduced: Collection[Node] = ()
) -> SketchBasis:
    """A vertex for each node of the graph, or a basis for each group of nodes in `reduced`."""
    vertices: list[Vertex] = []
    of_node: dict[int, Factor] = {}
    for key, members in groups(graph).items():
        selections = tuple(dict.fromkeys(graph.nodes[m].occurrence.selection for m in members))
        relation = key.occurrence.relation
        columns, rows = _fewest(selections, universe.get(relation)) if key in reduced else ([], ())
        if not rows:
            for member in members:
                selection = graph.nodes[member].occurrence.selection
                of_node[member] = ((len(vertices), 1),)
                vertices.append(_vertex(len(vertices), key, *_plain(selection)))
            continue
        first = len(vertices)
        for row in rows:
            vertices.append(_vertex(len(vertices), key, *_combined(columns, row)))
        for member in members:
            row = _row(graph.nodes[member].occurrence.selection, columns)
            times = coordinates(row, rows)
            assert times is not None  # the basis was made from this row
            # What selects nothing reads a sketch as well, no times: it still is of that relation.
            read = tuple((first + i, t) for i, t in enumerate(times) if t)
            of_node[member] = read or ((first, 0),)
    factors = [tuple(of_node[node] for node in used) for used in graph.uses]
    return SketchBasis(tuple(vertices), tuple(factors))


def groups(graph: JointGraph) -> dict[Node, list[int]]:
    """Nodes that differ in nothing but their selections."""
    found: dict[Node, list[int]] = defaultdict(list)
    for number, node in enumerate(graph.nodes):
        found[replace(node, occurrence=replace(node.occurrence, selection=None))].append(number)
    return found


def _fewest(
    selections: Sequence[Selection], universe: int | None
) -> tuple[list[list[int]], tuple[Row, ...]]:
    """Fragments that no selection tells apart, as columns, and a basis over them."""
    mentioned = {fragment for selection in selections for fragment in selection or ()}
    every = [*sorted(mentioned), REST] if universe is None else [*range(universe)]
    by_signature: dict[Row, list[int]] = defaultdict(list)
    for fragment in every:
        signature = tuple(int(s is None or fragment in s) for s in selections)
        by_signature[signature].append(fragment)
    columns = [found for signature, found in by_signature.items() if any(signature)]
    return columns, basis([_row(selection, columns) for selection in selections])


def _row(selection: Selection, columns: list[list[int]]) -> Row:
    return tuple(int(selection is None or column[0] in selection) for column in columns)


def _plain(selection: Selection) -> tuple[tuple[tuple[int, int], ...], int]:
    if selection is None:
        return (), 1
    return tuple((fragment, 1) for fragment in sorted(selection)), 0


def _combined(columns: list[list[int]], row: Row) -> tuple[tuple[tuple[int, int], ...], int]:
    times = {fragment: t for column, t in zip(columns, row, strict=True) for fragment in column}
    otherwise = times.pop(REST, 0)
    return tuple(sorted((f, t) for f, t in times.items() if t != otherwise)), otherwise


def _vertex(
    number: int, key: Node, coefficients: tuple[tuple[int, int], ...], otherwise: int
) -> Vertex:
    occurrence = key.occurrence
    return Vertex(
        number,
        occurrence.relation,
        occurrence.attributes,
        key.families,
        occurrence.measure,
        coefficients,
        otherwise,
    )
