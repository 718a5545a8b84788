"""Queries that fail for whole batches: they are left out for some, then tried again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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
_LONGEST = 64  # batches that a query is left out before it is tried again


@dataclass(frozen=True, slots=True)
class _Held:
    """A query that is held back: its text, for how many batches, and how many are left."""

    text: str
    pause: int
    left: int


class Quarantine:
    """Holds queries back by name and text for some batches, and tells once why.

    A query that fails again when it comes back stays out for twice as long.
    """

    def __init__(self) -> None:
        self._held: dict[str, _Held] = {}
        self._reasons: dict[str, GinghamError] = {}

    def hold(self, queries: Iterable[_Query], why: GinghamError) -> None:
        """Leave these queries out of the stream's plans for a while, and remember why."""
        for query in queries:
            before = self._held.get(query.name)
            known = before is not None and before.text == query.query.text
            pause = min(max(1, 2 * before.pause), _LONGEST) if known and before else 0
            self._held[query.name] = _Held(query.query.text, pause, pause)
            self._reasons[query.name] = why

    def note(self, query: _Query, why: GinghamError) -> None:
        """Remember why a query fails for some rows only; it stays in the stream's plans."""
        self._reasons[query.name] = why

    def admitted(self, registered: Sequence[AnyQuery]) -> list[AnyQuery]:
        """The registered queries that are not held back from the batch that comes now."""
        for name in self._held.keys() - {query.name for query in registered}:
            self.release(name)
        admitted: list[AnyQuery] = []
        for query in registered:
            held = self._held.get(query.name)
            if held is None or held.text != query.query.text or held.left <= 0:
                admitted.append(query)
            else:
                self._held[query.name] = replace(held, left=held.left - 1)
        return admitted

    def release(self, name: str) -> None:
        """Let a query of this name into the stream's plans again."""
        self._held.pop(name, None)

    def new_reasons(self) -> Mapping[str, GinghamError]:
        """Why queries were quarantined since this was asked last, by name."""
        reasons, self._reasons = self._reasons, {}
        return reasons
