"""Resolve the names of columns in a join: which relation each is a column of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gingham.core.errors import QueryError
from gingham.estimates.planning.join_aggregate import Relation
from gingham.sql.expression import Column
from gingham.sql.from_clause import NamedRelation
from gingham.sql.scope import did_you_mean, find_column, matching_column, refuse_reserved


@dataclass
class JoinScope:
    """The relations of one join query under their aliases."""

    relations: dict[str, Relation] = field(default_factory=dict[str, Relation])
    # (alias, column) of USING: a column of that name is the one of the other side.
    hidden: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    def enter(self, named: NamedRelation, catalog: Mapping[str, Relation]) -> str:
        """Add a relation of a join's FROM clause, and return its alias."""
        relation = catalog.get(named.name.lower())
        if relation is None:
            raise QueryError(
                f"there is no relation {named.name}",
                "registered: " + (", ".join(r.name for r in catalog.values()) or "none"),
                did_you_mean(named.name, catalog) or f'sketches.relation("{named.name}", df)',
            )
        alias = named.key
        if alias in self.relations:
            raise QueryError(
                f"two relations called {alias}",
                "a column could be of either",
                f"a second name: FROM {named.name} AS {alias}_1, {named.name} AS {alias}_2",
            )
        self.relations[alias] = relation
        return alias

    def merge(self, name: str, alias: str) -> Column:
        """The column of a relation that USING (name) merges with the one on its left side."""
        column = matching_column(name, self.relations[alias].columns)
        if column is None:
            raise self._unknown(f"{alias}.{name}")
        self.hidden.add((alias, name.lower()))
        return Column(column, alias, column)

    def resolve(self, parts: Sequence[str]) -> tuple[Column, Sequence[str]]:
        """The column that a dotted name starts with, and the struct fields after it."""
        columns = {alias: relation.columns for alias, relation in self.relations.items()}
        found = find_column(parts, columns, self.hidden)
        if found is None:
            raise self._unknown(".".join(parts))
        refuse_reserved(found.column)
        return Column(found.column, found.alias, found.column), found.fields

    def reaches(self, name: str) -> bool:
        """True if a relation of the join has a column of this name."""
        return any(matching_column(name, r.columns) for r in self.relations.values())

    def _unknown(self, name: str) -> QueryError:
        """The error of a column that no relation of the join has, with a similar name."""
        reachable = [f"{a}.{c}" for a, r in self.relations.items() for c in r.columns]
        reachable += [c for r in self.relations.values() for c in r.columns]
        return QueryError(
            f"there is no column {name}",
            f"none of {', '.join(self.relations)} has it",
            did_you_mean(name, reachable) or "one of " + ", ".join(dict.fromkeys(reachable)),
        )
