"""What Spark compares: the text of a query over stand-ins, and what was understood of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gingham.core.names import quoted
from gingham.sql.from_clause import FromClause, StandIn
from gingham.sql.statement import Span, Statement
from gingham.sql.windows import WindowCall, window_calls


class Comparison(NamedTuple):
    """Two statements over stand-ins that Spark must find to be the same, and so with windows."""

    written: str  # the user's text
    check: str  # what was understood
    view: str = ""  # the stand-in of the stream whose time windows cut; empty without windows
    windows: tuple[WindowCall, ...] = ()  # as written, and as understood


def written_over(
    statement: Statement,
    source: FromClause,
    stand_in: StandIn,
    marker: str,
    more: Iterable[tuple[int, int, str]] = (),
) -> str:
    """The user's text over stand-ins, with the SQL `marker` in place of window(...).

    `more` are other parts of the text to replace: where they start and stop, and what comes there.
    """
    changes = [*more]
    for relation in source.relations:
        view = quoted(stand_in(relation.name))
        alias = "" if relation.alias else f" AS {quoted(relation.name)}"
        changes.append((relation.start, relation.stop, view + alias))
    for call in window_calls(statement, Span(0, len(statement.tokens) - 1)):
        first, last = statement.tokens[call.first], statement.tokens[call.closed]
        changes.append((first.start, last.stop, marker))
    if source.window is not None:
        changes.append((*source.window_span, ""))
        key = ", " if statement.grouped else " GROUP BY "
        changes.append((statement.keys_end, statement.keys_end, key + marker))
    return statement.changed(changes)


def alias_name(item: int) -> str:
    """The alias of an item in the statement that is compared, which no column has."""
    return f"__alias_{item}"
