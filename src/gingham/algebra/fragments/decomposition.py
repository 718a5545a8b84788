"""What a decomposition is: fewer records than queries, and the answers of all queries from them.

A fragment matrix F has a row per fragment and a column per query: 1 where the rows of a fragment
belong to a query. A decomposition is two matrices whose product is F. The first (`reducer`) says
which fragments' partials go into which record, the second (`rebuilder`) which records answer which
query; what "product" means depends on what the aggregate can do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gingham.algebra.fragments.operation import ADD, MAXIMUM, Operation, operation_of
from gingham.core.arrays import Array, Bools
from gingham.core.errors import FragmentError

Merge = Operation | np.ufunc | Callable[[Any, Any], Any]

# How far a product of doubles may be from the 0 or 1 that it stands for.
CLOSE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Decomposition(ABC):
    """Turns partials of fragments into records, and records into the answers of queries."""

    method: str
    fragments: Bools  # fragments x queries
    notices: tuple[str, ...]

    @property
    @abstractmethod
    def kind(self) -> str:
        """The aggregates that the decomposition serves: linear, idempotent, or general (all)."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of records of the decomposition."""

    @property
    def gain(self) -> float:
        """The share of records saved by the decomposition, compared with one for each query."""
        queries = self.fragments.shape[1]
        return 1 - self.size / queries if queries else 0.0

    @abstractmethod
    def reduce(self, partials: Array, operation: Merge | None = None) -> Array:
        """Merge partials of fragments to records: a row per fragment in, a row per record out."""

    @abstractmethod
    def reconstruct(self, reduced: Array, operation: Merge | None = None) -> Array:
        """Merge records to answers of queries: a row per record in, a row per query out."""

    @abstractmethod
    def product(self) -> Array:
        """Multiply the matrices of `reduce` and `reconstruct`: it has to equal F."""

    def certified(self) -> bool:
        """Whether the decomposition reproduces F: each fragment reaches exactly its queries."""
        return bool((np.abs(self.product() - self.fragments) <= CLOSE).all())

    def _expect(self, what: str, rows: Array, count: int) -> None:
        """Refuse an array that has not one row for each fragment, or for each record."""
        if rows.ndim == 0 or len(rows) != count:
            found = "a single value" if rows.ndim == 0 else f"{len(rows)} rows"
            raise FragmentError(
                f"{found}, but there are {count} {what}",
                f"each of the {what} has a row of its own, in the order of the decomposition",
                f"an array with {count} rows; those without data hold the empty partial",
            )


@dataclass(frozen=True, slots=True, eq=False)
class Covering(Decomposition):
    """A decomposition whose records merge whole fragments: disjoint unless idempotent."""

    idempotent: bool
    reducer: Bools  # fragments x records
    rebuilder: Bools  # records x queries

    @property
    def kind(self) -> str:
        """Which aggregates the covering serves: idempotent ones if records overlap, else all."""
        return "idempotent" if self.idempotent else "general"

    @property
    def size(self) -> int:
        """The number of records of the covering."""
        return len(self.rebuilder)

    def reduce(self, partials: Array, operation: Merge | None = None) -> Array:
        """Merge partials of fragments to records."""
        partials = np.asarray(partials)
        self._expect("fragments", partials, len(self.reducer))
        return self._merge(operation).merge(self.reducer.T, partials)

    def reconstruct(self, reduced: Array, operation: Merge | None = None) -> Array:
        """Merge records to the answers of queries."""
        reduced = np.asarray(reduced)
        self._expect("records", reduced, self.size)
        return self._merge(operation).merge(self.rebuilder.T, reduced)

    def product(self) -> Array:
        """How often each fragment reaches each query through records; has to equal F."""
        # 32-bit products of zeros and ones are exact, and many times faster than integers.
        times = self.reducer.astype(np.float32) @ self.rebuilder.astype(np.float32)
        return np.minimum(times, 1) if self.idempotent else times

    def _merge(self, operation: Merge | None) -> Operation:
        """The merge of partials; one that is not idempotent is refused where records overlap."""
        merge = operation_of(operation or (MAXIMUM if self.idempotent else ADD))
        if self.idempotent and not merge.idempotent:
            raise FragmentError(
                f"{merge.name} cannot use an idempotent decomposition",
                "its records overlap: a partial reaches a query on several ways, and"
                f" {merge.name} is not known to ignore the second time",
                'kind="linear" for sums, kind="general" for everything else; or say so:'
                " Operation(name, function, idempotent=True)",
            )
        return merge


def add_only(operation: Merge | None) -> None:
    """Refuse a merge that is not linear, since linear decompositions subtract records."""
    merge = operation_of(operation or ADD)
    if not merge.linear:
        raise FragmentError(
            f"{merge.name} cannot use a linear decomposition",
            "its answers are sums and differences of records, and what"
            f" {merge.name} has merged cannot be taken out again",
            'kind="idempotent" for min, max, and, or; kind="general" for everything else',
        )


def finite(partials: Array) -> Array:
    """Convert partials to doubles, and refuse NaN and infinities, which cannot be subtracted."""
    if not np.isfinite(partials).all():
        raise FragmentError(
            "NaN or infinity among the partials",
            "a record that holds it spoils every answer that the record is part of",
            "the fragments of such a key and window as they are, without a decomposition",
        )
    return partials.astype(np.float64, copy=False)
