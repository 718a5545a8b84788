"""The one registry: which class computes which SQL function, and why others are refused."""

from __future__ import annotations

from dataclasses import replace

from gingham.aggregates.approximate import ApproxCountDistinct, ApproxPercentile
from gingham.aggregates.base import INTERVAL, Aggregate, Call, is_plain
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
    **dict.fromkeys(("sum", "try_sum"), Sum),
    **dict.fromkeys(("avg", "mean", "try_avg"), Avg),
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
# Functions of pairs that are other aggregates over the pairs without NULL.
_OF_PAIRS = ("regr_count", "regr_avgx", "regr_avgy")
# Functions of numbers that read strings as doubles, as Spark does.
_OF_NUMBERS = frozenset({
    "sum", "try_sum", "avg", "mean", "try_avg", "regr_avgx", "regr_avgy",
    *Moment.FUNCTIONS, *Comoment.FUNCTIONS,
})  # fmt: skip
_STRINGS = ("string", "char", "varchar", "void")
# Functions that give a list of values if they have a third argument, a limit.
_WITH_LIMIT: dict[str, type[Aggregate]] = {"min_by": FirstBy, "max_by": LastBy}

# By function: the argument that it puts in order.
_ORDERED = {
    **dict.fromkeys(("min", "max", "approx_percentile", "percentile_approx"), 0),
    **dict.fromkeys(("min_by", "max_by"), 1),
}

# By function: the first argument that must be a literal, because it decides what partials are.
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
# Aggregates of Spark whose partial results are unknown here.
_NOT_MERGED = frozenset({
    "approx_top_k", "approx_top_k_accumulate", "approx_top_k_combine", "collect_union",
    "histogram_numeric", "hll_sketch_agg", "hll_union_agg", "kll_merge_agg_bigint",
    "kll_merge_agg_double", "kll_merge_agg_float", "kll_sketch_agg_bigint",
    "kll_sketch_agg_double", "kll_sketch_agg_float", "measure", "schema_of_variant_agg",
    "theta_intersection_agg", "theta_sketch_agg", "theta_union_agg",
    "tuple_intersection_agg_double", "tuple_intersection_agg_integer", "tuple_sketch_agg_double",
    "tuple_sketch_agg_integer", "tuple_union_agg_double", "tuple_union_agg_integer",
    "vector_avg", "vector_sum",
})  # fmt: skip


def supported() -> tuple[str, ...]:
    """The names of all aggregate functions that can be shared, sorted."""
    return tuple(sorted((*_FAMILIES, *_OF_PAIRS)))


def is_aggregate(function: str) -> bool:
    """Tell whether a name is that of an aggregate function, one that can be shared or not."""
    known = (_FAMILIES, _OF_PAIRS, _REFUSED, _NOT_MERGED)
    return any(function in names for names in known)


def reads_as_double(function: str, kind: str) -> bool:
    """Tell whether an aggregate function casts an argument of this Spark type to a double.

    >>> reads_as_double("sum", "string"), reads_as_double("sum", "int")
    (True, False)
    """
    return function in _OF_NUMBERS and kind.startswith(_STRINGS)


def refusal(function: str) -> QueryError | None:
    """The error that says why an aggregate function cannot be shared; None if it can."""
    if function in _FAMILIES or function in _OF_PAIRS:
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
    """Find the aggregate class that computes a function call; raise if there is none."""
    refused = refusal(call.function)
    if refused:
        raise refused
    _refuse_types(call)
    if call.function in _OF_PAIRS:
        call = _of_pairs(call)
    if len(call.arguments) == 3 and call.function in _WITH_LIMIT:
        if "struct<" in call.types[0]:
            raise QueryError(
                f"{call.sql} cannot be shared",
                "a list of structs cannot be fetched from Spark",
                "a field of it, or its text: to_json(...)",
            )
        return _WITH_LIMIT[call.function](call)
    return _FAMILIES[call.function](call)


def _of_pairs(call: Call) -> Call:
    """The same aggregate of one argument: it counts or averages pairs without NULL."""
    if call.function == "regr_count":
        return replace(call, function="count")
    y, x = call.arguments
    own, other, kind = (
        (x, y, call.types[1]) if call.function == "regr_avgx" else (y, x, call.types[0])
    )
    known = f"CASE WHEN ({other}) IS NOT NULL THEN {own} END"
    return replace(call, function="avg", arguments=(known,), types=(kind,))


def _refuse_types(call: Call) -> None:
    """Raise for arguments whose values are compared in another way than here."""
    ordered = _ORDERED.get(call.function)
    for i, (argument, kind) in enumerate(zip(call.arguments, call.types, strict=True)):
        odd = ("collate" in kind or "variant" in kind) and call.function != "count"
        if odd or (i == ordered and not is_plain(kind) and kind != INTERVAL):
            raise QueryError(
                f"{call.sql} cannot be shared",
                f"values of {argument} are compared by the rules of {kind}",
                "a field, an element or a cast of it: CAST(... AS STRING)",
            )
