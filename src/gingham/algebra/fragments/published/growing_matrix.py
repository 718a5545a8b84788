"""A fragment matrix that all nodes share while fragments appear and queries come and go.

Rows are only ever added (Huebsch et al., Section 8.1): existing records keep their meaning, and new
ones are appended, so that records reduced before a change can still be merged with records reduced
after it. `generation` counts the changes for which that does not hold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from gingham.algebra.fragments.decompose_matrix import EFFORT, as_bits
from gingham.algebra.fragments.decomposition import Covering, Decomposition
from gingham.algebra.fragments.distinct_matrix import row_keys
from gingham.algebra.fragments.exact_decomposition import ExactDecomposition, exact
from gingham.algebra.fragments.published.decompose_by_name import decompose
from gingham.core.arrays import Array, Bools, Ints
from gingham.core.errors import FragmentError

# With this many times the records of the last search, it is worth searching again.
_SLACK = 1.25


@dataclass(frozen=True, slots=True, eq=False)
class GrowingMatrix:
    """Named queries, and a decomposition of the fragments that have appeared so far.

    >>> matrix = GrowingMatrix.of(["a", "b"], np.array([[1, 0], [0, 1]]), kind="idempotent")
    >>> matrix = matrix.add_fragments(np.array([[1, 1]]))
    >>> matrix.decomposition.size, matrix.row_indices(np.array([[1, 1], [0, 0]])).tolist()
    (2, [2, -1])
    """

    queries: tuple[str, ...]
    decomposition: Decomposition
    kind: str
    method: str | None
    seed: int
    effort: int
    searched: int  # records that the last search came to
    generation: int = 0

    @classmethod
    def of(
        cls,
        queries: list[str] | tuple[str, ...],
        rows: Array,
        kind: str = "linear",
        method: str | None = None,
        *,
        seed: int = 0,
        effort: int = EFFORT,
    ) -> Self:
        """Decompose the union of the fragment matrices of all nodes."""
        matrix = as_bits(rows)
        if matrix.shape[1] != len(queries) or len(set(queries)) != len(queries):
            raise FragmentError(
                f"{len(queries)} names for {matrix.shape[1]} queries",
                "each column of a fragment matrix is one query",
                "as many different names as columns",
            )
        decomposed = decompose(_distinct_rows(matrix), kind, method, seed=seed, effort=effort)
        return cls(
            queries=tuple(queries),
            decomposition=decomposed,
            kind=kind,
            method=method,
            seed=seed,
            effort=effort,
            searched=decomposed.size,
        )

    @property
    def rows(self) -> Bools:
        """The fragment matrix: the queries of each fragment that has appeared."""
        return self.decomposition.fragments

    def row_indices(self, rows: Array) -> Ints:
        """The index of each fragment in the matrix, or -1 if it has not appeared yet."""
        index_of = {key: index for index, key in enumerate(row_keys(self.rows))}
        return np.array([index_of.get(key, -1) for key in row_keys(as_bits(rows))], dtype=np.int64)

    def add_fragments(self, rows: Array) -> GrowingMatrix:
        """Add the fragments that are not in the matrix yet; the same object if there are none."""
        new = _distinct_rows(as_bits(rows)[self.row_indices(rows) < 0])
        return self._with_rows(new) if len(new) else self

    def add_query(self, query: str, without: Bools, within: Bools) -> GrowingMatrix:
        """Add a query to the matrix; fragments have appeared without it, within it, or both.

        A fragment that appeared both ways keeps its row without the query, and gets another row
        with the query at the end.
        """
        if query in self.queries:
            raise FragmentError(
                f"query {query!r} is there already", "names tell queries apart", "another name"
            )
        within, both = np.asarray(within, dtype=bool), np.asarray(within & without, dtype=bool)
        again = np.flatnonzero(both)
        column = np.concatenate([within & ~both, np.ones(len(again), dtype=bool)])
        rows = np.concatenate([self.rows, self.rows[again]])
        matrix = np.column_stack([rows, column])
        queries = (*self.queries, query)
        old = self.decomposition
        if not isinstance(old, Covering):
            return self._decomposed_again(queries, matrix)
        reducer = np.concatenate([old.reducer, old.reducer[again]])
        answers, left_over = _compose_of_records(column, reducer.T, overlapping=old.idempotent)
        rebuilder = np.column_stack([old.rebuilder, answers])
        if left_over.any():
            reducer = np.column_stack([reducer, left_over])
            own = np.append(np.zeros(len(self.queries), dtype=bool), True)
            rebuilder = np.concatenate([rebuilder, own[None]])
        decomposed = replace(old, fragments=matrix, reducer=reducer, rebuilder=rebuilder)
        return self._with(decomposed, queries, self.generation)

    def remove_query(self, query: str) -> GrowingMatrix:
        """Remove a query from the matrix, and the records that only this query used."""
        if query not in self.queries:
            raise FragmentError(
                f"there is no query {query!r}",
                "only what joined can leave",
                str(self.queries),
            )
        remaining = np.array([name != query for name in self.queries], dtype=bool)
        queries = tuple(name for name in self.queries if name != query)
        matrix = self.rows[:, remaining]
        first = _first_occurrences(matrix)
        old = self.decomposition
        if not isinstance(old, Covering):
            return self._decomposed_again(queries, matrix[first])
        used = old.rebuilder[:, remaining].any(axis=1)
        decomposed = replace(
            old,
            fragments=matrix[first],
            reducer=old.reducer[np.ix_(first, used)],
            rebuilder=old.rebuilder[np.ix_(used, remaining)],
        )
        return self._with(decomposed, queries, self.generation + (not used.all()))

    def from_scratch(self) -> GrowingMatrix:
        """Decompose the fragment matrix from scratch; records change their meaning."""
        decomposed = decompose(
            self.rows, self.kind, self.method, seed=self.seed, effort=self.effort
        )
        return replace(
            self, decomposition=decomposed, searched=decomposed.size, generation=self.generation + 1
        )

    def _with_rows(self, new: Bools) -> GrowingMatrix:
        """Add new fragments to the matrix, each covered by old records and one for the rest."""
        matrix = np.concatenate([self.rows, new])
        old = self.decomposition
        if not isinstance(old, Covering):
            return self._decomposed_again(self.queries, matrix)
        reducer, rebuilder = [*old.reducer], old.rebuilder
        for row in new:
            parts, left_over = _compose_of_records(row, rebuilder, overlapping=old.idempotent)
            if left_over.any():
                rebuilder = np.concatenate([rebuilder, left_over[None]])
                parts = np.append(parts, True)
            reducer.append(parts)
        members = np.zeros((len(matrix), len(rebuilder)), dtype=bool)
        for index, parts in enumerate(reducer):
            members[index, : len(parts)] = parts
        decomposed = replace(old, fragments=matrix, reducer=members, rebuilder=rebuilder)
        return self._with(decomposed, self.queries, self.generation)

    def _decomposed_again(self, queries: tuple[str, ...], matrix: Bools) -> GrowingMatrix:
        """Decompose a linear fragment matrix from scratch, keeping the records if possible."""
        old = self.decomposition
        if not isinstance(old, ExactDecomposition):
            changed = decompose(matrix, self.kind, self.method, seed=self.seed)
            mergeable = False
        else:
            names = [self.queries[index] for index in old.basis]
            new_index = {name: index for index, name in enumerate(queries)}
            prefer = np.array(
                [new_index[name] for name in names if name in new_index], dtype=np.int64
            )
            changed = exact(matrix, prefer)
            # With one more record, what was reduced before cannot be merged any more.
            mergeable = [queries[index] for index in changed.basis] == names
        return replace(
            self,
            queries=queries,
            decomposition=changed,
            searched=changed.size,
            generation=self.generation + (not mergeable),
        )

    def _with(
        self, decomposed: Covering, queries: tuple[str, ...], generation: int
    ) -> GrowingMatrix:
        """Replace the decomposition; search from scratch if it has too many records by now."""
        changed = replace(self, queries=queries, decomposition=decomposed, generation=generation)
        enough = min(len(queries), _SLACK * self.searched + 4)
        return changed if decomposed.size <= enough else changed.from_scratch()


def _distinct_rows(rows: Bools) -> Bools:
    """Drop duplicate fragments of a fragment matrix."""
    return rows[_first_occurrences(rows)]


def _first_occurrences(rows: Bools) -> Ints:
    """The indices of the first of equal fragments; nodes look up all-zero ones, so these count."""
    seen: dict[bytes, int] = {}
    for index, key in enumerate(row_keys(rows)):
        seen.setdefault(key, index)
    return np.array(list(seen.values()), dtype=np.int64)


def _compose_of_records(target: Bools, sets: Bools, *, overlapping: bool) -> tuple[Bools, Bools]:
    """Compose a fragment or query from records, the largest first; return these and the rest."""
    chosen = np.zeros(len(sets), dtype=bool)
    left_over = target.copy()
    fits = np.flatnonzero(~(sets & ~target).any(axis=1))
    sizes = sets[fits].sum(axis=1)
    for number in fits[np.argsort(-sizes, kind="stable")]:
        useful = sets[number] & left_over
        if useful.any() and (overlapping or (useful == sets[number]).all()):
            chosen[number] = True
            left_over &= ~sets[number]
    return chosen, left_over
