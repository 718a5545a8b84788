"""Divide a budget of words among sketches, for the least average or the least maximum error.

A query whose scarcest sketch has m words has the squared error weight / m. Dobra, Garofalakis,
Gehrke, Rastogi, "Multi-query optimization for sketch-based estimation" (2009), Section 4. There
every word costs the same; here a word of a sketch has a price, the number of slices of time in
which the sketch is held at once.
"""

from __future__ import annotations

import heapq
import math
import operator
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from gingham.core.errors import GinghamError
from gingham.estimates.algebra.disjoint_sets import DisjointSets

Metric = Literal["average", "maximum"]
METRICS: tuple[Metric, ...] = ("average", "maximum")
Q = TypeVar("Q", bound=Hashable)
V = TypeVar("V", bound=Hashable)

# scipy's maximum flow counts in 32 bits.
MOST_FLOW = 2**31 - 1
# Prices are rounded to add up to this at most where flows are computed: weights need digits, too.
MOST_PRICE = 1 << 16


@dataclass(frozen=True, slots=True)
class Allocation(Generic[Q, V]):
    """Words for each sketch, copies for each query, and the expected error of the workload.

    `continuous` is the optimal division if words could be fractions.
    """

    words: Mapping[V, int]
    copies: Mapping[Q, int]
    error: float
    continuous: Mapping[V, float]


@dataclass(frozen=True, slots=True)
class Component:
    """Sketches and queries that get equally many words each in the optimal division of a budget."""

    vertices: tuple[int, ...]
    queries: tuple[int, ...]
    weight: float
    price: int  # of one word for each of its sketches

    @property
    def share(self) -> float:
        """The words of each sketch, in proportion to those of other components."""
        return math.sqrt(self.weight / self.price)


def allocate(
    uses: Mapping[Q, Collection[V]],
    *,
    budget: int,
    metric: Metric = "average",
    weights: Mapping[Q, float] | None = None,
    prices: Mapping[V, int] | None = None,
) -> Allocation[Q, V]:
    """Divide the budget of words among sketches, given which sketches each query uses.

    `prices` say how often the budget pays for each word of a sketch; once if none are given.

    >>> uses = {"q1": ["v1", "v2", "v4"], "q2": ["v2", "v3"], "q3": ["v4", "v5"]}
    >>> found = allocate(uses, budget=12, weights={"q1": 3, "q2": 3, "q3": 9})
    >>> found.words
    {'v1': 2, 'v2': 2, 'v4': 3, 'v3': 2, 'v5': 3}
    """
    names = list(dict.fromkeys(vertex for vertices in uses.values() for vertex in vertices))
    numbers = {vertex: number for number, vertex in enumerate(names)}
    if not names or not all(uses.values()):
        raise GinghamError(
            "a query that uses no vertex", "it has nothing to estimate from", "leave it out"
        )
    costs = [1 if prices is None else prices[vertex] for vertex in names]
    check_budget(budget, len(names), sum(costs))
    by_number = [[numbers[vertex] for vertex in dict.fromkeys(used)] for used in uses.values()]
    all_weights = check_weights(list(uses), weights)
    divide = _divide_for_average if metric == "average" else _divide_for_maximum
    words, continuous = divide(by_number, all_weights, costs, budget)
    copies = [min(words[v] for v in used) for used in by_number]
    return Allocation(
        words=dict(zip(names, words, strict=True)),
        copies=dict(zip(uses, copies, strict=True)),
        error=workload_error(metric, all_weights, copies),
        continuous=dict(zip(names, continuous, strict=True)),
    )


def workload_error(metric: Metric, weights: Sequence[float], copies: Sequence[float]) -> float:
    """The error of a workload's estimates: the sum of queries' squared errors, or the largest."""
    errors = [weight / m for weight, m in zip(weights, copies, strict=True)]
    return math.fsum(errors) if metric == "average" else max(errors)


def least_error(
    metric: Metric,
    uses: Sequence[Collection[int]],
    weights: Sequence[float],
    prices: Sequence[int] | None = None,
) -> float:
    """The least error of estimates with one word in all, in fractions; M words have 1/M of it."""
    if metric == "average":
        parts = components(uses, weights, prices)
        return math.fsum(math.sqrt(c.weight * c.price) for c in parts) ** 2
    heaviest = _heaviest_query(uses, weights)
    return math.fsum(weight * _price(prices, vertex) for vertex, weight in heaviest.items())


def check_budget(budget: int, vertices: int, slices: int) -> None:
    """Refuse a memory budget of less than one word for each sketch in each slice it is held in."""
    if budget < slices:
        held = f" held in {slices} slices of time" if slices > vertices else ""
        raise GinghamError(
            f"a budget of {budget} words for {vertices} sketches{held}",
            "each needs one word at least" + (" in each slice" if held else ""),
            f"a budget of {slices} words or more, better some hundred times that",
        )


def check_weights(queries: Sequence[Q], weights: Mapping[Q, float] | None) -> list[float]:
    """Check that each join query has a positive weight, and list them; all are 1 by default."""
    if weights is None:
        return [1.0] * len(queries)
    for query in queries:
        weight = weights.get(query)
        if weight is None or not math.isfinite(weight) or weight <= 0:
            raise GinghamError(
                f"query {query!r} has the weight {weight}",
                "a weight is the variance of an estimate, relative to its square",
                "a positive number for each query, or no weights at all",
            )
    return [float(weights[query]) for query in queries]


def components(
    uses: Sequence[Collection[int]], weights: Sequence[float], prices: Sequence[int] | None = None
) -> list[Component]:
    """Split queries and sketches until all sketches of a component deserve equally many words.

    This is ComputeSpace of Dobra et al., with a price for each word of a sketch.
    """
    unfinished = [(tuple(range(len(uses))), frozenset(v for used in uses for v in used))]
    finished: list[Component] = []
    while unfinished:
        queries, vertices = unfinished.pop()
        for part in _connected_components(uses, queries, vertices):
            below, above = _split_component(uses, weights, prices, *part)
            if not below[0] and not above[0]:
                weight = math.fsum(weights[q] for q in part[0])
                price = sum(_price(prices, vertex) for vertex in part[1])
                finished.append(Component(tuple(sorted(part[1])), part[0], weight, price))
                continue
            apart_q, apart_v = {*below[0], *above[0]}, below[1] | above[1]
            rest = tuple(q for q in part[0] if q not in apart_q), part[1] - apart_v
            unfinished += [piece for piece in (below, above, rest) if piece[0] or piece[1]]
    return finished


_Part = tuple[tuple[int, ...], frozenset[int]]  # queries, vertices
NOTHING: _Part = ((), frozenset())


def _price(prices: Sequence[int] | None, vertex: int) -> int:
    """How often the budget pays for each word of a sketch."""
    return 1 if prices is None else prices[vertex]


def _connected_components(
    uses: Sequence[Collection[int]], queries: tuple[int, ...], vertices: frozenset[int]
) -> list[_Part]:
    """The connected parts of the graph of some join queries and the sketches that they use."""
    groups = DisjointSets[tuple[str, int]]()
    for query in queries:
        for vertex in uses[query]:
            if vertex in vertices:
                groups.unite(("query", query), ("vertex", vertex))
    return [
        (
            tuple(sorted(number for kind, number in group if kind == "query")),
            frozenset(number for kind, number in group if kind == "vertex"),
        )
        for group in groups.all()
    ]


def _split_component(
    uses: Sequence[Collection[int]],
    weights: Sequence[float],
    prices: Sequence[int] | None,
    queries: tuple[int, ...],
    vertices: frozenset[int],
) -> tuple[_Part, _Part]:
    """Find which sketches deserve fewer words than the average of this component, and which more.

    In a flow network each vertex supplies the weight of the component times its price, and each
    query demands its weight times the prices of all vertices. Where the flow does not saturate,
    vertices that are left with supply deserve less than the average, and queries that are left
    with demand deserve more.
    """
    if len(vertices) == 1 or all(vertices.issubset(uses[query]) for query in queries):
        return NOTHING, NOTHING
    ordered = sorted(vertices)
    costs = _flow_prices([_price(prices, vertex) for vertex in ordered])
    total = sum(costs)
    users: dict[int, list[int]] = {vertex: [] for vertex in ordered}
    for position, query in enumerate(queries):
        for vertex in uses[query]:
            if vertex in users:
                users[vertex].append(position)
    # Whole numbers, so that saturation is exact.
    unit = math.fsum(weights[q] for q in queries) / (MOST_FLOW // total - len(queries))
    demands = [round(weights[q] / unit) * total for q in queries]
    supplies = [sum(demands) // total * cost for cost in costs]
    flow = _flow([users[vertex] for vertex in ordered], supplies, demands)
    given = [sum(row.values()) for row in flow]
    taken = [0] * len(queries)
    for row in flow:
        for position, amount in row.items():
            taken[position] += amount
    below = _reached(
        [v for v, amount in enumerate(given) if amount < supplies[v]],
        lambda v: users[ordered[v]],
        lambda q: [v for v, row in enumerate(flow) if row.get(q)],
    )
    above = _reached(
        [q for q, amount in enumerate(taken) if amount < demands[q]],
        lambda q: [v for v, vertex in enumerate(ordered) if q in users[vertex]],
        lambda v: [q for q, amount in flow[v].items() if amount],
    )
    return _subgraph(queries, ordered, below[1], below[0]), _subgraph(queries, ordered, *above)


def _flow_prices(prices: list[int]) -> list[int]:
    """Prices of words in the same proportions, small enough for flows in 32 bits."""
    common = math.gcd(*prices)
    prices = [price // common for price in prices]
    most = MOST_PRICE / sum(prices)
    return prices if most >= 1 else [max(1, round(price * most)) for price in prices]


def _flow(users: list[list[int]], supplies: list[int], demands: list[int]) -> list[dict[int, int]]:
    """Compute a maximum flow: how much weight each sketch gives to each query that uses it."""
    n, sink = len(users), 1 + len(users) + len(demands)
    rows = [
        [*range(1, 1 + n)],
        *([1 + n + q for q in qs] for qs in users),
        *[[sink]] * len(demands),
    ]
    # One more than a vertex supplies, so that no edge between vertex and query is saturated.
    between = [supply + 1 for supply, qs in zip(supplies, users, strict=True) for _ in qs]
    capacities = [*supplies, *between, *demands]
    starts = np.cumsum([0, *map(len, rows), 0], dtype=np.int32)
    ends = np.array([end for row in rows for end in row], dtype=np.int32)
    graph = csr_array(
        (np.array(capacities, dtype=np.int32), ends, starts), shape=(sink + 1, sink + 1)
    )
    flow = maximum_flow(graph, 0, sink).flow
    ends, amounts, edges = flow.indices.tolist(), flow.data.tolist(), flow.indptr.tolist()
    return [
        {
            ends[i] - 1 - n: amounts[i]
            for i in range(edges[v], edges[v + 1])
            if ends[i] > n  # others lead back to the source
        }
        for v in range(1, 1 + n)
    ]


def _reached(
    start: list[int], forth: Callable[[int], list[int]], back: Callable[[int], list[int]]
) -> tuple[set[int], set[int]]:
    """Walk the graph of sketches and queries from some nodes: those reached on each side."""
    this_side, other_side, unvisited = set(start), set[int](), list(start)
    while unvisited:
        for other in forth(unvisited.pop()):
            if other not in other_side:
                other_side.add(other)
                new = [node for node in back(other) if node not in this_side]
                this_side.update(new)
                unvisited += new
    return this_side, other_side


def _subgraph(
    queries: tuple[int, ...], vertices: list[int], of_queries: set[int], of_vertices: set[int]
) -> _Part:
    """Select queries and sketches of a component by their positions."""
    return (
        tuple(queries[q] for q in sorted(of_queries)),
        frozenset(vertices[v] for v in of_vertices),
    )


def _divide_for_average(
    uses: list[list[int]], weights: list[float], prices: list[int], budget: int
) -> tuple[list[int], list[float]]:
    """Divide words among sketches for the least sum of squared errors; also in fractions."""
    parts = components(uses, weights, prices)
    fill = _fill_factor([(c.share, c.price) for c in parts], budget)
    continuous = [0.0] * len(prices)
    for component in parts:
        for vertex in component.vertices:
            continuous[vertex] = max(1.0, fill * component.share)
    # Rounded down after a tiny increase: 3 computed as 2.9999999 stays 3.
    words = [math.floor(m * (1 + 1e-12)) for m in continuous]
    left = budget - sum(map(operator.mul, words, prices))
    _spend_leftover_words(left, words, uses, weights, prices)
    return words, continuous


def _spend_leftover_words(
    left: int, words: list[int], uses: list[list[int]], weights: list[float], prices: list[int]
) -> None:
    """Give words that rounding left over to the sketches where one helps most; changes `words`."""
    while left > 0:
        best, chosen, price = 0.0, list[int](), 1
        for used, weight in zip(uses, weights, strict=True):
            copies = min(words[v] for v in used)
            scarcest = [v for v in used if words[v] == copies]
            cost = sum(prices[v] for v in scarcest)
            gain = weight / (copies * (copies + 1)) / cost
            if cost <= left and gain > best:
                best, chosen, price = gain, scarcest, cost
        if not chosen:
            return
        # One word, or several if cheap sketches share what one word of a dear one has left.
        added = max(1, left // (price * len(words)))
        for vertex in chosen:
            words[vertex] += added
        left -= added * price


def _divide_for_maximum(
    uses: list[list[int]], weights: list[float], prices: list[int], budget: int
) -> tuple[list[int], list[float]]:
    """Divide words among sketches for the least largest error; also in fractions."""
    heaviest = _heaviest_query(uses, weights)
    need = [heaviest[vertex] for vertex in range(len(prices))]
    fill = _fill_factor(list(zip(need, prices, strict=True)), budget)
    continuous = [max(1.0, fill * n) for n in need]
    # The continuous optimum rounded down fits the budget. The best error is not larger than that
    # one's, so each vertex gets the words which that error takes; then the worst gets the next.
    reached = max(n / math.floor(m * (1 + 1e-12)) for n, m in zip(need, continuous, strict=True))
    words = [max(1, math.ceil(n / reached * (1 - 1e-12))) for n in need]
    worst = [(-n / m, vertex) for vertex, (n, m) in enumerate(zip(need, words, strict=True))]
    heapq.heapify(worst)
    left = budget - sum(map(operator.mul, words, prices))
    while (price := prices[vertex := worst[0][1]]) <= left:
        left -= price
        words[vertex] += 1
        heapq.heapreplace(worst, (-need[vertex] / words[vertex], vertex))
    return words, continuous


def _heaviest_query(uses: Sequence[Collection[int]], weights: Sequence[float]) -> dict[int, float]:
    """The largest weight of a query that uses each sketch."""
    heaviest: dict[int, float] = {}
    for used, weight in zip(uses, weights, strict=True):
        for vertex in used:
            heaviest[vertex] = max(weight, heaviest.get(vertex, 0.0))
    return heaviest


def _fill_factor(shares: Sequence[tuple[float, int]], budget: int) -> float:
    """Find the factor with which shares add up to the budget, if each sketch gets a word or more.

    A pair is a share, and the price of one word for all vertices that have it.
    """
    left, weight, factor = budget, 0.0, math.inf
    ordered = sorted(shares, reverse=True)
    left -= sum(times for _, times in ordered)
    # From the largest share down: shares that would get less than one word get one.
    for share, times in ordered:
        if factor * share < 1:
            break
        weight += share * times
        left += times
        factor = left / weight
    return factor
