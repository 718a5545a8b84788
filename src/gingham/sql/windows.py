"""Windows as queries write them: `window(ts, range, slide, offset)`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gingham.core import names
from gingham.core.errors import QueryError
from gingham.core.names import quoted
from gingham.core.time import parse_duration
from gingham.logical.window import Window
from gingham.sql.expression import Replaced
from gingham.sql.read_expression import Call, calls
from gingham.sql.scope import Scope
from gingham.sql.statement import Span, Statement, split

_STRUCT = f"named_struct('start', {names.WINDOW_START}, 'end', {names.WINDOW_END})"
_BOUNDS = {"start": names.WINDOW_START, "end": names.WINDOW_END}


class WindowCall(NamedTuple):
    """A call of window(...) in a query, with its lengths as written and as understood."""

    window: Window
    written: str
    understood: str


def window_calls(statement: Statement, span: Span) -> list[Call]:
    """The calls of window(...) in a range of tokens; raises for windows of other kinds."""
    found = list(calls(statement.tokens, span))
    for call in found:
        if call.name == "session_window":
            raise QueryError(
                f"a session_window at {statement.place(call.first)}",
                "its bounds depend on the rows of each group, so no slices can be shared",
                "window(...) with a fixed range",
            )
    return [call for call in found if call.name == "window"]


def read_window(statement: Statement, call: Call, scope: Scope) -> WindowCall:
    """The window of a `window(...)` call, which must be over the event time of the stream."""
    tokens, time = statement.tokens, scope.stream.time
    arguments = list(split(tokens, Span(call.opened + 1, call.closed), ","))
    subject, *lengths = arguments
    if not _is_event_time(statement, subject, scope):
        raise QueryError(
            f"window({statement.slice(subject)}, ...)",
            f"the event time of {scope.stream.name} is {time}",
            f"window({time}, ...)",
        )
    if not lengths or len(lengths) > 3:
        raise QueryError(
            f"window with {len(lengths)} lengths",
            "a window has a range, a slide and an offset",
            f"window({time}, '10 minutes'[, '5 minutes'[, '1 minute']])",
        )
    micros = [_micros(statement, length) for length in lengths]
    range_, slide = micros[0], micros[1] if len(micros) > 1 else micros[0]
    window = Window.starting_at(range_, slide, micros[2] if len(micros) > 2 else 0)
    if slide > range_:
        raise QueryError(
            "a window whose slide is longer than its range",
            "Spark's window(...) does not allow rows that belong to no window",
            "[RANGE r SLIDE s] after the stream's name, which does",
        )
    texts = [statement.slice(length) for length in lengths]
    return WindowCall(window, _call_sql(time, texts), _call_sql(time, map(_quoted_micros, micros)))


def _call_sql(time: str, lengths: Iterable[str]) -> str:
    """A call of Spark's window(...) with these lengths."""
    return f"window({quoted(time)}, {', '.join(lengths)})"


def _quoted_micros(length: int) -> str:
    """A length in microseconds as Spark reads it."""
    return f"'{length} microseconds'"


def window_reference(marker: str) -> Replaced:
    """The struct of a window's bounds, which is compared as the column `marker` of stand-ins."""
    return Replaced(_STRUCT, quoted(marker))


def bound_reference(parts: Sequence[str], marker: str) -> Replaced | None:
    """What `window`, `window.start` and `window.end` refer to; None for any other name."""
    if parts[0].lower() != "window" or len(parts) > 2:
        return None
    if len(parts) == 1:
        return window_reference(marker)
    bound = _BOUNDS.get(parts[1].lower())
    return Replaced(bound, f"{quoted(marker)}.{quoted(parts[1])}") if bound else None


def two_windows_error() -> QueryError:
    """The error of a query with a second window."""
    return QueryError("two windows", "a query has one window", "two queries, one for each window")


def _is_event_time(statement: Statement, subject: Span, scope: Scope) -> bool:
    """Whether the first argument of window(...) is the event time of the stream."""
    tokens = statement.tokens[subject.low : subject.high]
    if not tokens or not all(t.is_name for t in tokens[::2]) or len(tokens) % 2 == 0:
        return False
    column, fields = scope.resolve([token.name for token in tokens[::2]])
    return column.name == scope.stream.time and not fields


def _micros(statement: Statement, length: Span) -> int:
    """The microseconds of a length of a window: '10 minutes' or INTERVAL 10 MINUTES."""
    tokens = statement.tokens[length.low : length.high]
    if len(tokens) == 1 and tokens[0].kind == "string" and "\\" not in tokens[0].text:
        return parse_duration(tokens[0].text[1:-1])
    if tokens and tokens[0].upper == "INTERVAL":
        return parse_duration(statement.slice(length).replace("'", " "))
    raise QueryError(
        f"{statement.slice(length)} as the length of a window",
        "lengths must be known when the query is added",
        "a literal, for example '10 minutes'",
    )
