"""SQL text of joins to syntax trees, with positions for errors; and back to a canonical text."""

from __future__ import annotations

import re

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

from gingham.core.errors import QueryError, at
from gingham.core.time import parse_duration
from gingham.logical.window import Window

_STRING_OR_COMMENT = re.compile(
    r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|--[^\n]*|/\*.*?\*/", re.DOTALL
)
_RANGE_OR_SLIDE = re.compile(r"\[\s*(RANGE|SLIDE)\b([^\]]*)\]?", re.IGNORECASE)
_RANGE_CLAUSE = re.compile(
    r"\[\s*RANGE\s+(?P<range>'[^']*'|[\w. ]+?)\s+SLIDE\s+(?P<slide>'[^']*'|[\w. ]+?)\s*\]",
    re.IGNORECASE,
)


# sqlglot reads `window` after GROUP BY as the start of a WINDOW clause, so calls of it are renamed,
# to a name of the same length: positions in the text stay what they are.
WINDOW_CALL = "wind0w"
_WINDOW_NAME = re.compile(r"\bwindow(?=\s*\()", re.IGNORECASE)


def canonical_sql(node: exp.Expr) -> str:
    """The canonical SQL of a syntax tree: equal texts mean the same."""
    return node.sql(dialect="spark", normalize_functions="lower", comments=False)


def parse_expression(text: str) -> exp.Expr:
    """The syntax tree of an expression in canonical SQL."""
    return _with_limits(sqlglot.parse_one(text, read="spark"))


def parse_select(text: str) -> exp.Select:
    """The syntax tree of one SELECT; raises an error with its position for any other text."""
    visible = _STRING_OR_COMMENT.sub(lambda m: "~" * len(m[0]), text)
    body = text
    for call in _WINDOW_NAME.finditer(visible):
        body = body[: call.start()] + WINDOW_CALL + body[call.end() :]
    try:
        trees = [tree for tree in sqlglot.parse(body, read="spark") if tree is not None]
    except ParseError as error:
        details = error.errors[0] if error.errors else {}
        position = _position(
            text, details.get("line"), details.get("col"), details.get("highlight")
        )
        what = f"the SQL does not parse at {at(text, position)}"
        why = str(details.get("description") or error).rstrip(".")
        raise QueryError(what, why[0].lower() + why[1:], _SHAPE) from None
    except SqlglotError as error:
        raise QueryError("the SQL does not parse", str(error).splitlines()[0], _SHAPE) from None
    if len(trees) != 1:
        raise QueryError(f"{len(trees)} statements", "a query is one SELECT", _SHAPE)
    if not isinstance(trees[0], exp.Select):
        kind = trees[0].key.upper()
        raise QueryError(f"a {kind} instead of a SELECT", "a query is one SELECT", _SHAPE)
    _with_limits(trees[0])
    return trees[0]


def _with_limits(tree: exp.Expr) -> exp.Expr:
    """Keep the third argument of max_by and min_by, which sqlglot omits when it writes SQL."""

    def with_limit(node: exp.Expr) -> exp.Expr:
        """A max_by or min_by call with a limit, as a plain function call that keeps it."""
        limit = node.args.get("count")
        if limit is None or not isinstance(node, exp.ArgMax | exp.ArgMin):
            return node
        name = "max_by" if isinstance(node, exp.ArgMax) else "min_by"
        return exp.Anonymous(this=name, expressions=[node.this, node.expression, limit])

    return tree.transform(with_limit, copy=False)


_SHAPE = (
    "SELECT keys, aggregates FROM stream WHERE predicate GROUP BY keys, window(ts, '10 minutes')"
)


def cut_range_clause(text: str) -> tuple[str, Window | None]:
    """Blank out `[RANGE r SLIDE s]`, and give the window it asks for; positions stay the same.

    >>> cut_range_clause("SELECT count(*) FROM t [RANGE '2 s' SLIDE '1 s'] WHERE a")[1]
    Window(range=2000000, slide=1000000, start=0)
    """
    visible = _STRING_OR_COMMENT.sub(lambda m: "~" * len(m[0]), text)
    clauses = list(_RANGE_OR_SLIDE.finditer(visible))
    if not clauses:
        return text, None
    if len(clauses) > 1:
        raise QueryError(
            f"two windows: a second [RANGE ...] at {at(text, clauses[1].start())}",
            "a query has one window",
            "two queries, one for each window",
        )
    start, stop = clauses[0].span()
    clause = _RANGE_CLAUSE.fullmatch(text[start:stop])
    if clause is None:
        raise QueryError(
            f"an incomplete window clause at {at(text, start)}",
            "a window needs its length and how often it is reported: RANGE and SLIDE",
            "[RANGE '12 min' SLIDE '5 min']",
        )
    window = Window.ending_at(
        parse_duration(clause["range"].strip("'")), parse_duration(clause["slide"].strip("'"))
    )
    return text[:start] + " " * (stop - start) + text[stop:], window


def _position(text: str, line: int | None, column: int | None, highlight: str | None) -> int:
    """The offset in the text of what sqlglot highlights in an error."""
    if line is None or column is None:
        return 0
    starts = [0, *(m.end() for m in re.finditer("\n", text))]
    end = starts[min(line, len(starts)) - 1] + column
    return max(0, end - len(highlight or ""))


def column_node(name: str) -> exp.Column:
    """The syntax node of a column, quoted where its name needs it."""
    return exp.column(exp.to_identifier(name, quoted=not re.fullmatch(r"[A-Za-z_]\w*", name)))


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
        if target is not None and not isinstance(target, exp.AggFunc):
            return target
    return node
