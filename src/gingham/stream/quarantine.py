"""Queries that brought a batch down: they are left out until they are removed or changed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from gingham.core.errors import GinghamError


class _Text(Protocol):
    """A query that has a SQL text."""

    @property
    def text(self) -> str:
        """The SQL text of the query."""
        ...


class _Query(Protocol):
    """A bound query of either kind, exact or an estimate."""

    @property
    def name(self) -> str:
        """The name of the query."""
        ...

    @property
    def query(self) -> _Text:
        """The query as it was parsed, with its text."""
        ...


AnyQuery = TypeVar("AnyQuery", bound=_Query)


class Quarantine:
    """Holds queries back by name and text, and tells once why each was set aside."""

    def __init__(self) -> None:
        self._held: dict[str, str] = {}
        self._reasons: dict[str, GinghamError] = {}

    def hold(self, queries: Iterable[_Query], why: GinghamError) -> None:
        """Leave these queries out of the stream's plans from now on, and remember why."""
        for query in queries:
            self._held[query.name] = query.query.text
            self._reasons[query.name] = why

    def admitted(self, registered: Sequence[AnyQuery]) -> list[AnyQuery]:
        """The registered queries that are not in quarantine; a changed one may come back."""
        for name in self._held.keys() - {query.name for query in registered}:
            self.release(name)
        return [query for query in registered if self._held.get(query.name) != query.query.text]

    def release(self, name: str) -> None:
        """Let a query of this name into the stream's plans again."""
        self._held.pop(name, None)

    @property
    def names(self) -> Collection[str]:
        """The names of the queries in quarantine."""
        return self._held.keys()

    def new_reasons(self) -> Mapping[str, GinghamError]:
        """Why queries were quarantined since this was asked last, by name."""
        reasons, self._reasons = self._reasons, {}
        return reasons
