"""Name resolution: the stream, table or column that each name in a query refers to."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from gingham.core.errors import QueryError
from gingham.logical.catalog import Catalog, Stream, Table
from gingham.logical.query import Join
from gingham.sql.sql_text import canonical_sql


@dataclass
class Scope:
    """The stream and the joined tables of one query, by alias."""

    stream: Stream
    alias: str
    joins: dict[str, tuple[Join, Table]] = field(default_factory=dict)  # by alias
    hidden: set[tuple[str, str]] = field(default_factory=set)  # (alias, key column) of USING
    columns: set[str] = field(default_factory=set)  # of the enriched stream, read so far
    types: dict[str, str] = field(default_factory=dict)  # of those columns

    def resolve(self, node: exp.Expr) -> exp.Expr:
        """A copy of the syntax tree in which columns have their names in the enriched stream."""
        return node.transform(lambda n: self._column(n) if isinstance(n, exp.Column) else n)

    def reaches(self, name: str) -> bool:
        """True if the stream or a table joined so far has a column of this name."""
        tables = (table.columns for _, table in self.joins.values())
        return any(matching_column(name, columns) for columns in (self.stream.columns, *tables))

    def _column(self, node: exp.Column) -> exp.Expr:
        """The syntax node of a column, by its name in the enriched stream, with struct fields."""
        if isinstance(node.this, exp.Star):
            raise QueryError(
                "SELECT *", "an aggregate query names its columns", "the keys and the aggregates"
            )
        parts = [part.name for part in node.parts]
        name, fields = self._split_name(parts)
        self.columns.add(name)
        resolved: exp.Expr = column_node(name)
        for part in fields:
            resolved = exp.Dot(this=resolved, expression=exp.to_identifier(part))
        return resolved

    def _split_name(self, parts: list[str]) -> tuple[str, list[str]]:
        """The column that a dotted name starts with, and the struct fields that follow it."""
        head = parts[0].lower()
        if len(parts) > 1 and head == self.alias:
            return self._of_stream(parts[1]) or self._unknown(parts), parts[2:]
        if len(parts) > 1 and head in self.joins:
            return self._of_table(head, parts[1]) or self._unknown(parts), parts[2:]
        candidates = [self._of_stream(parts[0])]
        candidates += [
            self._of_table(alias, parts[0])
            for alias in self.joins
            if (alias, parts[0].lower()) not in self.hidden
        ]
        names = [name for name in candidates if name]
        if not names:
            self._unknown(parts)
        if len(names) > 1:
            raise QueryError(
                f"{parts[0]} is ambiguous",
                f"{' and '.join(names)} are both in reach",
                f"the relation's name before it, for example {self.alias}.{parts[0]}",
            )
        return names[0], parts[1:]

    def _of_stream(self, name: str) -> str | None:
        """The stream's column of a name, whose type is remembered; None if there is none."""
        column = matching_column(name, self.stream.columns)
        if column:
            self.types[column] = self.stream.columns[column]
        return column

    def _of_table(self, alias: str, name: str) -> str | None:
        """A joined table's column in the enriched stream; None if the table has none."""
        join, table = self.joins[alias]
        column = matching_column(name, table.columns)
        if not column:
            return None
        self.types[join.column(column)] = table.columns[column]
        return join.column(column)

    def _unknown(self, parts: list[str]) -> str:
        """Raise for a column name that neither the stream nor a joined table has."""
        tables = {f"{a}.{c}": c for a, (_, t) in self.joins.items() for c in t.columns}
        reachable = [*self.stream.columns, *tables.values(), *tables]
        raise QueryError(
            f"there is no column {'.'.join(parts)}",
            f"neither {self.stream.name} nor a joined table has it",
            did_you_mean(".".join(parts), reachable) or "one of " + ", ".join(self.stream.columns),
        )


def open_scope(select: exp.Select, catalog: Catalog) -> tuple[Scope, list[exp.Expr]]:
    """The scope of a query with its stream only, and the joins of its FROM clause."""
    source = select.args.get("from_") or select.args.get("from")
    if source is None or not isinstance(source.this, exp.Table):
        raise QueryError(
            "no stream in FROM",
            "a query reads one registered stream",
            "FROM " + (next(iter(catalog.streams), "stream")),
        )
    table = source.this
    stream = catalog.streams.get(table.name.lower())
    if stream is None:
        if table.name.lower() in catalog.tables:
            raise QueryError(
                f"{table.name} is a table",
                "a query reads one stream and looks rows up in tables",
                f"FROM {next(iter(catalog.streams), 'stream')} JOIN {table.name} USING (...)",
            )
        raise QueryError(
            f"there is no stream {table.name}",
            "it is not registered: " + (", ".join(catalog.streams) or "no stream is"),
            did_you_mean(table.name, catalog.streams)
            or f'loom.stream("{table.name}", df, time=...)',
        )
    alias = (table.alias or table.name).lower()
    return Scope(stream, alias), list(select.args.get("joins") or ())


def table_of(join: exp.Join, catalog: Catalog) -> Table:
    """The registered table that a join names."""
    relation = join.this
    if not isinstance(relation, exp.Table):
        raise QueryError(
            f"a join with {canonical_sql(relation)[:40]}",
            "only registered tables are joined, once for all queries",
            "a view of it: loom.table(name, df, key=...)",
        )
    table = catalog.tables.get(relation.name.lower())
    if table is None:
        is_stream = relation.name.lower() in catalog.streams
        raise QueryError(
            f"{relation.name} is a stream" if is_stream else f"there is no table {relation.name}",
            "a stream is joined with static tables only"
            if is_stream
            else "it is not registered: " + (", ".join(catalog.tables) or "no table is"),
            did_you_mean(relation.name, catalog.tables)
            or f'loom.table("{relation.name}", df, key=...) before the query is added',
        )
    return table


def column_node(name: str) -> exp.Column:
    """The syntax node of a column, quoted where its name needs it."""
    return exp.column(exp.to_identifier(name, quoted=not re.fullmatch(r"[A-Za-z_]\w*", name)))


def matching_column(name: str, columns: Mapping[str, str]) -> str | None:
    """The column of this name as its relation spells it, ignoring case; None if there is none."""
    if name in columns:
        return name
    return next((c for c in columns if c.lower() == name.lower()), None)


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """The hint `did you mean ...?` with the most similar candidate; None if none is similar."""
    similar = difflib.get_close_matches(name, list(candidates), n=1)
    return f"did you mean {similar[0]}?" if similar else None
