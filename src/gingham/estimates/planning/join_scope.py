"""Resolve the names of columns in a join: which relation each is a column of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from gingham.core.errors import QueryError
from gingham.estimates.planning.join_aggregate import Relation
from gingham.estimates.planning.tree_text import canonical_sql, column_node
from gingham.sql.scope import did_you_mean, matching_column


@dataclass
class JoinScope:
    """The relations of one join query under their aliases."""

    relations: dict[str, Relation] = field(default_factory=dict[str, Relation])
    merged: dict[str, str] = field(default_factory=dict[str, str])  # by USING: column -> alias

    def enter(self, table: exp.Expr, catalog: Mapping[str, Relation]) -> str:
        """Add a relation of a join's FROM clause, and return its alias."""
        if not isinstance(table, exp.Table):
            raise QueryError(
                f"a join with {canonical_sql(table)[:40]}",
                "only registered streams and tables can be sketched",
                "its rows registered under a name: sketches.relation(name, df)",
            )
        relation = catalog.get(table.name.lower())
        if relation is None:
            raise QueryError(
                f"there is no relation {table.name}",
                "registered: " + (", ".join(r.name for r in catalog.values()) or "none"),
                did_you_mean(table.name, catalog) or f'sketches.relation("{table.name}", df)',
            )
        alias = (table.alias or table.name).lower()
        if alias in self.relations:
            raise QueryError(
                f"two relations called {alias}",
                "a column could be of either",
                f"a second name: FROM {table.name} AS {alias}_1, {table.name} AS {alias}_2",
            )
        self.relations[alias] = relation
        return alias

    def aliases(self, node: exp.Expr) -> list[str]:
        """The aliases of joined relations that an expression reads, in order of appearance."""
        owners = (self.owner(c)[0] for c in node.find_all(exp.Column, bfs=False))
        return list(dict.fromkeys(owners))

    def bare(self, node: exp.Expr) -> exp.Expr:
        """Strip the alias from the columns of an expression over one relation of a join."""
        return node.transform(lambda n: self.owner(n)[1] if isinstance(n, exp.Column) else n)

    def owner(self, node: exp.Column) -> tuple[str, exp.Expr]:
        """Resolve a column in a join: the alias of its relation, and the column without it."""
        parts = [part.name for part in node.parts]
        head = parts[0].lower()
        if len(parts) > 1 and head in self.relations:
            alias, parts = head, parts[1:]
        else:
            alias = self._only_owner(parts)
        name = matching_column(parts[0], self.relations[alias].columns)
        if name is None:
            raise self._unknown(".".join((alias, *parts)))
        bare: exp.Expr = column_node(name)
        for part in parts[1:]:
            bare = exp.Dot(this=bare, expression=exp.to_identifier(part))
        return alias, bare

    def _only_owner(self, parts: list[str]) -> str:
        """The alias of the only relation of a join that has a column of this name."""
        name = parts[0]
        if name.lower() in self.merged:
            return self.merged[name.lower()]
        owners = [alias for alias, r in self.relations.items() if matching_column(name, r.columns)]
        if not owners:
            raise self._unknown(".".join(parts))
        if len(owners) > 1:
            raise QueryError(
                f"{name} is ambiguous",
                f"{' and '.join(owners)} both have it",
                f"the relation's name before it, for example {owners[0]}.{name}",
            )
        return owners[0]

    def _unknown(self, name: str) -> QueryError:
        """The error of a column that no relation of the join has, with a similar name."""
        reachable = [f"{a}.{c}" for a, r in self.relations.items() for c in r.columns]
        reachable += [c for r in self.relations.values() for c in r.columns]
        return QueryError(
            f"there is no column {name}",
            f"none of {', '.join(self.relations)} has it",
            did_you_mean(name, reachable) or "one of " + ", ".join(dict.fromkeys(reachable)),
        )
