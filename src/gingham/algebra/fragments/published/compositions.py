"""Basic and Add Composition with all twelve strategies (Huebsch et al., Section 5)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product

from gingham.algebra.fragments.composition import (
    CompositionSearch,
    Preference,
    Strategy,
    Timing,
    add_composition,
)
from gingham.core.arrays import Bools


def basic_composition(matrix: Bools, strategy: Strategy) -> Bools:
    """Basic Composition: build a set basis from a row per query, composing rows while possible."""
    search = CompositionSearch(matrix)
    for column in range(matrix.shape[1]):
        search.add(column)
    search.run(strategy, fresh=set(search.rows), once=False)
    return search.basis()


# Named as in the paper, in small letters: oa, or, os, maw, mad, map, mrw, ...
STRATEGIES = {
    strategy.name: strategy
    for strategy in (
        *(Strategy(preference, None) for preference in Preference),
        *(Strategy(preference, timing) for preference, timing in product(Preference, Timing)),
    )
}

# Each finds a basis of a matrix: basic_oa, ..., add_oa, ...
COMPOSITIONS: dict[str, Callable[[Bools], Bools]] = {
    f"{name}_{strategy}": partial(compose, strategy=STRATEGIES[strategy])
    for name, compose in (("basic", basic_composition), ("add", add_composition))
    for strategy in STRATEGIES
}
