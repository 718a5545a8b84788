"""Join queries, and the one form in which equal ones are written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from gingham.core.errors import QueryError
from gingham.estimates.algebra.disjoint_sets import DisjointSets

Join = tuple[str, str, str, str]  # relation, attribute, relation, attribute
Member = tuple[str, str]  # occurrence, attribute
Slot = tuple[int, int]  # occurrence, place among its attributes
Forms = dict[frozenset[tuple[str, str]], tuple[tuple[Member, Member], ...]]


@dataclass(frozen=True, slots=True)
class JoinQuery:
    """COUNT or SUM over relations that equalities join.

    A relation that occurs twice has a second name in `relations`; `("L", "a", "L", "a")` needs
    none. `measures` says what an occurrence adds up instead of counting rows; `selections` says
    which fragments of its relation it reads, where a fragment is a number that each row has.
    """

    joins: Sequence[Join]
    name: str = ""
    relations: Mapping[str, str] = field(default_factory=dict[str, str])
    measures: Mapping[str, str] = field(default_factory=dict[str, str])
    selections: Mapping[str, frozenset[int]] = field(default_factory=dict[str, frozenset[int]])


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A relation in a query, with the attributes it is joined on; one joined on twice is twice."""

    relation: str
    attributes: tuple[str, ...]
    measure: str | None = None
    selection: frozenset[int] | None = None


@dataclass(frozen=True, slots=True)
class JoinTree:
    """A query without cycles; two relations may be joined on several attributes."""

    name: str
    occurrences: tuple[Occurrence, ...]
    edges: tuple[tuple[Slot, Slot], ...]


def join_trees(queries: Iterable[JoinQuery | Sequence[Join]]) -> tuple[JoinTree, ...]:
    """Every query as a tree; what is equal for the same reason is written the same way.

    a.x = b.x AND b.x = c.x    and    a.x = c.x AND c.x = b.x    become the same two edges
    """
    forms: Forms = {}
    found: list[JoinTree] = []
    for number, given in enumerate(queries, 1):
        query = given if isinstance(given, JoinQuery) else JoinQuery(given)
        name = query.name or f"q{number}"
        try:
            found.append(_tree(query, name, forms))
        except QueryError as error:
            raise error.about(f"query {name!r}") from None
    repeated = [name for name, times in Counter(tree.name for tree in found).items() if times > 1]
    if repeated:
        raise QueryError(
            f"two queries are named {repeated[0]!r}",
            "answers are asked for by name",
            "give each query a name of its own",
        )
    return tuple(found)


def _tree(query: JoinQuery, name: str, forms: Forms) -> JoinTree:
    relations = dict(query.relations)
    edges = _without_implied(_members(query.joins, relations))
    if not _acyclic(edges):
        edges = _around_cycles(edges)
    edges = _as_others_write(edges, relations, forms)

    attributes: dict[str, list[str]] = {}
    for occurrence, attribute in (member for edge in edges for member in edge):
        attributes.setdefault(occurrence, []).append(attribute)
    for what in ("measures", "selections"):
        for unknown in getattr(query, what).keys() - attributes.keys():
            raise QueryError(
                f"{what} name {unknown!r}",
                "no join of the query mentions it",
                f"one of {', '.join(attributes)}",
            )
    numbers = {occurrence: number for number, occurrence in enumerate(attributes)}
    places = {
        occurrence: sorted(range(len(names)), key=names.__getitem__)
        for occurrence, names in attributes.items()
    }
    taken: Counter[str] = Counter()

    def slot(member: Member) -> Slot:
        occurrence = member[0]
        taken[occurrence] += 1
        return numbers[occurrence], places[occurrence].index(taken[occurrence] - 1)

    return JoinTree(
        name,
        tuple(
            Occurrence(
                relations.get(occurrence, occurrence),
                tuple(sorted(names)),
                query.measures.get(occurrence),
                query.selections.get(occurrence),
            )
            for occurrence, names in attributes.items()
        ),
        tuple((slot(left), slot(right)) for left, right in edges),
    )


def _members(joins: Sequence[Join], relations: dict[str, str]) -> Iterator[tuple[Member, Member]]:
    """Both sides of each equality; the second side of a self-join gets a name of its own."""
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
    groups = DisjointSets[Member]()
    return [edge for edge in edges if groups.unite(*edge)]


def _acyclic(edges: Iterable[tuple[Member, Member]]) -> bool:
    pairs = {frozenset((left[0], right[0])) for left, right in edges}
    groups = DisjointSets[str]()
    return all(groups.unite(*pair) for pair in pairs)


def _around_cycles(edges: list[tuple[Member, Member]]) -> list[tuple[Member, Member]]:
    """Say the same without a cycle: c.t = a.t, c.t = b.t, a.k = b.k becomes c.t = a.t = b.t, ...

    Relations whose common equalities are fewest are joined last; the result says everything that
    was said if and only if the query has no true cycle (Bernstein and Goodman 1981).
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
    found = [
        ((left, c[left]), (right, c[right]))
        for left, right in sorted(common, key=lambda pair: -len(common[pair]))
        if common[left, right] and tree.unite(left, right)
        for c in common[left, right]
    ]
    if len(found) == len(edges):
        return found
    circle = ", ".join(names)
    raise QueryError(
        f"the joins of {circle} form a cycle of more than two relations",
        "the variance of its estimate has no useful bound",
        "leave out one of the joins, or compute this query exactly",
    )


def _as_others_write(
    edges: list[tuple[Member, Member]], relations: Mapping[str, str], forms: Forms
) -> list[tuple[Member, Member]]:
    groups = DisjointSets[Member]()
    for edge in edges:
        groups.unite(*edge)
    for group in groups.all():
        by_origin = {(relations.get(o, o), attribute): (o, attribute) for o, attribute in group}
        if len(group) < 3 or len(by_origin) < len(group):
            continue
        origins = {member: origin for origin, member in by_origin.items()}
        mine = [edge for edge in edges if edge[0] in group]
        form = forms.setdefault(
            frozenset(by_origin), tuple((origins[a], origins[b]) for a, b in mine)
        )
        others = [edge for edge in edges if edge not in mine]
        rewritten = [*others, *((by_origin[a], by_origin[b]) for a, b in form)]
        if _acyclic(rewritten):
            edges = rewritten
    return edges
