"""All ways to decompose a fragment matrix, by name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gingham.algebra.fragments import linear
from gingham.algebra.fragments.composition import (
    STRATEGIES,
    add_composition,
    basic_composition,
)
from gingham.algebra.fragments.condense import Condensed, condense
from gingham.algebra.fragments.decomposition import Covering, Decomposition
from gingham.algebra.fragments.disjoint import Parts, basic_decomposition, disjoint_parts
from gingham.algebra.fragments.exact import exact
from gingham.algebra.fragments.set_basis import set_basis
from gingham.core.arrays import Array, Bools
from gingham.core.errors import FragmentError

_FACTORS = {"lu": linear.lu, "qr": linear.qr, "svd": linear.svd}
_PARTS: dict[str, Callable[[Bools], Parts]] = {
    "disjoint": disjoint_parts,
    "basic": basic_decomposition,
}

# The first of each kind is taken when no method is named.
METHODS = {
    "linear": ("exact", *_FACTORS),
    "idempotent": (
        "set_basis",
        *(f"{how}_{strategy}" for how in ("basic", "add") for strategy in STRATEGIES),
    ),
    "general": tuple(_PARTS),
}

# Enough for 100 queries to settle; about half a second.
EFFORT = 500


def decompose(
    fragments: Array,
    kind: str = "linear",
    method: str | None = None,
    *,
    seed: int = 0,
    effort: int = EFFORT,
    seconds: float | None = None,
) -> Decomposition:
    """Fewer records than queries from which all queries can be answered.

    The same matrix, method, seed and effort give the same decomposition everywhere; `seconds` is a
    limit for interactive use, and gives that up. Methods are listed in METHODS.

    >>> F = np.array([[1, 0, 1], [0, 1, 1], [1, 1, 1]], dtype=bool)
    >>> shared = decompose(F, kind="idempotent")
    >>> shared.size, shared.reconstruct(shared.reduce(np.array([5, 7, 6]), np.maximum), np.maximum)
    (2, array([6, 7, 7]))
    """
    matrix = as_bits(fragments)
    method = _known(kind, method)
    if kind == "linear":
        found = (
            exact(matrix)
            if method == "exact"
            else linear.factored(matrix, method, _FACTORS[method])
        )
    else:
        found = _covering(matrix, kind, method, seed, effort, seconds)
    assert found.certified(), f"{method} does not reproduce its matrix"
    return found


def as_bits(fragments: Array) -> Bools:
    """Zeros and ones, a row per fragment and a column per query."""
    matrix = np.asarray(fragments)
    if matrix.ndim != 2:
        raise FragmentError(
            f"a fragment matrix with {matrix.ndim} dimensions",
            "it has a row for each fragment and a column for each query",
            "an array of shape (fragments, queries)",
        )
    if matrix.dtype != bool:
        if matrix.size and not np.isin(matrix, (0, 1)).all():
            raise FragmentError(
                "a fragment matrix with other entries than 0 and 1",
                "a fragment belongs to a query or it does not",
                "a boolean array; the partials are given to `reduce`",
            )
        matrix = matrix.astype(bool)
    return matrix


def _known(kind: str, method: str | None) -> str:
    if kind not in METHODS:
        raise FragmentError(
            f"there is no kind {kind!r}",
            "the kind is what the aggregate can do: linear ones are added, subtracted and scaled;"
            " idempotent ones may see a value twice; all others are general",
            ", ".join(METHODS),
        )
    method = method or METHODS[kind][0]
    if method not in METHODS[kind]:
        needs = [other for other, methods in METHODS.items() if method in methods]
        why = f"{method} needs {needs[0]} aggregates" if needs else "its name is none of ours"
        raise FragmentError(
            f"{kind} fragments cannot be decomposed by {method!r}", why, ", ".join(METHODS[kind])
        )
    return method


def _covering(
    matrix: Bools, kind: str, method: str, seed: int, effort: int, seconds: float | None
) -> Covering:
    """Decompose what is distinct; whenever that is smaller, do not share at all."""
    condensed = condense(matrix)
    notices: tuple[str, ...] = ()
    if kind == "general":
        parts, basis = _PARTS[method](condensed.matrix)
    elif method == "set_basis":
        found = set_basis(condensed.matrix, effort, seed, seconds)
        basis, notices = found.rows, found.notices
        parts = containing(condensed.matrix, basis)
    else:
        how, strategy = method.split("_")
        compose = add_composition if how == "add" else basic_composition
        basis = compose(condensed.matrix, STRATEGIES[strategy])
        parts = containing(condensed.matrix, basis)
    queries = len(condensed.columns)
    if len(basis) > queries:
        notices = (*notices, f"no sharing: {method} needs {len(basis)} records for {queries}")
        parts, basis = condensed.matrix, np.eye(queries, dtype=bool)
    return _expanded(matrix, condensed, kind, method, parts, basis, notices)


def containing(matrix: Bools, basis: Bools) -> Bools:
    """Which rows contain which basis rows."""
    missing = 1 - matrix.astype(np.float32)
    return missing @ basis.T.astype(np.float32) == 0


def _expanded(
    matrix: Bools,
    condensed: Condensed,
    kind: str,
    method: str,
    parts: Bools,
    basis: Bools,
    notices: tuple[str, ...],
) -> Covering:
    return Covering(
        method,
        matrix,
        notices,
        kind == "idempotent",
        condensed.expand_rows(parts),
        condensed.expand_columns(basis),
    )
