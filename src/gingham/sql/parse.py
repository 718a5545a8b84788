"""SQL text to a logical query, or to an error that says what to write instead."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from gingham.aggregates.registry import is_aggregate, refusal
from gingham.core import names
from gingham.core.errors import QueryError
from gingham.logical.catalog import Catalog
from gingham.logical.predicate import TRUE, Predicate, conjunction
from gingham.logical.query import Output, Query, Selected
from gingham.logical.window import Window
from gingham.sql.predicates import to_predicate
from gingham.sql.scope import Scope, column_node, open_scope
from gingham.sql.sql_text import canonical_sql, cut_range_clause, parse_select
from gingham.sql.table_joins import parse_joins
from gingham.sql.window_clause import (
    is_window_call,
    parse_window,
    two_windows_error,
    window_bound_node,
)

_NOT_SHARED: dict[str, tuple[str, str]] = {
    # parts of a SELECT: why they are refused, what to write instead
    "with_": ("a CTE would be a query of its own", "the query written in one SELECT"),
    "distinct": ("every group gives one row per window already", "SELECT without DISTINCT"),
    "order": ("answers are sets of rows", "an ORDER BY on the answer: answers[name].orderBy(...)"),
    "limit": ("answers are sets of rows", "a limit on the answer: answers[name].limit(...)"),
    "offset": ("answers are sets of rows", "a filter on the answer"),
    "sort": ("answers are sets of rows", "an ORDER BY on the answer"),
    "qualify": ("window functions cannot be shared", "HAVING on an aggregate"),
    "laterals": ("a row would become many", "the explode in the stream's own DataFrame"),
    "windows": ("window functions cannot be shared", "an aggregate over window(...)"),
    "pivots": ("a pivot is many aggregates", "one aggregate with FILTER (WHERE ...) per column"),
}
_NON_DETERMINISTIC = frozenset({
    "rand", "random", "randn", "uuid", "shuffle", "monotonically_increasing_id", "uniform",
    "spark_partition_id", "input_file_name", "randstr",
})  # fmt: skip


def parse(text: str, name: str, catalog: Catalog) -> tuple[Query, dict[str, str]]:
    """Parse the SQL text of a query; also give the types of the columns that it reads, by name."""
    body, range_clause = cut_range_clause(text)
    select = parse_select(body)
    refuse_what_cannot_be_shared(select)
    scope, joins = open_scope(select, catalog)
    where = select.args.get("where")
    table_joins, condition = parse_joins(joins, where.this if where else None, scope, catalog)
    where_node = scope.resolve(condition) if condition is not None else None
    where_predicate: Predicate = to_predicate(where_node) if where_node is not None else TRUE
    where_sql = canonical_sql(where_node) if where_node is not None else "TRUE"

    grouped = grouping_expressions(select)
    windows = [node for node in grouped if is_window_call(node)]
    window = _only_window(windows, range_clause, scope)
    key_nodes = [node for node in grouped if not is_window_call(node)]
    keys = tuple(canonical_sql(scope.resolve(node)) for node in key_nodes)
    collector = _AggregateCollector(scope, keys, where_predicate, where_sql)
    outputs = [
        Output(item.alias_or_name or canonical_sql(item), collector.over_aggregates(item))
        for item in select.expressions
    ]
    having = select.args.get("having")
    having_sql = collector.over_aggregates(having.this) if having else None
    return (
        Query(
            name=name,
            text=text.strip(),
            stream=scope.stream.name,
            joins=table_joins,
            where=where_predicate,
            where_sql=where_sql,
            keys=keys,
            window=window,
            aggregates=tuple(collector.aggregates),
            outputs=_with_all_keys(outputs, [_key_name(node) for node in key_nodes]),
            having=having_sql,
            columns=frozenset(scope.columns | {scope.stream.time}),
        ),
        {**scope.types, scope.stream.time: scope.stream.columns[scope.stream.time]},
    )


class _AggregateCollector:
    """Collects the aggregate calls of SELECT and HAVING, and replaces them by column names.

    `sum(a) / count(*)` becomes `__aggregate_0 / __aggregate_1`; keys become `__key_0`, ...
    """

    def __init__(
        self, scope: Scope, keys: tuple[str, ...], where: Predicate, where_sql: str
    ) -> None:
        self.scope = scope
        self.keys = {key: names.key(i) for i, key in enumerate(keys)}
        self.where = where
        self.where_sql = where_sql
        self.aggregates: list[Selected] = []

    def over_aggregates(self, item: exp.Expr) -> str:
        """The SQL of a SELECT item over `__key_0`, `__aggregate_0`, `window_start`, ..."""
        node = item.this if isinstance(item, exp.Alias) else item
        return canonical_sql(self._replace(node.copy()))

    def _replace(self, node: exp.Expr) -> exp.Expr:
        """Replace a syntax node that is a key, an aggregate or a window bound by its column."""
        bound = window_bound_node(node)
        if bound is not None:
            return bound
        if _is_aggregate(node):
            return column_node(self._aggregate_column(node))
        if not isinstance(node, exp.Literal):
            key = self._key_column(node)
            if key is not None:
                return column_node(key)
        if isinstance(node, exp.Column):
            raise QueryError(
                f"{canonical_sql(node)} is neither grouped by nor aggregated",
                "a group may hold many values of it",
                f"GROUP BY {canonical_sql(node)}, ... or max({canonical_sql(node)})",
            )
        for argument, child in list(node.args.items()):
            if isinstance(child, exp.Expr):
                node.set(argument, self._replace(child))
            elif isinstance(child, list):
                node.set(
                    argument,
                    [self._replace(c) if isinstance(c, exp.Expr) else c for c in child],
                )
        return node

    def _key_column(self, node: exp.Expr) -> str | None:
        """The column of the key that a node is, for example `__key_0`; None if it is no key."""
        try:
            return self.keys.get(canonical_sql(self.scope.resolve(node.unnest())))
        except QueryError:
            if isinstance(node, exp.Column):
                raise
            return None

    def _aggregate_column(self, node: exp.Expr) -> str:
        """The column of an aggregate call, for example `__aggregate_0`; equal calls share one."""
        call, condition = node, None
        if isinstance(node, exp.Filter):
            call, condition = node.this, self.scope.resolve(node.expression.this)
        function, _, rest = canonical_sql(self.scope.resolve(call)).partition("(")
        function = function.lower()
        if function != "count" and not rest.rstrip(")"):
            raise QueryError(
                f"{function}() without an argument", "it has nothing to aggregate", f"{function}(x)"
            )
        arguments = tuple(canonical_sql(self.scope.resolve(a)) for a in _arguments(call))
        selected = Selected(
            function=function,
            arguments=arguments,
            where=self.where,
            where_sql=self.where_sql,
        )
        if condition is not None:
            selected = replace(
                selected,
                where=conjunction(self.where, to_predicate(condition)),
                filter_sql=canonical_sql(condition),
            )
        if selected not in self.aggregates:
            self.aggregates.append(selected)
        return names.aggregate(self.aggregates.index(selected))


def refuse_what_cannot_be_shared(select: exp.Select) -> None:
    """Raise for SQL clauses and functions that a shared plan cannot compute."""
    for part, (why, instead) in _NOT_SHARED.items():
        if select.args.get(part):
            raise QueryError(f"{part.rstrip('_').upper()} in a query", why, instead)
    for node in select.walk():
        if isinstance(node, exp.Subquery | exp.Exists) or (
            isinstance(node, exp.Select) and node is not select
        ):
            raise QueryError(
                f"a subquery: {canonical_sql(node)[:60]}",
                "it would be a query of its own, run for every batch",
                "a registered table and a join: loom.table(name, df, key=...)",
            )
        if isinstance(node, exp.Window):
            raise QueryError(
                f"a window function: {canonical_sql(node)[:60]}",
                "it needs the rows of a partition in order, which shards do not keep",
                "an aggregate over window(ts, ...)",
            )
        if isinstance(node, exp.Distinct) and node.parent is not select:
            raise QueryError(
                f"an exact DISTINCT: {canonical_sql(node.parent or node)[:60]}",
                "distinct values of two slices cannot be merged from counts",
                "approx_count_distinct(x)",
            )
        if isinstance(node, exp.Func):
            function = canonical_sql(node).partition("(")[0].lower()
            if function in _NON_DETERMINISTIC:
                raise QueryError(
                    f"{function}() in a query",
                    "it gives another value each time, so no two queries could share it",
                    "a column of the stream's own DataFrame that holds the value",
                )


def grouping_expressions(select: exp.Select) -> list[exp.Expr]:
    """The expressions of GROUP BY; `GROUP BY 2` and `GROUP BY alias` give the SELECT item."""
    group = select.args.get("group")
    if group is not None and any(
        group.args.get(k) for k in ("cube", "rollup", "grouping_sets", "all")
    ):
        raise QueryError(
            "grouping sets, ROLLUP, CUBE or GROUP BY ALL",
            "a query has one set of keys",
            "one query per set of keys; they are shared anyway",
        )
    return [_select_item(node, select.expressions) for node in (group.expressions if group else ())]


def _select_item(node: exp.Expr, items: list[exp.Expr]) -> exp.Expr:
    """The SELECT item that a number or alias in GROUP BY refers to; else the node itself."""
    if isinstance(node, exp.Literal) and not node.is_string and 1 <= int(node.name) <= len(items):
        return items[int(node.name) - 1].unalias()
    if isinstance(node, exp.Column) and not node.table:
        aliases = {item.alias.lower(): item.this for item in items if item.alias}
        target = aliases.get(node.name.lower())
        if target is not None and not _is_aggregate(target):
            return target
    return node


def _only_window(windows: list[exp.Expr], clause: Window | None, scope: Scope) -> Window:
    """The one window of a query, from `window(...)` calls in GROUP BY or a [RANGE ...] clause."""
    count = len(windows) + (clause is not None)
    time = scope.stream.time
    if count == 0:
        raise QueryError(
            "no window",
            "an aggregate over an endless stream needs one",
            f"GROUP BY ..., window({time}, '10 minutes') or FROM {scope.stream.name} "
            "[RANGE '10 min' SLIDE '5 min']",
        )
    if count > 1:
        raise two_windows_error()
    return clause or _window(windows[0], scope)


def _window(call: exp.Expr, scope: Scope) -> Window:
    """The window of a `window(...)` call, which must be over the event time of the stream."""
    subject, time = call.expressions[0], scope.stream.time
    if canonical_sql(scope.resolve(subject)).lower() != canonical_sql(column_node(time)).lower():
        raise QueryError(
            f"window({canonical_sql(subject)}, ...)",
            f"the event time of {scope.stream.name} is {time}",
            f"window({time}, ...)",
        )
    return parse_window(call, time)


def _is_aggregate(node: exp.Expr) -> bool:
    """True for the call of an aggregate function; raises if that is one that is refused."""
    if isinstance(node, exp.Filter):
        return True
    if isinstance(node, exp.AggFunc):
        function = canonical_sql(node).partition("(")[0].lower()
    elif isinstance(node, exp.Anonymous):
        function = node.name.lower()
        if not is_aggregate(function):
            return False
    elif isinstance(node, exp.Any):
        function = "any"
    else:
        return False
    refused = refusal(function)
    if refused:
        raise refused
    return True


def _arguments(call: exp.Expr) -> list[exp.Expr]:
    """The arguments of a SQL function call, in Spark's order."""
    if isinstance(call, exp.Anonymous):
        return call.expressions
    # Written out and read back, so that arguments come in the order of Spark's function.
    plain = exp.maybe_parse("f(" + canonical_sql(call).partition("(")[2], dialect="spark")
    return list(plain.expressions)


def _key_name(node: exp.Expr) -> str:
    """The name in the answer of a key that is not selected: its text in GROUP BY."""
    return node.name if isinstance(node, exp.Column) else canonical_sql(node)


def _with_all_keys(outputs: list[Output], keys: list[str]) -> tuple[Output, ...]:
    """The columns of the answer: keys that are not selected, then outputs; no name twice."""
    selected = {output.sql for output in outputs}
    hidden = [Output(k, names.key(i)) for i, k in enumerate(keys) if names.key(i) not in selected]
    everything = (*hidden, *outputs)
    bounds = (names.WINDOW_START, names.WINDOW_END)
    everything = tuple(o for o in everything if o.sql not in bounds or o.name not in bounds)
    seen: set[str] = set(bounds)
    for output in everything:
        if output.name.lower() in seen:
            raise QueryError(
                f"two columns named {output.name}",
                "an answer's columns have different names",
                f"an alias: ... AS {output.name}_2",
            )
        seen.add(output.name.lower())
    return everything
