"""Random fragment matrices with a known degree of sharing (Huebsch et al., Section 7.1)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from gingham.core.arrays import Bools, Ints
from gingham.core.errors import FragmentError

# The attempts, per row or column, to draw one that is not in the matrix yet.
_PATIENCE = 50
# With hidden bases: the most bases that a sparse fragment satisfies, and the fewest and most
# bases that a query is a union of.
_SPARSE = 4
_UNIONS = (2, 4)

# The fewest and most bases of a union, every number of them as likely; "uniform": any union is as
# likely as any other.
Unions = tuple[int, int] | Literal["uniform"]


def generate(
    queries: int,
    fragments: int,
    gain: float,
    kind: str = "idempotent",
    hidden: str | bool | None = None,  # noqa: FBT001  (True is what "hidden" asks for first)
    seed: int = 0,
    unions: Unions | None = None,
) -> Bools:
    """Generate a random fragment matrix whose queries `planted_size` records can answer.

    Base queries overlap at random, each fragment being a random set of them; for kinds other than
    idempotent some base queries have a fragment of their own and overlap with nothing. The other
    queries are unions of base queries, disjoint ones where duplicates count.

    In the paper base queries remain in the matrix. With `hidden` "sparse" or "dense" there are only
    unions, of 2 to 4 bases if not told otherwise, and a fragment satisfies 1 to 4 of the bases, or
    each with probability 1/2.

    The paper draws different unions, any as likely as any other. With more than a dozen bases such
    a union has every fragment, so that most columns are equal: `unions="uniform"` does that for
    idempotent matrices. If not told otherwise the columns are different, and the number of bases
    of a union is drawn first.

    >>> generate(queries=5, fragments=4, gain=0.4, seed=1).shape
    (4, 5)
    """
    hidden = "sparse" if hidden is True else hidden or ""
    _check_arguments(queries, fragments, gain, kind, hidden)
    rng = np.random.default_rng(seed)
    size = planted_size(queries, gain)
    apart = (
        0
        if kind == "idempotent"
        else _draw_apart(size, queries, fragments, rng, hidden=bool(hidden))
    )
    bases = _draw_bases(fragments, size - apart, apart, hidden, rng)
    chosen = [] if hidden else [frozenset([base]) for base in range(size)]
    lengths = unions or (_UNIONS if hidden else (2, size))
    if lengths == "uniform":
        if kind != "idempotent" or hidden:
            raise FragmentError(
                "uniform unions of disjoint or hidden bases",
                "only unions of overlapping bases that are asked for are drawn so",
                'kind="idempotent" without hidden bases, or the fewest and most bases of a union',
            )
        columns = _draw_uniform_unions(bases, queries, rng)
    else:
        columns = _draw_unions(
            bases, chosen, queries, lengths, apart if kind != "idempotent" else None, rng
        )
    return columns[rng.permutation(fragments)][:, rng.permutation(queries)]


def planted_size(queries: int, gain: float) -> int:
    """The number of records that suffice for a generated fragment matrix.

    >>> planted_size(100, 0.3)
    70
    """
    return max(1, round(queries * (1 - gain)))


def _check_arguments(queries: int, fragments: int, gain: float, kind: str, hidden: str) -> None:
    """Refuse a size, gain or kind of which no random fragment matrix can be generated."""
    if queries < 1 or fragments < 1 or not 0 <= gain < 1:
        raise FragmentError(
            f"no matrix of {queries} queries, {fragments} fragments and a gain of {gain:g}",
            "there has to be a query and a fragment, and some record has to be left",
            "at least 1 and 1, and a gain from 0 to below 1",
        )
    if kind not in ("linear", "idempotent", "general"):
        raise FragmentError(
            f"there is no kind {kind!r}",
            "it decides what may overlap",
            "linear, idempotent, general",
        )
    if hidden not in ("", "sparse", "dense"):
        raise FragmentError(
            f"bases cannot be hidden {hidden!r}",
            "rows are sparse or dense",
            "sparse, dense or None",
        )


def _draw_apart(
    size: int, queries: int, fragments: int, rng: np.random.Generator, *, hidden: bool
) -> int:
    """Draw how many base queries of a random fragment matrix overlap with no other."""

    def possible(apart: int) -> bool:
        overlapping = size - apart
        rows = apart + (1 << min(overlapping, 40)) - 1
        combinations = ((1 << min(apart, 40)) - 1) * (overlapping + 1)
        columns = combinations - apart if hidden else combinations + overlapping
        return apart < fragments and rows >= fragments and columns >= queries

    allowed = [apart for apart in range(size + 1) if possible(apart)]
    if not allowed:
        raise _too_few_bases(size, queries, fragments)
    return int(rng.choice(allowed))


def _draw_bases(
    fragments: int, overlapping: int, apart: int, hidden: str, rng: np.random.Generator
) -> Bools:
    """Draw which fragments satisfy which base queries: fragments x bases, all rows different."""
    bases = np.zeros((fragments, overlapping + apart), dtype=bool)
    bases[np.arange(apart), overlapping + np.arange(apart)] = True
    seen: set[bytes] = set()
    for _ in range(_PATIENCE * fragments):
        if len(seen) == fragments - apart:
            return bases
        row = np.zeros(overlapping, dtype=bool)
        if hidden == "sparse":
            count = int(rng.integers(1, min(_SPARSE, overlapping) + 1))
            row[rng.choice(overlapping, count, replace=False)] = True
        else:
            row = rng.random(overlapping) < 0.5
        if row.any() and row.tobytes() not in seen:
            bases[apart + len(seen), :overlapping] = row
            seen.add(row.tobytes())
    if len(seen) < fragments - apart:
        raise _too_few_bases(overlapping + apart, 0, fragments)
    return bases


def _draw_uniform_unions(bases: Bools, queries: int, rng: np.random.Generator) -> Bools:
    """A matrix column for each base query, then for different sets of them, any as likely."""
    size = bases.shape[1]
    if size < 40 and (1 << size) - 1 < queries:
        raise _too_few_bases(size, queries, len(bases))
    chosen = [*np.eye(size, dtype=bool)][:queries]
    seen = {union.tobytes() for union in chosen}
    while len(chosen) < queries:
        union = rng.random(size) < 0.5
        if union.any() and union.tobytes() not in seen:
            seen.add(union.tobytes())
            chosen.append(union)
    return bases.astype(np.int64) @ np.array(chosen).T > 0


def _draw_unions(
    bases: Bools,
    chosen: list[frozenset[int]],
    queries: int,
    lengths: tuple[int, int],
    apart: int | None,
    rng: np.random.Generator,
) -> Bools:
    """A matrix column for each chosen union of base queries, then for random unions."""
    size = bases.shape[1]
    columns = [bases[:, sorted(union)].any(axis=1) for union in chosen]
    seen = {column.tobytes() for column in columns}
    refused = 0
    while len(columns) < queries:
        union = _draw_overlapping(size, lengths, rng)
        if apart is not None:
            union = _draw_disjoint(size, apart, lengths, rng)
        column = bases[:, union].any(axis=1)
        if column.tobytes() in seen and refused < _PATIENCE * queries:
            refused += 1
            continue
        seen.add(column.tobytes())
        columns.append(column)
    return np.array(columns[:queries]).T


def _draw_overlapping(size: int, lengths: tuple[int, int], rng: np.random.Generator) -> Ints:
    """Draw which base queries a query of a random fragment matrix is the union of."""
    low, high = min(lengths[0], size), min(lengths[1], size)
    return rng.choice(size, int(rng.integers(low, high + 1)), replace=False)


def _draw_disjoint(
    size: int, apart: int, lengths: tuple[int, int], rng: np.random.Generator
) -> Ints:
    """Draw base queries for a disjoint union: some that overlap with none, at most one other."""
    overlapping = size - apart
    base = int(rng.integers(0, overlapping + 1))
    first = [base] if base < overlapping else []
    low, high = max(1, lengths[0] - len(first)), max(1, lengths[1] - len(first))
    count = int(rng.integers(min(low, apart), min(high, apart) + 1))
    return np.array([*first, *(overlapping + rng.choice(apart, count, replace=False))], dtype=int)


def _too_few_bases(size: int, queries: int, fragments: int) -> FragmentError:
    """Build the error for a random fragment matrix that needs more base queries."""
    return FragmentError(
        f"{size} base queries are too few for {fragments} fragments and {queries} queries",
        "fragments are different sets of base queries, and queries different unions of them",
        "a smaller gain, or fewer fragments",
    )
