"""Which joins share sketches: CoalesceJoinGraphs.

Two vertices may become one if they sketch the same attributes of the same rows, and if no query
then has two edges on one xi family: its estimate would no longer be right on average.
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
# plan: after a restart, sketches of before are read by it.
EFFORT = 12_000_000


@dataclass(frozen=True, slots=True)
class Node:
    """A vertex of the joint graph: what it sketches and the xi family of each attribute."""

    occurrence: Occurrence
    families: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class JointGraph:
    """The join graphs of all queries; `uses[q][i]` is the vertex of occurrence i of query q."""

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
    """Coalesce the pair of vertices that lowers the error most, until none is left.

    `fold` also coalesces the two sides of a self-join; they hold the same numbers. `ties` are
    occurrences, selections left out, whose sketches are to be on the same xi families whatever
    rows they select. Every pair that is weighed takes as much effort as there are occurrences;
    after `effort`, pairs are coalesced as they come, and a notice says so.
    """
    if not share:
        return _Search(trees, fold=fold).graph(())
    # Equal queries share everything, and count as one with the weight of all.
    alike: dict[object, list[int]] = defaultdict(list)
    for number, tree in enumerate(trees):
        alike[tree.occurrences, tree.edges].append(number)
    combined = [
        (sum if metric == "average" else max)(weights[number] for number in numbers)
        for numbers in alike.values()
    ]
    different = [trees[numbers[0]] for numbers in alike.values()]
    graphs: list[JointGraph] = []
    # Two orders, since neither is always better; that of the maximum costs next to nothing.
    for order in dict.fromkeys((metric, METRICS[-1])):
        search = _Search(different, fold=fold)
        notices = search.run(order, combined, effort)
        for occurrence in ties:
            search.tie(occurrence)
        graphs.append(search.graph(notices))
    graph = min(
        graphs, key=lambda graph: least_error(metric, [set(used) for used in graph.uses], combined)
    )
    uses = {
        number: used
        for numbers, used in zip(alike.values(), graph.uses, strict=True)
        for number in numbers
    }
    return replace(graph, uses=tuple(uses[number] for number in range(len(trees))))


class _Search:
    """Vertices that become fewer; slots and their xi families in a union-find."""

    def __init__(self, trees: Sequence[JoinTree], *, fold: bool) -> None:
        self.fold = fold
        self.occurrences = [occurrence for tree in trees for occurrence in tree.occurrences]
        self.alive = dict.fromkeys(range(len(self.occurrences)), True)
        self.home = list(range(len(self.occurrences)))  # of each occurrence: its vertex
        self.starts: list[int] = []  # of each query: its first occurrence
        self.slots: list[tuple[int, ...]] = []  # of each vertex
        self.parent: list[int] = []  # of each slot, up to the family it belongs to
        self.queries: list[int] = []  # of each family, as bits: who has an edge in it
        self.users: list[int] = []  # of each vertex, as bits
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
        while self.parent[slot] != slot:
            self.parent[slot] = self.parent[self.parent[slot]]
            slot = self.parent[slot]
        return slot

    def run(self, metric: Metric, weights: Sequence[float], effort: int) -> tuple[str, ...]:
        """Coalesce greedily.

        What a pair is worth rarely grows while others are coalesced, so a pair is looked at again
        only when its last known worth is the best.
        """
        now = least_error(metric, self.uses(), weights)
        # Error after / error before, the best first; 0 is not known yet.
        worth = [(0.0, pair) for pair in self.pairs()]
        while worth:
            _, pair = heapq.heappop(worth)
            one, other = sorted(self.home[vertex] for vertex in pair)
            if one == other or not (fitting := self.fitting(one, other)):
                continue
            effort -= len(self.occurrences)
            if effort < 0:
                return self._rest([pair, *(pair for _, pair in sorted(worth))])
            after = least_error(metric, self.uses((one, other)), weights)
            if worth and after / now > worth[0][0]:
                heapq.heappush(worth, (after / now, (one, other)))
                continue
            self.merge(one, other, fitting)
            now = after
        return ()

    def _rest(self, pairs: list[tuple[int, int]]) -> tuple[str, ...]:
        for pair in pairs:
            one, other = sorted(self.home[vertex] for vertex in pair)
            if one != other and (fitting := self.fitting(one, other)):
                self.merge(one, other, fitting)
        return (f"sharing: too many pairs of sketches, {len(pairs)} were coalesced unweighed",)

    def pairs(self) -> Iterator[tuple[int, int]]:
        alike: dict[Occurrence, list[int]] = defaultdict(list)
        for vertex, occurrence in enumerate(self.occurrences):
            alike[occurrence].append(vertex)
        for vertices in alike.values():
            yield from combinations(vertices, 2)

    def uses(self, merged: tuple[int, int] = (-1, -1)) -> list[set[int]]:
        kept, gone = merged
        homes = [kept if home == gone else home for home in self.home]
        stops = [*self.starts[1:], len(homes)]
        return [set(homes[a:b]) for a, b in zip(self.starts, stops, strict=True)]

    def tie(self, occurrence: Occurrence) -> None:
        """Put all sketches of the same attributes on the same families, as far as they may."""
        alike = [
            v for v in self.alive if replace(self.occurrences[v], selection=None) == occurrence
        ]
        for other in alike[1:]:
            if slots := self.order(alike[0], other):
                self.unite(alike[0], slots)

    def fitting(self, one: int, other: int) -> tuple[int, ...] | None:
        """As `order`, for vertices that may become one."""
        if not self.fold and self.users[one] & self.users[other]:
            return None
        return self.order(one, other)

    def order(self, one: int, other: int) -> tuple[int, ...] | None:
        """The other's slots in the order in which they can join those of the one, if they can."""
        attributes = self.occurrences[one].attributes
        places: dict[str, list[int]] = defaultdict(list)
        for place, attribute in enumerate(attributes):
            places[attribute].append(place)
        for orders in product(*(permutations(same) for same in places.values())):
            order = [place for part in orders for place in part]
            slots = [0] * len(order)
            for place, taken in zip((p for s in places.values() for p in s), order, strict=True):
                slots[place] = self.slots[other][taken]
            if self.well_formed(self.slots[one], slots):
                return tuple(slots)
        return None

    def well_formed(self, ones: Sequence[int], others: Sequence[int]) -> bool:
        """Whether joining slots pairwise leaves every query with one edge at most per family."""
        joined: dict[int, set[int]] = {}
        for pair in zip(ones, others, strict=True):
            parts = [joined.get(family, {family}) for family in map(self.family, pair)]
            if parts[0] is parts[1] or parts[0] == parts[1]:
                continue
            both = parts[0] | parts[1]
            seen = 0
            for family in both:
                if seen & self.queries[family]:
                    return False
                seen |= self.queries[family]
            joined.update(dict.fromkeys(both, both))
        return True

    def merge(self, one: int, other: int, slots: Sequence[int]) -> None:
        self.unite(one, slots)
        self.users[one] |= self.users[other]
        del self.alive[other]
        self.home = [one if home == other else home for home in self.home]

    def unite(self, one: int, slots: Sequence[int]) -> None:
        for mine, its in zip(self.slots[one], slots, strict=True):
            a, b = self.family(mine), self.family(its)
            if a != b:
                self.parent[b] = a
                self.queries[a] |= self.queries[b]

    def graph(self, notices: tuple[str, ...]) -> JointGraph:
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
