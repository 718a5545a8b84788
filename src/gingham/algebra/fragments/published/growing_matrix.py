"""A fragment matrix that all nodes share while fragments appear and queries come and go.

Rows are only ever added (Huebsch et al., Section 8.1): the records that are there keep their
meaning, and new ones follow them, so that what was reduced before a change can still be merged with
what is reduced after it. `generation` counts the changes for which that does not hold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from gingham.algebra.fragments.condense import row_keys
from gingham.algebra.fragments.decompose_matrix import EFFORT, as_bits
from gingham.algebra.fragments.decomposition import Covering, Decomposition
from gingham.algebra.fragments.exact import Exact, exact
from gingham.algebra.fragments.published.decompose_by_name import decompose
from gingham.core.arrays import Array, Bools, Ints
from gingham.core.errors import FragmentError

# Beyond this many times the records of the last search it is worth searching again.
_SLACK = 1.25


@dataclass(frozen=True, slots=True, eq=False)
class Growing:
    """Names of queries, and a decomposition of the fragments that were met so far.

    >>> matrix = Growing.of(["a", "b"], np.array([[1, 0], [0, 1]]), kind="idempotent")
    >>> matrix = matrix.meet(np.array([[1, 1]]))
    >>> matrix.decomposition.size, matrix.places(np.array([[1, 1], [0, 0]])).tolist()
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
        """Begin with the union of all nodes' rows."""
        matrix = as_bits(rows)
        if matrix.shape[1] != len(queries) or len(set(queries)) != len(queries):
            raise FragmentError(
                f"{len(queries)} names for {matrix.shape[1]} queries",
                "each column of a fragment matrix is one query",
                "as many different names as columns",
            )
        found = decompose(_union(matrix), kind, method, seed=seed, effort=effort)
        return cls(tuple(queries), found, kind, method, seed, effort, found.size)

    @property
    def rows(self) -> Bools:
        """The fragment matrix."""
        return self.decomposition.fragments

    def places(self, rows: Array) -> Ints:
        """The number of each row in the matrix, or -1: such a fragment is sent as it is."""
        known = {key: place for place, key in enumerate(row_keys(self.rows))}
        return np.array([known.get(key, -1) for key in row_keys(as_bits(rows))], dtype=np.int64)

    def meet(self, rows: Array) -> Growing:
        """Add the rows that are not known; when all are, the same object."""
        new = _union(as_bits(rows)[self.places(rows) < 0])
        return self._with_rows(new) if len(new) else self

    def join(self, query: str, without: Bools, within: Bools) -> Growing:
        """Add a query; each row was met outside of it, within it, or both.

        A row met in both ways stands in its old place without the query, and once more at the end.
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
            return self._solved_again(queries, matrix)
        reducer = np.concatenate([old.reducer, old.reducer[again]])
        answers, rest = _compose(column, reducer.T, overlapping=old.idempotent)
        rebuilder = np.column_stack([old.rebuilder, answers])
        if rest.any():
            reducer = np.column_stack([reducer, rest])
            own = np.append(np.zeros(len(self.queries), dtype=bool), True)
            rebuilder = np.concatenate([rebuilder, own[None]])
        found = replace(old, fragments=matrix, reducer=reducer, rebuilder=rebuilder)
        return self._with(found, queries, self.generation)

    def leave(self, query: str) -> Growing:
        """Remove a query, and what only it needed."""
        if query not in self.queries:
            raise FragmentError(
                f"there is no query {query!r}", "only what joined can leave", str(self.queries)
            )
        kept = np.array([name != query for name in self.queries], dtype=bool)
        queries = tuple(name for name in self.queries if name != query)
        matrix = self.rows[:, kept]
        first = _first(matrix)
        old = self.decomposition
        if not isinstance(old, Covering):
            return self._solved_again(queries, matrix[first])
        used = old.rebuilder[:, kept].any(axis=1)
        found = replace(
            old,
            fragments=matrix[first],
            reducer=old.reducer[np.ix_(first, used)],
            rebuilder=old.rebuilder[np.ix_(used, kept)],
        )
        return self._with(found, queries, self.generation + (not used.all()))

    def renewed(self) -> Growing:
        """The smallest decomposition that can be found now; records change their meaning."""
        found = decompose(self.rows, self.kind, self.method, seed=self.seed, effort=self.effort)
        return replace(
            self, decomposition=found, searched=found.size, generation=self.generation + 1
        )

    def _with_rows(self, new: Bools) -> Growing:
        matrix = np.concatenate([self.rows, new])
        old = self.decomposition
        if not isinstance(old, Covering):
            return self._solved_again(self.queries, matrix)
        reducer, rebuilder = [*old.reducer], old.rebuilder
        for row in new:
            parts, rest = _compose(row, rebuilder, overlapping=old.idempotent)
            if rest.any():
                rebuilder = np.concatenate([rebuilder, rest[None]])
                parts = np.append(parts, True)
            reducer.append(parts)
        members = np.zeros((len(matrix), len(rebuilder)), dtype=bool)
        for place, parts in enumerate(reducer):
            members[place, : len(parts)] = parts
        found = replace(old, fragments=matrix, reducer=members, rebuilder=rebuilder)
        return self._with(found, self.queries, self.generation)

    def _solved_again(self, queries: tuple[str, ...], matrix: Bools) -> Growing:
        """Linear ones are quick to decompose anew; records that can stay do."""
        old = self.decomposition
        if not isinstance(old, Exact):
            grown = decompose(matrix, self.kind, self.method, seed=self.seed)
            stays = False
        else:
            names = [self.queries[place] for place in old.basis]
            here = {name: place for place, name in enumerate(queries)}
            prefer = np.array([here[name] for name in names if name in here], dtype=np.int64)
            grown = exact(matrix, prefer)
            # One more record would have to be told apart in what was reduced before, too.
            stays = [queries[place] for place in grown.basis] == names
        return replace(
            self,
            queries=queries,
            decomposition=grown,
            searched=grown.size,
            generation=self.generation + (not stays),
        )

    def _with(self, found: Covering, queries: tuple[str, ...], generation: int) -> Growing:
        grown = replace(self, queries=queries, decomposition=found, generation=generation)
        enough = min(len(queries), _SLACK * self.searched + 4)
        return grown if found.size <= enough else grown.renewed()


def _union(rows: Bools) -> Bools:
    return rows[_first(rows)]


def _first(rows: Bools) -> Ints:
    """The first of equal rows; all-zero rows as well, since a node may ask for their place."""
    seen: dict[bytes, int] = {}
    for place, key in enumerate(row_keys(rows)):
        seen.setdefault(key, place)
    return np.array(list(seen.values()), dtype=np.int64)


def _compose(target: Bools, sets: Bools, *, overlapping: bool) -> tuple[Bools, Bools]:
    """Sets inside a target, the largest first, and what they leave of it."""
    chosen = np.zeros(len(sets), dtype=bool)
    rest = target.copy()
    fits = np.flatnonzero(~(sets & ~target).any(axis=1))
    sizes = sets[fits].sum(axis=1)
    for one in fits[np.argsort(-sizes, kind="stable")]:
        useful = sets[one] & rest
        if useful.any() and (overlapping or (useful == sets[one]).all()):
            chosen[one] = True
            rest &= ~sets[one]
    return chosen, rest
