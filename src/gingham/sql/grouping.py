"""The keys of GROUP BY: numbers and aliases stand for items of SELECT, ALL for several."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gingham.aggregates.registry import is_aggregate
from gingham.core.errors import QueryError
from gingham.sql.read_expression import calls
from gingham.sql.statement import Item, Span, Statement

# Whether some relation of the query has a column of this name.
Reaches = Callable[[str], bool]


def grouping_keys(statement: Statement, reaches: Reaches) -> list[Span]:
    """The tokens of each key of GROUP BY; those of a SELECT item where a key refers to one."""
    spans = list(statement.keys)
    _refuse_grouping_sets(statement, spans)
    if len(spans) == 1 and _is_all(statement, spans[0], reaches):
        spans = [item.span for item in statement.items if _is_key(statement, item)]
    return [_select_item(statement, span, reaches) for span in spans]


def _refuse_grouping_sets(statement: Statement, spans: Iterable[Span]) -> None:
    """Raise for ROLLUP, CUBE and GROUPING SETS."""
    tokens = statement.tokens
    for span in spans:
        first, after = tokens[span.low].upper, tokens[span.low + 1]
        last = [tokens[i].upper for i in range(span.low, span.high)]
        if (
            (first in ("ROLLUP", "CUBE") and after.text == "(")
            or (first == "GROUPING" and after.upper == "SETS")
            or last[-2:] in (["WITH", "ROLLUP"], ["WITH", "CUBE"])
        ):
            raise QueryError(
                "ROLLUP, CUBE or GROUPING SETS",
                "a query has one set of keys",
                "one query per set of keys; they are shared anyway",
            )


def _is_all(statement: Statement, span: Span, reaches: Reaches) -> bool:
    """Whether GROUP BY has the word ALL alone, and no column of that name."""
    alone = span.high - span.low == 1
    return alone and statement.tokens[span.low].upper == "ALL" and not reaches("all")


def _is_key(statement: Statement, item: Item) -> bool:
    """Whether GROUP BY ALL takes an item for a key: nothing in it is an aggregate."""
    found = calls(statement.tokens, item.span)
    reads = any(statement.tokens[i].is_name for i in range(item.span.low, item.span.high))
    return reads and not any(is_aggregate(call.name) for call in found)


def _select_item(statement: Statement, span: Span, reaches: Reaches) -> Span:
    """The SELECT item that a number or alias in GROUP BY refers to; else the span itself."""
    items, token = statement.items, statement.tokens[span.low]
    if span.high - span.low != 1:
        return span
    if token.kind == "number" and token.text.isdigit():
        if not 1 <= int(token.text) <= len(items):
            raise QueryError(
                f"GROUP BY {token.text}",
                f"the SELECT list has {len(items)} items",
                "the number of one of them, or its expression",
            )
        return items[int(token.text) - 1].span
    # A column comes before an alias.
    if token.is_name and not reaches(token.name):
        named = [i for i in items if i.alias and i.alias.lower() == token.name.lower()]
        return named[0].span if named else span
    return span
