"""Choose fewer sketches than there are selections of the same rows.

A fragment is a set of rows that satisfy the same selections. A sketch is linear: that of a
selection is the sum of the sketches of its fragments, if all are on the same xi families. So it is
enough to store a basis of the selections, as rows of numbers over fragments. Its coefficients are
whole, so counters stay exact.

    all, even, odd    ->    2 sketches: all = even + odd
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from gingham.estimates.algebra.coalesce import JointGraph, Node, held_slices
from gingham.estimates.algebra.join_query import JoinTree, Occurrence
from gingham.estimates.algebra.lattice import Row, basis, coordinates
from gingham.estimates.algebra.vertex import Factor, Vertex

Selection = frozenset[int] | None

# Stands for all fragments that no selection mentions.
REST = -1


@dataclass(frozen=True, slots=True)
class SketchBasis:
    """The sketches of all queries, and the factors that each query multiplies to its estimate.

    A query has one factor for each of its occurrences.
    """

    vertices: tuple[Vertex, ...]
    factors: tuple[tuple[Factor, ...], ...]

    def uses(self) -> list[set[int]]:
        """The vertices that each query reads."""
        return [{vertex for factor in query for vertex, _ in factor} for query in self.factors]

    def held_slices(self, slices: Sequence[Sequence[int]]) -> list[int]:
        """In how many slices of time each sketch is held, given those that each query needs."""
        return held_slices(
            [[[vertex for vertex, _ in factor] for factor in query] for query in self.factors],
            slices,
        )


def worth_tying(trees: Iterable[JoinTree], universe: Mapping[str, int]) -> tuple[Occurrence, ...]:
    """Find sketched relations of queries whose selections have a smaller basis."""
    selections: dict[Occurrence, dict[Selection, None]] = defaultdict(dict)
    for occurrence in (occurrence for tree in trees for occurrence in tree.occurrences):
        selections[replace(occurrence, selection=None)][occurrence.selection] = None
    return tuple(
        occurrence
        for occurrence, different in selections.items()
        if 0
        < len(_selection_basis(tuple(different), universe.get(occurrence.relation)).rows)
        < len(different)
    )


def sketch_basis(
    graph: JointGraph, universe: Mapping[str, int], reduced: Collection[Node] = ()
) -> SketchBasis:
    """Make a sketch for each node of the graph, but a basis for each group of nodes in `reduced`.

    `universe` has the number of fragments of relations, where that is known.
    """
    vertices: list[Vertex] = []
    of_node: dict[int, Factor] = {}
    for key, members in groups(graph).items():
        selections = tuple(dict.fromkeys(graph.nodes[m].occurrence.selection for m in members))
        relation = key.occurrence.relation
        basis = (
            _selection_basis(selections, universe.get(relation))
            if key in reduced
            else _Basis([], ())
        )
        if not basis.rows:
            for member in members:
                selection = graph.nodes[member].occurrence.selection
                of_node[member] = ((len(vertices), 1),)
                vertices.append(
                    _sketch_vertex(len(vertices), key, _selection_multiplicity(selection))
                )
            continue
        first = len(vertices)
        for row in basis.rows:
            vertices.append(
                _sketch_vertex(len(vertices), key, _basis_multiplicity(basis.columns, row))
            )
        for member in members:
            row = _selection_row(graph.nodes[member].occurrence.selection, basis.columns)
            times = coordinates(row, basis.rows)
            assert times is not None  # the basis was made from this row
            # An empty selection reads a sketch zero times: a factor names at least one vertex.
            factor = tuple((first + i, t) for i, t in enumerate(times) if t)
            of_node[member] = factor or ((first, 0),)
    factors = [tuple(of_node[node] for node in used) for used in graph.uses]
    return SketchBasis(tuple(vertices), tuple(factors))


def groups(graph: JointGraph) -> dict[Node, list[int]]:
    """Group the sketches of a joint graph that differ in nothing but their selections."""
    grouped: dict[Node, list[int]] = defaultdict(list)
    for number, node in enumerate(graph.nodes):
        grouped[replace(node, occurrence=replace(node.occurrence, selection=None))].append(number)
    return grouped


class _Basis(NamedTuple):
    """A basis of selections: fewer sketches, which add up to those of all selections."""

    columns: list[list[int]]  # fragments that no selection tells apart
    rows: tuple[Row, ...]  # one for each sketch: how often the rows of each column count


class _Multiplicity(NamedTuple):
    """How often rows count in a sketch, by the fragment that they are in."""

    coefficients: tuple[tuple[int, int], ...]  # fragments, and how often their rows count
    otherwise: int  # how often all other rows count


def _selection_basis(selections: Sequence[Selection], universe: int | None) -> _Basis:
    """Compute a basis of sketched selections; `universe` is the number of fragments, if known."""
    mentioned = {fragment for selection in selections for fragment in selection or ()}
    every = [*sorted(mentioned), REST] if universe is None else [*range(universe)]
    by_signature: dict[Row, list[int]] = defaultdict(list)
    for fragment in every:
        signature = tuple(int(s is None or fragment in s) for s in selections)
        by_signature[signature].append(fragment)
    columns = [fragments for signature, fragments in by_signature.items() if any(signature)]
    return _Basis(columns, basis([_selection_row(selection, columns) for selection in selections]))


def _selection_row(selection: Selection, columns: list[list[int]]) -> Row:
    """A selection as a lattice row: 1 for columns of fragments that it selects, 0 for others."""
    return tuple(int(selection is None or column[0] in selection) for column in columns)


def _selection_multiplicity(selection: Selection) -> _Multiplicity:
    """How often rows count in the sketch of one selection: once if selected, else never."""
    if selection is None:
        return _Multiplicity((), 1)
    return _Multiplicity(tuple((fragment, 1) for fragment in sorted(selection)), 0)


def _basis_multiplicity(columns: list[list[int]], row: Row) -> _Multiplicity:
    """How often rows of each fragment count in the sketch that a row of the basis stands for."""
    times = {fragment: t for column, t in zip(columns, row, strict=True) for fragment in column}
    otherwise = times.pop(REST, 0)
    coefficients = sorted((f, t) for f, t in times.items() if t != otherwise)
    return _Multiplicity(tuple(coefficients), otherwise)


def _sketch_vertex(number: int, key: Node, multiplicity: _Multiplicity) -> Vertex:
    """Build the vertex of a sketch from a node of the joint graph of joins, for the algebra."""
    return Vertex(
        number=number,
        relation=key.occurrence.relation,
        attributes=key.occurrence.attributes,
        families=key.families,
        measure=key.occurrence.measure,
        coefficients=multiplicity.coefficients,
        otherwise=multiplicity.otherwise,
    )
