"""How hard each join query is to estimate: as the user says, as a run measured, or as guessed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gingham.core.errors import QueryError
from gingham.estimates.algebra.join_query import JoinQuery
from gingham.estimates.algebra.weights import Histogram, histogram_weights
from gingham.estimates.planning.bound_join import BoundJoin

# By relation, then by the column or expression that it is joined on, as queries write it.
Histograms = Mapping[str, Mapping[str, Histogram]]


class QueryWeights(NamedTuple):
    """The weights of join queries, as far as they are known; and what is to be said about them."""

    weights: dict[str, float]
    notices: tuple[str, ...]


@dataclass(frozen=True)
class PriorWeights:
    """What the user knows about join queries before anything is sketched.

    `weights` are by the name of the query: eight times the variance of one copy of its estimate,
    relative to its squared answer, or any numbers in the same proportions if all have one.
    """

    weights: Mapping[str, float] = field(default_factory=dict[str, float])
    histograms: Histograms = field(default_factory=dict[str, dict[str, Histogram]])

    def __post_init__(self) -> None:
        for name, weight in self.weights.items():
            if not math.isfinite(weight) or weight <= 0:
                raise QueryError(
                    f"the weight {weight} of query {name!r}",
                    "a weight is the variance of an estimate, relative to its square",
                    "a positive number, or no weight for this query",
                )

    def of(self, queries: Sequence[BoundJoin], measured: Mapping[str, float]) -> QueryWeights:
        """Weigh join queries: by given weights first, then measured ones, then histograms."""
        named = {query.name for query in queries}
        notices = [f"a weight of {name!r}: no query" for name in self.weights.keys() - named]
        weights = {**measured, **self.weights}
        guessed: list[BoundJoin] = []
        for query in queries if self.histograms else ():
            missing = list(self._without_histogram(query))
            if query.name in weights:
                continue
            if missing:
                listed = ", ".join(dict.fromkeys(missing))
                notices.append(f"{query.name}: weighed like the others, no histogram of {listed}")
            else:
                guessed.append(query)
        if guessed:
            weights |= histogram_weights([_as_written(q) for q in guessed], self._by_lower_name)
        known = {name: weight for name, weight in weights.items() if name in named}
        return QueryWeights(known, tuple(sorted(notices)))

    def _without_histogram(self, query: BoundJoin) -> Iterator[str]:
        """The join attributes of a query, as relation.attribute, that have no histogram."""
        found = self._by_lower_name
        for left, a, right, b in query.query.joins:
            for alias, attribute in ((left, a), (right, b)):
                relation = query.query.relations[alias]
                if attribute.lower() not in found.get(relation.lower(), {}):
                    yield f"{relation}.{attribute}"

    @property
    def _by_lower_name(self) -> dict[str, dict[str, Histogram]]:
        """The histograms by relation and attribute in lower case: SQL tells no others apart."""
        return {
            relation.lower(): {attribute.lower(): h for attribute, h in attributes.items()}
            for relation, attributes in self.histograms.items()
        }


def _as_written(query: BoundJoin) -> JoinQuery:
    """A join query on the attributes that its text has, in lower case, and not on their hashes."""
    return JoinQuery(
        joins=[(left, a.lower(), right, b.lower()) for left, a, right, b in query.query.joins],
        name=query.name,
        relations={alias: name.lower() for alias, name in query.query.relations.items()},
    )
