"""The catalog: the streams and tables that queries may name, their columns and types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream of rows that queries read FROM; `columns` maps names to Spark types."""

    name: str
    columns: Mapping[str, str]
    time: str


@dataclass(frozen=True, slots=True)
class Table:
    """A static table that rows are looked up in by a unique key."""

    name: str
    columns: Mapping[str, str]
    key: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Catalog:
    """All streams and tables by their names in lower case."""

    streams: Mapping[str, Stream] = field(default_factory=dict[str, Stream])
    tables: Mapping[str, Table] = field(default_factory=dict[str, Table])
    # Views without rows and with the same columns, over which Spark analyses queries.
    stand_ins: Mapping[str, str] = field(default_factory=dict[str, str])

    # The same for queries by rows: the bounds of their windows are positions.
    stand_ins_by_rows: Mapping[str, str] = field(default_factory=dict[str, str])

    def stand_in(self, relation: str, *, by_rows: bool = False) -> str:
        """The name of the view that stands for a relation when Spark analyses a query."""
        name = relation.lower()
        view = self.stand_ins_by_rows.get(name) if by_rows else None
        return view or self.stand_ins.get(name, relation)
