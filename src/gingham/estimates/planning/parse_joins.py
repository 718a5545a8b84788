"""Parse COUNT and SUM over joins: SQL text to a join aggregate, or the reason of a refusal.

    SELECT sum(l.price * o.rate) FROM orders o, items l
    WHERE o.id = l.order_id AND l.price > 10 GROUP BY window(ts, '10 minutes')

is the equality o.id = l.order_id, the measures l.price and o.rate, and the selection price > 10.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from gingham.core.errors import QueryError
from gingham.estimates.algebra.join_query import JoinQuery, join_trees
from gingham.estimates.planning.join_aggregate import Equality, JoinAggregate, Relation, Selection
from gingham.estimates.planning.join_scope import JoinScope
from gingham.estimates.planning.tree_predicates import to_predicate
from gingham.estimates.planning.tree_text import (
    canonical_sql,
    cut_range_clause,
    grouping_expressions,
    parse_select,
    refuse_what_cannot_be_shared,
)
from gingham.estimates.planning.tree_windows import (
    is_window_call,
    parse_window,
    two_windows_error,
    window_bound_node,
)
from gingham.logical.window import Window
from gingham.sql.scope import matching_column

_SHAPE = "SELECT count(*) or sum(r.x) FROM r, s WHERE r.a = s.b AND r.c > 5"


def parse_join_aggregate(text: str, name: str, catalog: Mapping[str, Relation]) -> JoinAggregate:
    """Parse one COUNT or SUM over a join; `catalog` has relations by their lower-case names."""
    body, clause = cut_range_clause(text)
    select = parse_select(body)
    refuse_what_cannot_be_shared(select)
    if select.args.get("having"):
        raise QueryError(
            "HAVING over an estimate",
            "an estimate near the limit would pass or fail by chance",
            "a filter on the answers that looks at lower and upper",
        )
    scope = JoinScope()
    conditions = _enter_relations(select, scope, catalog)
    window = _join_window(select, clause, scope)
    measures = _measures(_selected_aggregate(select), scope)
    where = select.args.get("where")
    conditions += _operands(where.this, exp.And) if where else ()
    joins: list[Equality] = []
    selected: dict[str, list[exp.Expr]] = {}
    for condition in conditions:
        aliases = scope.aliases(condition)
        if len(aliases) > 1:
            joins.append(_join_equality(condition, scope))
        else:
            alias = aliases[0] if aliases else next(iter(scope.relations))
            selected.setdefault(alias, []).append(scope.bare(condition))
    _refuse_unjoined(scope, joins)
    relations = {alias: relation.name for alias, relation in scope.relations.items()}
    # Refuses cycles.
    join_trees([JoinQuery(joins, name, relations)])
    return JoinAggregate(
        name=name,
        text=text.strip(),
        relations=relations,
        joins=tuple(joins),
        measures=measures,
        selections={alias: _selection(found) for alias, found in selected.items()},
        window=window,
    )


def _enter_relations(
    select: exp.Select, scope: JoinScope, catalog: Mapping[str, Relation]
) -> list[exp.Expr]:
    """Enter all relations of FROM into the join's scope, and return conditions of ON and USING."""
    source = select.args.get("from_") or select.args.get("from")
    if source is None:
        raise QueryError("no relations in FROM", "a sketch estimates a join", _SHAPE)
    scope.enter(source.this, catalog)
    conditions: list[exp.Expr] = []
    for join in select.args.get("joins") or ():
        assert isinstance(join, exp.Join)
        kind = " ".join(part for part in (join.method, join.side, join.kind) if part).upper()
        if kind not in ("", "INNER", "CROSS"):
            raise QueryError(
                f"a {kind} JOIN",
                "a sketch knows sums over pairs of rows that are equal, not which rows have none",
                "JOIN ... ON, or relations with commas between them",
            )
        before = list(scope.relations)
        alias = scope.enter(join.this, catalog)
        merged = [column.name for column in join.args.get("using") or ()]
        conditions += [_using_equality(name, before, alias, scope) for name in merged]
        if join.args.get("on"):
            conditions += _operands(join.args["on"], exp.And)
    return conditions


def _using_equality(name: str, before: list[str], alias: str, scope: JoinScope) -> exp.Expr:
    """The equality that USING (name) stands for, between a relation and one before it."""
    having = [a for a in before if matching_column(name, scope.relations[a].columns)]
    other = scope.merged.get(name.lower()) or (having[0] if having else before[0])
    scope.merged[name.lower()] = other
    return exp.EQ(this=exp.column(name, other), expression=exp.column(name, alias))


def _operands(node: exp.Expr, operator: type[exp.And | exp.Mul]) -> Iterator[exp.Expr]:
    """Yield the operands of a chain of ANDs, or of a product that is summed over a join."""
    node = node.unnest()
    if isinstance(node, operator):
        yield from _operands(node.this, operator)
        yield from _operands(node.expression, operator)
    else:
        yield node


def _join_equality(condition: exp.Expr, scope: JoinScope) -> Equality:
    """Read a join condition over several relations, which must be an equality between two."""
    if isinstance(condition, exp.Or):
        raise QueryError(
            f"an OR across relations: {canonical_sql(condition)[:80]}",
            "sketches multiply what equalities join; rows that match in one of two ways would be "
            "counted for each",
            "one query for each side of the OR, and one for both: a + b - both",
        )
    if isinstance(condition, exp.EQ):
        sides = (condition.this, condition.expression)
        owners = [scope.aliases(side) for side in sides]
        if all(len(owner) == 1 for owner in owners):
            left, right = (canonical_sql(scope.bare(side.unnest())) for side in sides)
            return owners[0][0], left, owners[1][0], right
    raise QueryError(
        f"{canonical_sql(condition)[:80]} is no equality between two relations",
        "random signs cancel for keys that are equal, and for no other relation between them",
        "r.a = s.b, with one relation on each side; or compute this query exactly",
    )


def _refuse_unjoined(scope: JoinScope, joins: list[Equality]) -> None:
    """Refuse a join query with a relation that no equality joins."""
    if len(scope.relations) == 1:
        raise QueryError(
            "no join",
            "a sketch estimates joins; what one relation holds is computed exactly",
            "loom.add(...) for a query over one stream",
        )
    joined = {alias for left, _, right, _ in joins for alias in (left, right)}
    for alias in scope.relations:
        if alias not in joined:
            raise QueryError(
                f"no equality joins {alias}",
                "every row of it would be paired with all others",
                f"WHERE {alias}.a = ...",
            )


def _selection(conditions: list[exp.Expr]) -> Selection:
    """Read conditions over one relation of a join as the selection of its rows."""
    conjunction = exp.and_(*conditions, copy=False)
    return Selection(to_predicate(conjunction), canonical_sql(conjunction))


def _selected_aggregate(select: exp.Select) -> exp.Expr:
    """The one count or sum of a join query's SELECT list, which may also have window bounds."""
    aggregates: list[exp.Expr] = []
    for item in select.expressions:
        node = item.unalias().unnest()
        if isinstance(node, exp.Count | exp.Sum):
            aggregates.append(node)
        elif window_bound_node(node) is None:
            raise QueryError(
                f"{canonical_sql(node)[:60]} over a join",
                "an estimate is a count or a sum: these add up row by row",
                "SELECT count(*) or sum(x); for an average one query for each of them",
            )
    if len(aggregates) != 1:
        raise QueryError(
            f"{len(aggregates)} aggregates",
            "each estimate has its own interval and its own share of the memory",
            "one query for each aggregate",
        )
    return aggregates[0]


def _measures(aggregate: exp.Expr, scope: JoinScope) -> dict[str, str]:
    """What is summed of each joined relation: nothing for count(*), factors for sum(x * y)."""
    argument = aggregate.this.unnest()
    owners = [] if isinstance(argument, exp.Star) else scope.aliases(argument)
    if isinstance(aggregate, exp.Count):
        if not owners and isinstance(argument, exp.Star | exp.Literal):
            return {}
        if len(owners) == 1 and not aggregate.expressions:
            return {owners[0]: f"CAST(({canonical_sql(scope.bare(argument))}) IS NOT NULL AS INT)"}
        raise QueryError(
            f"{canonical_sql(aggregate)[:60]} over a join",
            "rows are counted, all or those where one relation's value is known",
            "count(*) or count(r.x)",
        )
    if len(owners) <= 1:
        return {(owners or list(scope.relations))[0]: canonical_sql(scope.bare(argument))}
    factors = [(scope.aliases(factor), factor) for factor in _operands(argument, exp.Mul)]
    if any(len(owner) > 1 for owner, _ in factors):
        raise QueryError(
            f"{canonical_sql(aggregate)[:60]} mixes {' and '.join(owners)}",
            "a sketch adds up what one relation knows of its row; relations are multiplied",
            "a sum over one relation, sum(r.x), or over a product, sum(r.x * s.y)",
        )
    products: dict[str, list[str]] = {alias: [] for alias in owners}
    for owner, factor in factors:
        # A constant may be a factor of any relation's measure.
        products[(owner or owners)[0]].append(f"({canonical_sql(scope.bare(factor))})")
    return {alias: " * ".join(parts) for alias, parts in products.items()}


def _join_window(select: exp.Select, clause: Window | None, scope: JoinScope) -> Window | None:
    """The window of a join query's GROUP BY window(...) or RANGE clause; None without either."""
    grouped = grouping_expressions(select)
    calls = [node for node in grouped if is_window_call(node)]
    keys = [node for node in grouped if not is_window_call(node)]
    if keys:
        raise QueryError(
            f"GROUP BY {canonical_sql(keys[0])[:60]}",
            "a sketch gives one number; every group would need a sketch of its own",
            "GROUP BY window(...) alone, and a query with a selection for each group that matters",
        )
    streams = {alias: r.time for alias, r in scope.relations.items() if r.time is not None}
    if len(calls) + (clause is not None) > 1:
        raise two_windows_error()
    if not calls and clause is None:
        return None
    if not streams:
        raise QueryError(
            "a window over tables", "none of them has an event time", "no window, or a stream"
        )
    return clause or _grouped_window(calls[0], streams)


def _grouped_window(call: exp.Expr, streams: Mapping[str, str]) -> Window:
    """Read window(time, ...) of a join query; `streams` has each stream's event time by alias."""
    subject, time = call.expressions[0], next(iter(streams.values()))
    is_event_time = isinstance(subject, exp.Column) and {subject.name.lower()} == {
        name.lower() for name in streams.values()
    }
    qualified = subject.table if isinstance(subject, exp.Column) else ""
    if not is_event_time:
        raise QueryError(
            f"window({canonical_sql(subject)}, ...)",
            "a window cuts every stream of the query by its event time: "
            + ", ".join(f"{alias}.{name}" for alias, name in streams.items()),
            f"window({time}, ...)" if len(set(streams.values())) == 1 else "[RANGE r SLIDE s]",
        )
    if qualified and (len(streams) > 1 or qualified.lower() not in streams):
        raise QueryError(
            f"window({canonical_sql(subject)}, ...) cuts one of several streams",
            "every stream of the query is cut alike: rows join within a window",
            f"window({time}, ...) without the alias; sketches.relation(...) for what stays whole",
        )
    return parse_window(call, time)
