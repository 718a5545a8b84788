"""Joins of the stream with tables by their unique key, with USING, ON or WHERE."""

from __future__ import annotations

from sqlglot import exp

from gingham.core.errors import QueryError
from gingham.logical.catalog import Catalog, Table
from gingham.logical.query import Join, JoinUse
from gingham.sql.scope import Scope, matching_column, table_of
from gingham.sql.sql_text import canonical_sql

Joined = tuple[JoinUse, ...]


def parse_joins(
    joins: list[exp.Expr], where: exp.Expr | None, scope: Scope, catalog: Catalog
) -> tuple[Joined, exp.Expr | None]:
    """Add the joined tables to the scope; give the joins, and WHERE without join conditions."""
    conditions = _conjuncts(where)
    result: list[JoinUse] = []
    for join in joins:
        assert isinstance(join, exp.Join)
        table = table_of(join, catalog)
        alias = (join.this.alias or join.this.name).lower()
        inner = _is_inner(join)
        if join.args.get("using"):
            on = _using_columns(join, table, alias, scope)
        else:
            on_conditions = _conjuncts(join.args.get("on"))
            on, rest = _key_equalities(on_conditions or conditions, table, alias, scope)
            if on_conditions and rest and not inner:
                raise QueryError(
                    f"LEFT JOIN {table.name} ON more than its key",
                    "a table is looked up once for all queries, by its key alone",
                    "the other conditions in FILTER (WHERE ...) or in the table itself",
                )
            conditions = [*conditions, *rest] if on_conditions else rest
        lookup = _lookup_join(table, on, catalog)
        scope.joins[alias] = (lookup, table)
        result.append(JoinUse(lookup, drops_unmatched=inner))
    remaining = exp.and_(*conditions, copy=False) if conditions else None
    return tuple(dict.fromkeys(result)), remaining


def _conjuncts(condition: exp.Expr | None) -> list[exp.Expr]:
    """The terms of `a AND b AND ...`; one term if there is no AND, none without a condition."""
    if condition is None:
        return []
    return list(condition.flatten()) if isinstance(condition, exp.And) else [condition]


def _is_inner(join: exp.Join) -> bool:
    """True for JOIN, False for LEFT JOIN; raises for any other kind of join in the SQL text."""
    side, kind = join.side.upper(), join.kind.upper()
    if side == "LEFT" and kind in ("", "OUTER"):
        return False
    if side == "" and kind in ("", "INNER", "CROSS") and not join.args.get("method"):
        return True
    raise QueryError(
        f"a {' '.join(p for p in (side, kind) if p)} join",
        "rows of a stream are looked up in a table; the table has no rows of its own to give",
        "JOIN or LEFT JOIN",
    )


def _using_columns(join: exp.Join, table: Table, alias: str, scope: Scope) -> tuple[str, ...]:
    """The stream's side of a join with USING, for every key column; hides the table's side."""
    names = {identifier.name.lower() for identifier in join.args["using"]}
    if names != {k.lower() for k in table.key}:
        raise _not_by_key(table)
    on = tuple(canonical_sql(scope.resolve(exp.column(k))) for k in table.key)
    scope.hidden |= {(alias, k.lower()) for k in table.key}
    return on


def _key_equalities(
    conditions: list[exp.Expr], table: Table, alias: str, scope: Scope
) -> tuple[tuple[str, ...], list[exp.Expr]]:
    """The stream's side of `key = expression` for every key column, and the other conditions."""
    key_values: dict[str, str] = {}
    rest: list[exp.Expr] = []
    for condition in conditions:
        node = condition.unnest()
        match = _key_and_value(node, table, alias, scope) if isinstance(node, exp.EQ) else None
        if match is None or match[0] in key_values:
            rest.append(condition)
        else:
            key_values[match[0]] = canonical_sql(scope.resolve(match[1]))
    if set(key_values) != set(table.key):
        raise _not_by_key(table)
    return tuple(key_values[k] for k in table.key), rest


def _key_and_value(
    node: exp.EQ, table: Table, alias: str, scope: Scope
) -> tuple[str, exp.Expr] | None:
    """The key column on one side of an equality, and the expression on the other side."""

    def of_table(column: exp.Column) -> bool:
        """Whether a column of the equality belongs to the joined table."""
        if column.table:
            return column.table.lower() == alias
        return bool(matching_column(column.name, table.columns)) and not scope.reaches(column.name)

    for this, other in ((node.this, node.expression), (node.expression, node.this)):
        if isinstance(this, exp.Column) and of_table(this):
            key = matching_column(this.name, dict.fromkeys(table.key, ""))
            if key is not None and not any(of_table(c) for c in other.find_all(exp.Column)):
                return key, other
    return None


def _lookup_join(table: Table, on: tuple[str, ...], catalog: Catalog) -> Join:
    """The join of a table by the expressions `on`; its role names them if they are unusual."""
    usual = all(o.strip("`").lower() == k.lower() for o, k in zip(on, table.key, strict=True))
    name = next(t.name for t in catalog.tables.values() if t is table)
    return Join(name, on, name if usual else f"{name}[{', '.join(o.strip('`') for o in on)}]")


def _not_by_key(table: Table) -> QueryError:
    """The error of a join in SQL that does not look a table up by its whole unique key."""
    keys = " AND ".join(f"... = {table.name}.{k}" for k in table.key)
    return QueryError(
        f"{table.name} is not joined by its key",
        f"a row must find at most one row of {table.name}, so it is looked up by {table.key}",
        f"JOIN {table.name} USING ({', '.join(table.key)}) or ON {keys}",
    )
