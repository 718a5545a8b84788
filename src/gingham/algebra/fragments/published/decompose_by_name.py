"""Decompositions by a named method: the engine's own and those of Huebsch et al."""

from __future__ import annotations

from gingham.algebra import fragments as engine
from gingham.algebra.fragments.decompose_matrix import (
    EFFORT,
    KINDS,
    as_bits,
    certified,
    check_kind,
    containing,
    covering,
)
from gingham.algebra.fragments.decomposition import Covering, Decomposition
from gingham.algebra.fragments.distinct_matrix import condense
from gingham.algebra.fragments.published.basic_decomposition import basic_decomposition
from gingham.algebra.fragments.published.compositions import COMPOSITIONS
from gingham.algebra.fragments.published.factorizations import FACTORIZATIONS, factored
from gingham.core.arrays import Array, Bools
from gingham.core.errors import FragmentError

# The first of each kind is the engine's, and is taken when no method is named.
METHODS = {
    "linear": (KINDS["linear"], *FACTORIZATIONS),
    "idempotent": (KINDS["idempotent"], *COMPOSITIONS),
    "general": (KINDS["general"], "basic"),
}


def decompose(
    fragments: Array,
    kind: str = "linear",
    method: str | None = None,
    *,
    seed: int = 0,
    effort: int = EFFORT,
    seconds: float | None = None,
) -> Decomposition:
    """Decompose a fragment matrix with a method of METHODS; `seed` to `seconds` are the engine's.

    >>> decompose([[1, 0, 1], [0, 1, 1], [1, 1, 1]], kind="idempotent", method="add_or").size
    2
    """
    matrix = as_bits(fragments)
    check_kind(kind)
    method = method or KINDS[kind]
    _check_method(kind, method)
    if method == KINDS[kind]:
        return engine.decompose(matrix, kind, seed=seed, effort=effort, seconds=seconds)
    if kind == "linear":
        return certified(factored(matrix, method, FACTORIZATIONS[method]))
    return certified(_covering(matrix, kind, method))


def _covering(matrix: Bools, kind: str, method: str) -> Covering:
    """Decompose a fragment matrix by a published method that covers fragments with records."""
    condensed = condense(matrix)
    if kind == "general":
        parts, basis = basic_decomposition(condensed.matrix)
    else:
        basis = COMPOSITIONS[method](condensed.matrix)
        parts = containing(condensed.matrix, basis)
    return covering(matrix, condensed, kind, method, parts, basis)


def _check_method(kind: str, method: str) -> None:
    """Refuse a decomposition method that does not exist for this kind of aggregate."""
    if method not in METHODS[kind]:
        needs = [other for other, methods in METHODS.items() if method in methods]
        why = f"{method} needs {needs[0]} aggregates" if needs else "its name is none of ours"
        raise FragmentError(
            f"{kind} fragments cannot be decomposed by {method!r}", why, ", ".join(METHODS[kind])
        )
