"""Choose which queries share sketches (CoalesceJoinGraphs of Dobra et al.).

Two vertices, each the sketch of one relation in one query, may become one if they sketch the same
attributes of the same rows, and if no query then has two edges on one xi family: its estimate
would be biased.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations, product

from gingham.estimates.algebra.allocation import METRICS, Metric, least_error
from gingham.estimates.algebra.join_query import JoinTree, Occurrence

# About a minute on one core. Not measured in seconds, so that the same queries always get the same
# plan: after a restart, the sketches of a checkpoint are read by the plan that is made anew.
EFFORT = 12_000_000
# Errors that differ by less are equal up to rounding.
_NO_LOSS = 1 + 1e-9


@dataclass(frozen=True, slots=True)
class Node:
    """A sketch to be made: the rows of a relation, and the xi family of each join attribute."""

    occurrence: Occurrence
    families: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class JointGraph:
    """The join graphs of all queries; `uses[q][i]` is the vertex of occurrence i of query q.

    A sketch is held in as many slices of time as that query needs which needs the most.
    """

    nodes: tuple[Node, ...]
    uses: tuple[tuple[int, ...], ...]
    notices: tuple[str, ...] = ()


def coalesce(
    trees: Sequence[JoinTree],
    metric: Metric,
    weights: Sequence[float],
    *,
    share: bool = True,
    fold: bool = False,
    ties: Collection[Occurrence] = (),
    effort: int = EFFORT,
) -> JointGraph:
    """Let queries share sketches: coalesce the pair that lowers the error most, until none is left.

    Without `share` every query has its own vertices. `fold` also coalesces the two sides of a
    self-join, whose sketches are equal. `ties` are occurrences, without their selections, whose
    sketches get the same xi families whatever rows they select. Weighing a pair costs as much
    effort as there are occurrences; after `effort`, pairs are coalesced unweighed, with a notice.
    """
    if not share:
        return _Search(trees, [tree.slices for tree in trees], fold=fold).graph(())
    # Equal queries share everything, and count as one with the weight of all.
    equal_trees: dict[object, list[int]] = defaultdict(list)
    for number, tree in enumerate(trees):
        equal_trees[tree.occurrences, tree.edges].append(number)
    combined = [
        (sum if metric == "average" else max)(weights[number] for number in numbers)
        for numbers in equal_trees.values()
    ]
    different = [trees[numbers[0]] for numbers in equal_trees.values()]
    slices = [
        [max(held) for held in zip(*(trees[number].slices for number in numbers), strict=True)]
        for numbers in equal_trees.values()
    ]
    graphs: list[JointGraph] = []
    # Two greedy orders, as neither is always better; that of the maximum costs next to nothing.
    for order in dict.fromkeys((metric, METRICS[-1])):
        search = _Search(different, slices, fold=fold)
        notices = search.run(order, combined, effort)
        for occurrence in ties:
            search.tie(occurrence)
        graphs.append(search.graph(notices))

    def error(graph: JointGraph) -> float:
        prices = held_slices([[[v] for v in used] for used in graph.uses], slices)
        return least_error(metric, [set(used) for used in graph.uses], combined, prices)

    graph = min(graphs, key=error)
    uses = {
        number: used
        for numbers, used in zip(equal_trees.values(), graph.uses, strict=True)
        for number in numbers
    }
    return replace(graph, uses=tuple(uses[number] for number in range(len(trees))))


def held_slices(
    factors: Sequence[Sequence[Collection[int]]], slices: Sequence[Sequence[int]]
) -> list[int]:
    """In how many slices of time each sketch is held at once, by its number.

    `factors` has the sketches that each query reads for each of its occurrences, `slices` in how
    many slices it needs them.
    """
    pairs = [
        (vertex, held)
        for of_query, slices_of_query in zip(factors, slices, strict=True)
        for vertices, held in zip(of_query, slices_of_query, strict=True)
        for vertex in vertices
    ]
    found = [1] * (1 + max((vertex for vertex, _ in pairs), default=-1))
    for vertex, held in pairs:
        found[vertex] = max(found[vertex], held)
    return found


class _Search:
    """The joint graph of join queries while sketches (vertices) are coalesced.

    A slot is one attribute of one vertex; a union-find over slots holds their xi families.
    """

    def __init__(
        self, trees: Sequence[JoinTree], slices: Sequence[Sequence[int]], *, fold: bool
    ) -> None:
        self.fold = fold
        self.slices = [held for of_query in slices for held in of_query]  # by vertex
        self.occurrences = [occurrence for tree in trees for occurrence in tree.occurrences]
        self.alive = dict.fromkeys(range(len(self.occurrences)), True)
        self.home = list(range(len(self.occurrences)))  # by occurrence: its vertex
        self.starts: list[int] = []  # by query: its first occurrence
        self.slots: list[tuple[int, ...]] = []  # by vertex
        self.parent: list[int] = []  # by slot: up to the slot that stands for the xi family
        self.queries: list[int] = []  # by family: the queries with an edge in it, as bits
        self.users: list[int] = []  # by vertex: the queries that use it, as bits
        for number, tree in enumerate(trees):
            self.starts.append(len(self.slots))
            for occurrence in tree.occurrences:
                first = len(self.parent)
                self.slots.append(tuple(range(first, first + len(occurrence.attributes))))
                self.parent += self.slots[-1]
                self.users.append(1 << number)
            self.queries += [1 << number] * (len(self.parent) - len(self.queries))
            for (left, i), (right, j) in tree.edges:
                a = self.slots[self.starts[-1] + left][i]
                b = self.slots[self.starts[-1] + right][j]
                self.parent[self.family(b)] = self.family(a)

    def family(self, slot: int) -> int:
        """The slot that stands for the xi family of this slot, an attribute of a sketch."""
        while self.parent[slot] != slot:
            self.parent[slot] = self.parent[self.parent[slot]]
            slot = self.parent[slot]
        return slot

    def run(self, metric: Metric, weights: Sequence[float], effort: int) -> tuple[str, ...]:
        """Coalesce pairs of sketches greedily; returns notices.

        The gain of a pair rarely grows while others are coalesced, so a pair is weighed again only
        when its last known gain is the best.
        """
        now = least_error(metric, self.uses(), weights, self.slices)
        # Error after / error before, the best first; 0 is not known yet.
        ratios = [(0.0, pair) for pair in self.pairs()]
        while ratios:
            _, pair = heapq.heappop(ratios)
            one, other = sorted(self.home[vertex] for vertex in pair)
            if one == other or not (fitting := self.fitting(one, other)):
                continue
            effort -= len(self.occurrences)
            if effort < 0:
                return self._unweighed([pair, *(pair for _, pair in sorted(ratios))])
            held = list(self.slices)
            held[one] = max(held[one], held[other])
            after = least_error(metric, self.uses((one, other)), weights, held)
            if ratios and after / now > ratios[0][0]:
                heapq.heappush(ratios, (after / now, (one, other)))
                continue
            # A sketch that one query needs for long is dear for another that needs many words.
            if after > now * _NO_LOSS:
                continue
            self.merge(one, other, fitting)
            now = after
        return ()

    def _unweighed(self, pairs: list[tuple[int, int]]) -> tuple[str, ...]:
        """Coalesce all pairs of sketches that can be, in this order; returns a notice."""
        for pair in pairs:
            one, other = sorted(self.home[vertex] for vertex in pair)
            if one != other and (fitting := self.fitting(one, other)):
                self.merge(one, other, fitting)
        return (f"sharing: too many pairs of sketches, {len(pairs)} were coalesced unweighed",)

    def pairs(self) -> Iterator[tuple[int, int]]:
        """All pairs of sketches of the same attributes of the same rows."""
        by_occurrence: dict[Occurrence, list[int]] = defaultdict(list)
        for vertex, occurrence in enumerate(self.occurrences):
            by_occurrence[occurrence].append(vertex)
        for vertices in by_occurrence.values():
            yield from combinations(vertices, 2)

    def uses(self, merged: tuple[int, int] = (-1, -1)) -> list[set[int]]:
        """The sketches of each query, now or if a pair (remaining, removed) were coalesced."""
        remaining, removed = merged
        homes = [remaining if home == removed else home for home in self.home]
        stops = [*self.starts[1:], len(homes)]
        return [set(homes[a:b]) for a, b in zip(self.starts, stops, strict=True)]

    def tie(self, occurrence: Occurrence) -> None:
        """Give the same xi families to all sketches of the same attributes, as far as they may."""
        tied = [v for v in self.alive if replace(self.occurrences[v], selection=None) == occurrence]
        for other in tied[1:]:
            if slots := self.order(tied[0], other):
                self.unite(tied[0], slots)

    def fitting(self, one: int, other: int) -> tuple[int, ...] | None:
        """As `order`, or None if these two sketches may not become one."""
        if not self.fold and self.users[one] & self.users[other]:
            return None
        return self.order(one, other)

    def order(self, one: int, other: int) -> tuple[int, ...] | None:
        """Order the join attributes of sketch `other` to be united pairwise with those of `one`."""
        attributes = self.occurrences[one].attributes
        positions: dict[str, list[int]] = defaultdict(list)
        for position, attribute in enumerate(attributes):
            positions[attribute].append(position)
        sorted_positions = [position for same in positions.values() for position in same]
        # An attribute that is joined on twice has two slots, in either order.
        for orders in product(*(permutations(same) for same in positions.values())):
            order = [position for part in orders for position in part]
            slots = [0] * len(order)
            for position, taken in zip(sorted_positions, order, strict=True):
                slots[position] = self.slots[other][taken]
            if self.well_formed(self.slots[one], slots):
                return tuple(slots)
        return None

    def well_formed(self, ones: Sequence[int], others: Sequence[int]) -> bool:
        """Whether uniting attributes leaves every query with at most one edge per xi family."""
        united: dict[int, set[int]] = {}
        for pair in zip(ones, others, strict=True):
            parts = [united.get(family, {family}) for family in map(self.family, pair)]
            if parts[0] is parts[1] or parts[0] == parts[1]:
                continue
            both = parts[0] | parts[1]
            seen = 0
            for family in both:
                if seen & self.queries[family]:
                    return False
                seen |= self.queries[family]
            united.update(dict.fromkeys(both, both))
        return True

    def merge(self, one: int, other: int, slots: Sequence[int]) -> None:
        """Coalesce two sketches into one; `slots` are those of `other`, in order."""
        self.unite(one, slots)
        self.users[one] |= self.users[other]
        self.slices[one] = max(self.slices[one], self.slices[other])
        del self.alive[other]
        self.home = [one if home == other else home for home in self.home]

    def unite(self, one: int, slots: Sequence[int]) -> None:
        """Put attributes of sketches (slots) pairwise into one xi family."""
        for left, right in zip(self.slots[one], slots, strict=True):
            a, b = self.family(left), self.family(right)
            if a != b:
                self.parent[b] = a
                self.queries[a] |= self.queries[b]

    def graph(self, notices: tuple[str, ...]) -> JointGraph:
        """The joint graph, with sketches and xi families numbered from zero."""
        numbers = {vertex: number for number, vertex in enumerate(self.alive)}
        families: dict[int, int] = {}
        nodes = [
            Node(
                self.occurrences[vertex],
                tuple(
                    families.setdefault(self.family(slot), len(families))
                    for slot in self.slots[vertex]
                ),
            )
            for vertex in self.alive
        ]
        stops = [*self.starts[1:], len(self.home)]
        uses = [
            tuple(numbers[home] for home in self.home[a:b])
            for a, b in zip(self.starts, stops, strict=True)
        ]
        return JointGraph(tuple(nodes), tuple(uses), notices)
