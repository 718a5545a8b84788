"""Random sharing problems, and their optimum by a general convex solver."""

import random
from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize


def random_graph(seed: int) -> tuple[list[list[int]], list[float]]:
    """Which vertices each query uses, and the queries' weights, which add up to 1."""
    source = random.Random(seed)
    vertices = source.randint(2, 9)
    uses = [
        source.sample(range(vertices), source.randint(1, min(4, vertices)))
        for _ in range(source.randint(1, 8))
    ]
    used = sorted({v for query in uses for v in query})
    weights = [10 ** source.uniform(-2, 2) for _ in uses]
    total = sum(weights)
    return [[used.index(v) for v in query] for query in uses], [w / total for w in weights]


def convex_optimum(
    uses: Sequence[Sequence[int]], weights: Sequence[float], prices: Sequence[float] | None = None
) -> float:
    """The least sum of weight / copies with one word in all, or what it pays for.

    Variables are the words of each vertex, then the copies of each query.
    """
    vertices, queries = 1 + max(v for query in uses for v in query), len(uses)
    heavy = np.array(weights)
    pairs = [(q, v) for q, used in enumerate(uses) for v in used]
    room = np.zeros((len(pairs), vertices + queries))
    for row, (q, v) in enumerate(pairs):
        room[row, v], room[row, vertices + q] = 1, -1
    each = np.ones(vertices) if prices is None else np.array(prices)
    total = np.concatenate([each, np.zeros(queries)])
    found = minimize(
        lambda x: (heavy / x[vertices:]).sum(),
        np.full(vertices + queries, 1 / each.sum()),
        jac=lambda x: np.concatenate([np.zeros(vertices), -heavy / x[vertices:] ** 2]),
        method="SLSQP",
        bounds=[(1e-6, 1)] * (vertices + queries),
        constraints=[
            {"type": "ineq", "fun": lambda x: room @ x, "jac": lambda _: room},
            {"type": "eq", "fun": lambda x: total @ x - 1, "jac": lambda _: total},
        ],
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    return float(found.fun)
