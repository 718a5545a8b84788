"""The smallest decomposition of a fragment matrix that the engine can find."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from gingham.algebra.fragments.decomposition import Covering, Decomposition
from gingham.algebra.fragments.disjoint_parts import disjoint_parts
from gingham.algebra.fragments.distinct_matrix import Condensed, condense
from gingham.algebra.fragments.exact_decomposition import exact
from gingham.algebra.fragments.set_basis import set_basis
from gingham.core.arrays import Array, Bools
from gingham.core.errors import FragmentError

# What an aggregate can do, and the method by which its fragments are decomposed.
KINDS = {"linear": "exact", "idempotent": "set_basis", "general": "disjoint"}

# The search for an idempotent decomposition: enough for 100 queries to settle, in half a second.
EFFORT = 500


def decompose(
    fragments: Array,
    kind: str | Collection[str] = "linear",
    *,
    seed: int = 0,
    effort: int = EFFORT,
    seconds: float | None = None,
) -> Decomposition:
    """Decompose a fragment matrix: fewer records than queries, from which all queries are answered.

    An aggregate that is several things at once gives all its kinds: the smallest of their
    decompositions is taken, the first of equal ones. The same matrix, kinds, seed and effort give
    the same decomposition on every machine; `seconds` limits the time of an interactive search, and
    gives that up.

    >>> F = np.array([[1, 0, 1], [0, 1, 1], [1, 1, 1]], dtype=bool)
    >>> shared = decompose(F, kind="idempotent")
    >>> shared.size, shared.reconstruct(shared.reduce(np.array([5, 7, 6]), np.maximum), np.maximum)
    (2, array([6, 7, 7]))
    >>> decompose(F, kind=("linear", "idempotent")).kind
    'idempotent'
    """
    matrix = as_bits(fragments)
    kinds = (kind,) if isinstance(kind, str) else tuple(kind)
    for name in kinds:
        check_kind(name)
    if not kinds:
        raise FragmentError(
            "no kind of aggregate", "every merge is at least general", ", ".join(KINDS)
        )
    found = [_decompose_by_kind(matrix, name, seed, effort, seconds) for name in kinds]
    return certified(min(found, key=lambda decomposition: decomposition.size))


def _decompose_by_kind(
    matrix: Bools, kind: str, seed: int, effort: int, seconds: float | None
) -> Decomposition:
    """Decompose a fragment matrix by the engine's method for one kind of aggregates."""
    if kind == "linear":
        return exact(matrix)
    condensed = condense(matrix)
    if kind == "idempotent":
        basis = set_basis(condensed.matrix, effort, seed, seconds)
        parts = containing(condensed.matrix, basis.rows)
        return covering(matrix, condensed, kind, KINDS[kind], parts, basis.rows, basis.notices)
    parts, rows = disjoint_parts(condensed.matrix)
    return covering(matrix, condensed, kind, KINDS[kind], parts, rows)


def certified(decomposition: Decomposition) -> Decomposition:
    """Assert that a decomposition reproduces its fragment matrix."""
    assert decomposition.certified(), f"{decomposition.method} does not reproduce its matrix"
    return decomposition


def as_bits(fragments: Array) -> Bools:
    """Check a fragment matrix (fragments x queries), and convert it to booleans."""
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


def check_kind(kind: str) -> None:
    """Refuse a kind of aggregate other than linear, idempotent and general."""
    if kind not in KINDS:
        raise FragmentError(
            f"there is no kind {kind!r}",
            "the kind is what the aggregate can do: linear ones are added, subtracted and scaled;"
            " idempotent ones may see a value twice; all others are general",
            ", ".join(KINDS),
        )


def covering(
    matrix: Bools,
    condensed: Condensed,
    kind: str,
    method: str,
    parts: Bools,
    basis: Bools,
    notices: tuple[str, ...] = (),
) -> Covering:
    """Expand a decomposition of the condensed fragment matrix to the whole matrix.

    `basis` has the queries of each record, `parts` the records of each fragment. If there are more
    records than distinct queries, each query gets a record of its own instead.
    """
    queries = len(condensed.columns)
    if len(basis) > queries:
        notices = (*notices, f"no sharing: {method} needs {len(basis)} records for {queries}")
        parts, basis = condensed.matrix, np.eye(queries, dtype=bool)
    return Covering(
        method=method,
        fragments=matrix,
        notices=notices,
        idempotent=kind == "idempotent",
        reducer=condensed.expand_rows(parts),
        rebuilder=condensed.expand_columns(basis),
    )


def containing(matrix: Bools, basis: Bools) -> Bools:
    """Tell which rows of a fragment matrix contain which basis rows: rows x basis rows."""
    missing = 1 - matrix.astype(np.float32)
    return missing @ basis.T.astype(np.float32) == 0
