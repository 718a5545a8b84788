"""Name resolution: the stream, table or column that each name in a query refers to."""

from __future__ import annotations

import difflib
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gingham.core import names
from gingham.core.errors import QueryError
from gingham.logical.catalog import Catalog, Stream, Table
from gingham.logical.query import Join
from gingham.sql.expression import Column


class FoundColumn(NamedTuple):
    """The column that a dotted name starts with, and the struct fields after it."""

    alias: str
    column: str
    fields: Sequence[str]


def find_column(
    parts: Sequence[str],
    relations: Mapping[str, Mapping[str, str]],
    hidden: Container[tuple[str, str]] = frozenset[tuple[str, str]](),
) -> FoundColumn | None:
    """Find the column of a dotted name among those of relations by alias; None if none has it.

    A USING hides the column of one side: `hidden` has pairs of alias and column, in lower case.
    """
    head = parts[0].lower()
    if len(parts) > 1 and head in relations:
        column = matching_column(parts[1], relations[head])
        if column is not None:
            return FoundColumn(head, column, parts[2:])
    candidates = [
        FoundColumn(alias, column, parts[1:])
        for alias, columns in relations.items()
        if (alias, head) not in hidden and (column := matching_column(parts[0], columns))
    ]
    if len(candidates) > 1:
        owners = [found.alias for found in candidates]
        raise QueryError(
            f"{parts[0]} is ambiguous",
            f"{' and '.join(owners)} both have it",
            f"the relation's name before it, for example {owners[0]}.{parts[0]}",
        )
    return candidates[0] if candidates else None


@dataclass
class Scope:
    """The stream and the joined tables of one query, by alias."""

    stream: Stream
    alias: str
    joins: dict[str, tuple[Join, Table]] = field(default_factory=dict)  # by alias
    hidden: set[tuple[str, str]] = field(default_factory=set)  # (alias, key column) of USING
    columns: set[str] = field(default_factory=set)  # of the enriched stream, read so far
    types: dict[str, str] = field(default_factory=dict)  # of those columns
    qualified: bool = True  # are there several relations, so that columns need their names?

    def resolve(self, parts: Sequence[str]) -> tuple[Column, Sequence[str]]:
        """The column that a dotted name starts with, and the struct fields after it."""
        found = find_column(parts, self._columns(), self.hidden)
        if found is None:
            raise self.unknown(parts)
        name = self._name(found)
        refuse_reserved(name)
        self.columns.add(name)
        self.types[name] = self._columns()[found.alias][found.column]
        relation = found.alias if self.qualified or found.alias != self.alias else ""
        return Column(name, relation, found.column), found.fields

    def reaches(self, name: str) -> bool:
        """True if the stream or a table joined so far has a column of this name."""
        return any(matching_column(name, columns) for columns in self._columns().values())

    def unknown(self, parts: Sequence[str]) -> QueryError:
        """The error of a column name that neither the stream nor a joined table has."""
        tables = {f"{a}.{c}": c for a, (_, t) in self.joins.items() for c in t.columns}
        reachable = [*self.stream.columns, *tables.values(), *tables]
        return QueryError(
            f"there is no column {'.'.join(parts)}",
            f"neither {self.stream.name} nor a joined table has it",
            did_you_mean(".".join(parts), reachable) or "one of " + ", ".join(self.stream.columns),
        )

    def _columns(self) -> dict[str, Mapping[str, str]]:
        """The columns of the stream and of all tables joined so far, by alias."""
        tables = {alias: table.columns for alias, (_, table) in self.joins.items()}
        return {self.alias: self.stream.columns, **tables}

    def _name(self, found: FoundColumn) -> str:
        """The name of a column in the enriched stream."""
        if found.alias == self.alias:
            return found.column
        return self.joins[found.alias][0].column(found.column)


def open_scope(relation: str, alias: str | None, catalog: Catalog) -> Scope:
    """The scope of a query with its stream only; raises if there is no such stream."""
    stream = catalog.streams.get(relation.lower())
    if stream is None:
        if relation.lower() in catalog.tables:
            raise QueryError(
                f"{relation} is a table",
                "a query reads one stream and looks rows up in tables",
                f"FROM {next(iter(catalog.streams), 'stream')} JOIN {relation} USING (...)",
            )
        raise QueryError(
            f"there is no stream {relation}",
            "it is not registered: " + (", ".join(catalog.streams) or "no stream is"),
            did_you_mean(relation, catalog.streams) or f'loom.stream("{relation}", df, time=...)',
        )
    return Scope(stream, (alias or relation).lower())


def table_called(relation: str, catalog: Catalog) -> Table:
    """The registered table that a join names."""
    table = catalog.tables.get(relation.lower())
    if table is None:
        is_stream = relation.lower() in catalog.streams
        raise QueryError(
            f"{relation} is a stream" if is_stream else f"there is no table {relation}",
            "a stream is joined with static tables only"
            if is_stream
            else "it is not registered: " + (", ".join(catalog.tables) or "no table is"),
            did_you_mean(relation, catalog.tables)
            or f'loom.table("{relation}", df, key=...) before the query is added',
        )
    return table


def refuse_reserved(column: str) -> None:
    """Raise for a column of rows that has a name of Gingham's own."""
    if names.is_reserved(column):
        raise QueryError(
            f"the column {column}",
            "Gingham gives columns of this name to rows itself",
            f'another name: rows.withColumnRenamed("{column}", ...)',
        )


def matching_column(name: str, columns: Mapping[str, str]) -> str | None:
    """The column of this name as its relation spells it, ignoring case; None if there is none."""
    if name in columns:
        return name
    return next((c for c in columns if c.lower() == name.lower()), None)


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """The hint `did you mean ...?` with the most similar candidate; None if none is similar."""
    similar = difflib.get_close_matches(name, list(candidates), n=1)
    return f"did you mean {similar[0]}?" if similar else None
