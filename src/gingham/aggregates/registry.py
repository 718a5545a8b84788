"""Which family serves which function."""

from __future__ import annotations

from gingham.aggregates.approximate import ApproxCountDistinct, ApproxPercentile
from gingham.aggregates.base import Aggregate, Call
from gingham.aggregates.bits import BitAnd, BitOr, BitXor
from gingham.aggregates.counts import Count, CountIf
from gingham.aggregates.extrema import BoolAnd, BoolOr, Max, MaxBy, Min, MinBy
from gingham.aggregates.filters import BitmapAnd, BitmapOfPositions, BitmapOr, CountMin
from gingham.aggregates.moments import Comoment, Moment
from gingham.aggregates.ranked import FirstBy, LastBy
from gingham.aggregates.sums import Avg, Sum
from gingham.core.errors import QueryError

_FAMILIES: dict[str, type[Aggregate]] = {
    "count": Count,
    "count_if": CountIf,
    "sum": Sum,
    **dict.fromkeys(("avg", "mean"), Avg),
    "min": Min,
    "max": Max,
    "min_by": MinBy,
    "max_by": MaxBy,
    **dict.fromkeys(("bool_and", "every"), BoolAnd),
    **dict.fromkeys(("bool_or", "some", "any"), BoolOr),
    "bit_and": BitAnd,
    "bit_or": BitOr,
    "bit_xor": BitXor,
    **dict.fromkeys(Moment.FUNCTIONS, Moment),
    **dict.fromkeys(Comoment.FUNCTIONS, Comoment),
    "approx_count_distinct": ApproxCountDistinct,
    **dict.fromkeys(("approx_percentile", "percentile_approx"), ApproxPercentile),
    "bitmap_construct_agg": BitmapOfPositions,
    "bitmap_or_agg": BitmapOr,
    "bitmap_and_agg": BitmapAnd,
    "count_min_sketch": CountMin,
}
# With a third argument: so many values in place of one.
_LIMITED: dict[str, type[Aggregate]] = {"min_by": FirstBy, "max_by": LastBy}

# Functions whose arguments are literals from a place on: they decide what partial results are.
LITERAL_FROM = {
    **dict.fromkeys(("approx_percentile", "percentile_approx", "approx_count_distinct"), 1),
    "count_min_sketch": 1,
    **dict.fromkeys(("min_by", "max_by"), 2),
}

# Aggregates of Spark that cannot be shared: the reason, and what to use instead.
_REFUSED: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        ("collect_list", "collect_set", "array_agg", "listagg", "string_agg"),
        (
            "its result grows with the rows, so partial results are as large as the input",
            "count, approx_count_distinct, min, max, min_by or max_by",
        ),
    ),
    **dict.fromkeys(
        ("first", "last", "first_value", "last_value", "any_value"),
        (
            "its answer depends on the order in which Spark reads the rows",
            "min_by(x, ts) or max_by(x, ts)",
        ),
    ),
    **dict.fromkeys(
        ("percentile", "median", "percentile_cont", "percentile_disc", "mode"),
        ("the exact answer needs every value of the window", "approx_percentile(x, 0.5)"),
    ),
    **dict.fromkeys(
        ("skewness", "kurtosis"),
        ("Spark offers no partial result for third and fourth moments", "var_samp or stddev"),
    ),
    **dict.fromkeys(
        ("grouping", "grouping_id"),
        ("grouping sets are not shared", "one query per grouping"),
    ),
}


def supported() -> tuple[str, ...]:
    """The functions that can be shared, by name."""
    return tuple(sorted(_FAMILIES))


def known(function: str) -> bool:
    """Tell whether this is the name of an aggregate, shared or not."""
    return function in _FAMILIES or function in _REFUSED


def refusal(function: str) -> QueryError | None:
    """Why an aggregate cannot be shared; None if it can."""
    if function in _FAMILIES:
        return None
    why, instead = _REFUSED.get(
        function,
        (
            "Gingham does not know how to merge its partial results",
            "one of " + ", ".join(supported()),
        ),
    )
    return QueryError(f"{function} cannot be shared", why, instead)


def bind(call: Call) -> Aggregate:
    """The aggregate that computes a call."""
    refused = refusal(call.function)
    if refused:
        raise refused
    if len(call.arguments) == 3 and call.function in _LIMITED:
        return _LIMITED[call.function](call)
    return _FAMILIES[call.function](call)
