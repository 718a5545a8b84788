"""Windows as queries write them: `window(ts, range, slide, offset)`."""

from __future__ import annotations

from sqlglot import exp

from gingham.core import names
from gingham.core.errors import QueryError
from gingham.core.time import parse_duration
from gingham.estimates.planning.tree_text import WINDOW_CALL, canonical_sql, column_node
from gingham.logical.window import Window


def parse_window(call: exp.Expr, time: str) -> Window:
    """The window of a `window(...)` call; errors show what to write with the column `time`."""
    lengths = call.expressions[1:]
    if not lengths or len(lengths) > 3:
        raise QueryError(
            f"window with {len(lengths)} lengths",
            "a window has a range, a slide and an offset",
            f"window({time}, '10 minutes'[, '5 minutes'[, '1 minute']])",
        )
    micros = [parse_duration(_duration_text(n)) for n in lengths]
    range_, slide = micros[0], micros[1] if len(micros) > 1 else micros[0]
    window = Window.starting_at(range_, slide, micros[2] if len(micros) > 2 else 0)
    if slide > range_:
        raise QueryError(
            "a window whose slide is longer than its range",
            "Spark's window(...) does not allow rows that belong to no window",
            "[RANGE r SLIDE s] after the stream's name, which does",
        )
    return window


def is_window_call(node: exp.Expr) -> bool:
    """True for the SQL call `window(...)`, which groups rows by windows."""
    return isinstance(node, exp.Anonymous) and node.name == WINDOW_CALL


def window_bound_node(node: exp.Expr) -> exp.Expr | None:
    """The output columns that `window`, `window.start` or `window.end` become; else None."""
    start, end = column_node(names.WINDOW_START), column_node(names.WINDOW_END)
    if isinstance(node, exp.Column) and node.table.lower() == "window":
        return {"start": start, "end": end}.get(node.name.lower())
    if is_window_call(node) or (isinstance(node, exp.Column) and node.name.lower() == "window"):
        pairs = [exp.Literal.string("start"), start, exp.Literal.string("end"), end]
        return exp.Anonymous(this="named_struct", expressions=pairs)
    return None


def two_windows_error() -> QueryError:
    """The error of a query with a second window."""
    return QueryError("two windows", "a query has one window", "two queries, one for each window")


def _duration_text(node: exp.Expr) -> str:
    """The text of a literal duration such as '10 minutes' or INTERVAL 10 MINUTES."""
    if isinstance(node, exp.Literal):
        return node.name
    if isinstance(node, exp.Interval):
        return canonical_sql(node).lower().replace("'", "")
    raise QueryError(
        f"{canonical_sql(node)} as the length of a window",
        "lengths must be known when the query is added",
        "a literal, for example '10 minutes'",
    )
