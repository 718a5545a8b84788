"""Join queries, and the tree of equalities in which equal queries are written alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from gingham.core.errors import QueryError
from gingham.estimates.algebra.disjoint_sets import DisjointSets

Join = tuple[str, str, str, str]  # relation, attribute, relation, attribute
Member = tuple[str, str]  # occurrence, attribute
Slot = tuple[int, int]  # number of the occurrence, position among its attributes
# By the attributes that are equal to each other: the equalities in which the first query says so.
Forms = dict[frozenset[tuple[str, str]], tuple[tuple[Member, Member], ...]]


@dataclass(frozen=True, slots=True)
class JoinQuery:
    """COUNT or SUM over relations that equalities join.

    A relation that occurs twice has a second name in `relations`; `("L", "a", "L", "a")` needs
    none. By occurrence, `measures` has what is summed instead of counting rows, and `selections`
    the fragments of the relation that are read, where each row has the number of its fragment.
    `slices` has in how many slices of time sketches of it are held at once, one by default.
    """

    joins: Sequence[Join]
    name: str = ""
    relations: Mapping[str, str] = field(default_factory=dict[str, str])
    measures: Mapping[str, str] = field(default_factory=dict[str, str])
    selections: Mapping[str, frozenset[int]] = field(default_factory=dict[str, frozenset[int]])
    slices: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A relation in a query, with the attributes that it is joined on, sorted.

    An attribute that is joined on twice is listed twice. `measure` is what is summed (None counts
    rows), `selection` the fragments that are read (None reads all).
    """

    relation: str
    attributes: tuple[str, ...]
    measure: str | None = None
    selection: frozenset[int] | None = None


@dataclass(frozen=True, slots=True)
class JoinTree:
    """A query whose joins have no cycle; two relations may be joined on several attributes.

    `slices` has in how many slices of time the sketch of each occurrence is held at once.
    """

    name: str
    occurrences: tuple[Occurrence, ...]
    edges: tuple[tuple[Slot, Slot], ...]
    slices: tuple[int, ...]


def join_trees(queries: Iterable[JoinQuery | Sequence[Join]]) -> tuple[JoinTree, ...]:
    """Write every join query as a tree; attributes that are equal to each other get the same edges.

    a.x = b.x AND b.x = c.x    and    a.x = c.x AND c.x = b.x    become the same two edges
    """
    forms: Forms = {}
    trees: list[JoinTree] = []
    for number, given in enumerate(queries, 1):
        query = given if isinstance(given, JoinQuery) else JoinQuery(given)
        name = query.name or f"q{number}"
        try:
            trees.append(_join_tree(query, name, forms))
        except QueryError as error:
            raise error.about(f"query {name!r}") from None
    repeated = [name for name, times in Counter(tree.name for tree in trees).items() if times > 1]
    if repeated:
        raise QueryError(
            f"two queries are named {repeated[0]!r}",
            "answers are asked for by name",
            "give each query a name of its own",
        )
    return tuple(trees)


def _join_tree(query: JoinQuery, name: str, forms: Forms) -> JoinTree:
    """Write one join query as a tree, by the forms of the queries before it."""
    relations = dict(query.relations)
    edges = _without_implied(_equality_sides(query.joins, relations))
    if not _joins_are_acyclic(edges):
        edges = _around_cycles(edges)
    edges = _in_common_form(edges, relations, forms)

    attributes: dict[str, list[str]] = {}
    for occurrence, attribute in (member for edge in edges for member in edge):
        attributes.setdefault(occurrence, []).append(attribute)
    for field_name in ("measures", "selections", "slices"):
        for unknown in getattr(query, field_name).keys() - attributes.keys():
            raise QueryError(
                f"{field_name} name {unknown!r}",
                "no join of the query mentions it",
                f"one of {', '.join(attributes)}",
            )
    numbers = {occurrence: number for number, occurrence in enumerate(attributes)}
    by_position = {
        occurrence: sorted(range(len(names)), key=names.__getitem__)
        for occurrence, names in attributes.items()
    }
    seen: Counter[str] = Counter()

    def slot(member: Member) -> Slot:
        """The slot of the next attribute of this occurrence; called in the order of edges."""
        occurrence = member[0]
        seen[occurrence] += 1
        return numbers[occurrence], by_position[occurrence].index(seen[occurrence] - 1)

    return JoinTree(
        name,
        tuple(
            Occurrence(
                relation=relations.get(occurrence, occurrence),
                attributes=tuple(sorted(names)),
                measure=query.measures.get(occurrence),
                selection=query.selections.get(occurrence),
            )
            for occurrence, names in attributes.items()
        ),
        tuple((slot(left), slot(right)) for left, right in edges),
        tuple(query.slices.get(occurrence, 1) for occurrence in attributes),
    )


def _equality_sides(
    joins: Sequence[Join], relations: dict[str, str]
) -> Iterator[tuple[Member, Member]]:
    """Yield both sides of each join equality; the second side of a self-join gets another name."""
    if not joins:
        raise QueryError(
            "no joins", "a sketch estimates a join", 'give equalities: ("r1", "a", "r2", "b")'
        )
    for join in joins:
        if len(join) != 4 or not all(join):
            raise QueryError(
                f"{join!r} is no equi-join",
                "only equalities between two attributes can be estimated from sketches",
                'relation, attribute, relation, attribute: ("r1", "a", "r2", "b")',
            )
        left, attribute, right, other = join
        if left == right:
            right = f"{right}'"
            relations[right] = relations.get(left, left)
        yield (left, attribute), (right, other)


def _without_implied(edges: Iterable[tuple[Member, Member]]) -> list[tuple[Member, Member]]:
    """Leave out join equalities that follow from those before them."""
    groups = DisjointSets[Member]()
    return [edge for edge in edges if groups.unite(*edge)]


def _joins_are_acyclic(edges: Iterable[tuple[Member, Member]]) -> bool:
    """Whether the joined pairs of relations form no cycle."""
    pairs = {frozenset((left[0], right[0])) for left, right in edges}
    groups = DisjointSets[str]()
    return all(groups.unite(*pair) for pair in pairs)


def _around_cycles(edges: list[tuple[Member, Member]]) -> list[tuple[Member, Member]]:
    """Write joins without a cycle: c.t = a.t, c.t = b.t, a.k = b.k becomes c.t = a.t = b.t, ...

    Relations with the fewest common equalities are joined last. The result implies all equalities
    if and only if the query has no true cycle (Bernstein and Goodman 1981); else it is refused.
    """
    groups = DisjointSets[Member]()
    for edge in edges:
        groups.unite(*edge)
    classes = [dict(group) for group in groups.all()]
    names = list(dict.fromkeys(member[0] for edge in edges for member in edge))
    common = {
        pair: [c for c in classes if c.keys() >= set(pair)] for pair in combinations(names, 2)
    }
    tree = DisjointSets[str]()
    rewritten = [
        ((left, c[left]), (right, c[right]))
        for left, right in sorted(common, key=lambda pair: -len(common[pair]))
        if common[left, right] and tree.unite(left, right)
        for c in common[left, right]
    ]
    if len(rewritten) == len(edges):
        return rewritten
    circle = ", ".join(names)
    raise QueryError(
        f"the joins of {circle} form a cycle of more than two relations",
        "the variance of its estimate has no useful bound",
        "leave out one of the joins, or compute this query exactly",
    )


def _in_common_form(
    edges: list[tuple[Member, Member]], relations: Mapping[str, str], forms: Forms
) -> list[tuple[Member, Member]]:
    """Write equal join attributes as the first query that has them did, unless that is cyclic."""
    groups = DisjointSets[Member]()
    for edge in edges:
        groups.unite(*edge)
    for group in groups.all():
        by_origin = {(relations.get(o, o), attribute): (o, attribute) for o, attribute in group}
        if len(group) < 3 or len(by_origin) < len(group):
            continue
        origins = {member: origin for origin, member in by_origin.items()}
        of_group = [edge for edge in edges if edge[0] in group]
        form = forms.setdefault(
            frozenset(by_origin), tuple((origins[a], origins[b]) for a, b in of_group)
        )
        others = [edge for edge in edges if edge not in of_group]
        rewritten = [*others, *((by_origin[a], by_origin[b]) for a, b in form)]
        if _joins_are_acyclic(rewritten):
            edges = rewritten
    return edges
