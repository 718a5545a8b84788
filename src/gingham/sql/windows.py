"""Windows as queries write them: `window(ts, range, slide, offset)`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from gingham.core import names
from gingham.core.errors import QueryError
from gingham.core.names import quoted
from gingham.core.time import parse_duration
from gingham.logical.window import Window
from gingham.sql.expression import Replaced
from gingham.sql.read_expression import Call, calls
from gingham.sql.statement import NOTHING, Span, Statement, split

_STRUCT = f"named_struct('start', {names.WINDOW_START}, 'end', {names.WINDOW_END})"
# The column of stand-ins that window(...) becomes; the second one if the first is taken.
_MARKERS = ("window", "__window")
_BOUNDS = {"start": names.WINDOW_START, "end": names.WINDOW_END}


class WindowCall(NamedTuple):
    """A call of window(...) in a query, and how Spark is asked what its lengths mean.

    `lengths` are pairs of tumbling windows, one for each length: as written and as understood. A
    sliding one would be analysed as many times as its windows overlap.
    """

    window: Window
    lengths: tuple[tuple[str, str], ...]


def window_marker(reaches: Callable[[str], bool]) -> str:
    """The column of stand-ins that window(...) becomes: one of a name that nothing `reaches`."""
    return next(marker for marker in _MARKERS if not reaches(marker))


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


def window_subject(statement: Statement, call: Call) -> Span:
    """The first argument of a `window(...)` call: what is cut into windows."""
    return next(split(statement.tokens, Span(call.opened + 1, call.closed), ","), NOTHING)


def read_window(statement: Statement, call: Call, time: str) -> WindowCall:
    """The window of a `window(...)` call over the event time, which is the column `time`."""
    tokens = statement.tokens
    lengths = list(split(tokens, Span(call.opened + 1, call.closed), ","))[1:]
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
    pairs = [
        (statement.slice(length), _quoted_micros(number))
        for length, number in zip(lengths, micros, strict=True)
    ]
    tumbling = [[pair] for pair in pairs[:2]]
    if len(pairs) > 2:
        tumbling.append([pairs[1], pairs[1], pairs[2]])
    return WindowCall(window, tuple(_calls_sql(time, each) for each in tumbling))


def _calls_sql(time: str, lengths: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Two calls of Spark's window(...): with lengths as written, and as understood."""
    written, understood = (", ".join(of) for of in zip(*lengths, strict=True))
    return f"window({quoted(time)}, {written})", f"window({quoted(time)}, {understood})"


def _quoted_micros(length: int) -> str:
    """A length in microseconds as Spark reads it."""
    return f"'{length} microseconds'"


def window_reference(marker: str) -> Replaced:
    """The struct of a window's bounds, which is compared as the SQL of a column of stand-ins."""
    return Replaced(_STRUCT, marker, "window")


def bound_reference(parts: Sequence[str], marker: str) -> Replaced | None:
    """What `window`, `window.start` and `window.end` refer to; None for any other name."""
    if parts[0].lower() != "window" or len(parts) > 2:
        return None
    if len(parts) == 1:
        return window_reference(marker)
    bound = _BOUNDS.get(parts[1].lower())
    return Replaced(bound, f"{marker}.{quoted(parts[1])}", parts[1].lower()) if bound else None


def two_windows_error() -> QueryError:
    """The error of a query with a second window."""
    return QueryError("two windows", "a query has one window", "two queries, one for each window")


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
