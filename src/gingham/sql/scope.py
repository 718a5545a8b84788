"""Name resolution: the stream, table or column that each name in a query refers to."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gingham.core import names
from gingham.core.errors import QueryError
from gingham.logical.catalog import Catalog, Stream, Table
from gingham.logical.query import Join
from gingham.sql.expression import Column


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
        head = parts[0].lower()
        if len(parts) > 1 and head in (self.alias, *self.joins):
            column = self._of(head, parts[1])
            if column is not None:
                return self._read(column), parts[2:]
            if not self._candidates(parts[0]):
                raise self.unknown(parts)
        candidates = self._candidates(parts[0])
        if not candidates:
            raise self.unknown(parts)
        if len(candidates) > 1:
            raise QueryError(
                f"{parts[0]} is ambiguous",
                f"{' and '.join(c.name for c in candidates)} are both in reach",
                f"the relation's name before it, for example {self.alias}.{parts[0]}",
            )
        return self._read(candidates[0]), parts[1:]

    def reaches(self, name: str) -> bool:
        """True if the stream or a table joined so far has a column of this name."""
        tables = (table.columns for _, table in self.joins.values())
        return any(matching_column(name, columns) for columns in (self.stream.columns, *tables))

    def unknown(self, parts: Sequence[str]) -> QueryError:
        """The error of a column name that neither the stream nor a joined table has."""
        tables = {f"{a}.{c}": c for a, (_, t) in self.joins.items() for c in t.columns}
        reachable = [*self.stream.columns, *tables.values(), *tables]
        return QueryError(
            f"there is no column {'.'.join(parts)}",
            f"neither {self.stream.name} nor a joined table has it",
            did_you_mean(".".join(parts), reachable) or "one of " + ", ".join(self.stream.columns),
        )

    def _candidates(self, name: str) -> list[Column]:
        """The columns of this name in the stream and in all tables that do not hide theirs."""
        aliases = (self.alias, *(a for a in self.joins if (a, name.lower()) not in self.hidden))
        return [column for alias in aliases if (column := self._of(alias, name)) is not None]

    def _of(self, alias: str, name: str) -> Column | None:
        """The column of this name in the relation with an alias; None if it has none."""
        if alias == self.alias:
            column = matching_column(name, self.stream.columns)
            relation = alias if self.qualified else ""
            return Column(column, relation, column) if column is not None else None
        join, table = self.joins[alias]
        column = matching_column(name, table.columns)
        return Column(join.column(column), alias, column) if column is not None else None

    def _read(self, column: Column) -> Column:
        """Note that the query reads a column, and its type."""
        if names.is_reserved(column.name):
            raise QueryError(
                f"the column {column.name}",
                "Gingham gives columns of this name to rows itself",
                f'another name: rows.withColumnRenamed("{column.name}", ...)',
            )
        is_stream = column.relation in (self.alias, "")
        of = self.stream.columns if is_stream else self.joins[column.relation][1].columns
        self.columns.add(column.name)
        self.types[column.name] = of[column.column]
        return column


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


def matching_column(name: str, columns: Mapping[str, str]) -> str | None:
    """The column of this name as its relation spells it, ignoring case; None if there is none."""
    if name in columns:
        return name
    return next((c for c in columns if c.lower() == name.lower()), None)


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """The hint `did you mean ...?` with the most similar candidate; None if none is similar."""
    similar = difflib.get_close_matches(name, list(candidates), n=1)
    return f"did you mean {similar[0]}?" if similar else None
