"""Functions that queries may call: by list, since queries may come from people who are not trusted.

Spark has functions that run any static method in the driver (`reflect`), or that tell about the
session, its files and its user. A function that is not listed here is refused, unless it was
registered in the session by its owner, or the loom was told to allow it.
"""

from __future__ import annotations

from collections.abc import Callable

from gingham.aggregates.registry import is_aggregate
from gingham.core.errors import QueryError
from gingham.sql.read_expression import calls
from gingham.sql.statement import Span, Statement

IsAllowed = Callable[[str], bool]

# Of the value of a row, or of constants, and of nothing else.
_OF_ROWS = frozenset({
    "abs", "acos", "acosh", "add_months", "aes_decrypt", "aggregate", "and",
    "approx_top_k_estimate", "array", "array_append", "array_compact", "array_contains",
    "array_distinct", "array_except", "array_insert", "array_intersect", "array_join",
    "array_max", "array_min", "array_position", "array_prepend", "array_remove", "array_repeat",
    "array_size", "array_sort", "array_union", "arrays_overlap", "arrays_zip", "ascii", "asin",
    "asinh", "assert_true", "atan", "atan2", "atanh", "base64", "between", "bigint", "bin",
    "binary", "bit_count", "bit_get", "bit_length", "bitmap_bit_position",
    "bitmap_bucket_number", "bitmap_count", "boolean", "bround", "btrim", "cardinality", "cast",
    "cbrt", "ceil", "ceiling", "char", "char_length", "character_length", "charindex", "chr",
    "coalesce", "collate", "collation", "concat", "concat_ws", "contains", "conv",
    "convert_timezone", "cos", "cosh", "cot", "crc32", "csc", "curdate", "current_date",
    "current_time", "current_timestamp", "current_timezone", "date", "date_add", "date_diff",
    "date_format", "date_from_unix_date", "date_part", "date_sub", "date_trunc", "dateadd",
    "datediff", "datepart", "day", "dayname", "dayofmonth", "dayofweek", "dayofyear", "decimal",
    "decode", "degrees", "div", "double", "e", "element_at", "elt", "encode", "endswith",
    "equal_null", "exists", "exp", "expm1", "extract", "factorial", "filter", "find_in_set",
    "flatten", "float", "floor", "forall", "format_number", "format_string", "from_base32",
    "from_csv", "from_json", "from_unixtime", "from_utc_timestamp", "get", "get_json_object",
    "getbit", "greatest", "hash", "hex", "hll_sketch_estimate", "hll_union", "hmac", "hour",
    "hypot", "if", "ifnull", "ilike", "in", "initcap", "instr", "int", "is_valid_utf8",
    "is_valid_variant", "is_variant_null", "isnan", "isnotnull", "isnull",
    "jaro_winkler_similarity", "json_array_length", "json_object_keys",
    "kll_sketch_get_n_bigint", "kll_sketch_get_n_double", "kll_sketch_get_n_float",
    "kll_sketch_get_quantile_bigint", "kll_sketch_get_quantile_double",
    "kll_sketch_get_quantile_float", "kll_sketch_get_rank_bigint", "kll_sketch_get_rank_double",
    "kll_sketch_get_rank_float", "kll_sketch_merge_bigint", "kll_sketch_merge_double",
    "kll_sketch_merge_float", "kll_sketch_to_string_bigint", "kll_sketch_to_string_double",
    "kll_sketch_to_string_float", "last_day", "lcase", "least", "left", "len", "length",
    "levenshtein", "like", "ln", "localtime", "localtimestamp", "locate", "log", "log10",
    "log1p", "log2", "lower", "lpad", "ltrim", "luhn_check", "make_date", "make_dt_interval",
    "make_interval", "make_time", "make_timestamp", "make_timestamp_ltz", "make_timestamp_ntz",
    "make_valid_utf8", "make_ym_interval", "map", "map_concat", "map_contains_key",
    "map_entries", "map_filter", "map_from_arrays", "map_from_entries", "map_keys",
    "map_values", "map_zip_with", "mask", "md5", "minute", "mod", "month", "monthname",
    "months_between", "named_struct", "nanvl", "negative", "next_day", "not", "now", "nullif",
    "nullifzero", "numeric", "nvl", "nvl2", "octet_length", "or", "overlay", "parse_json",
    "parse_url", "pi", "pmod", "position", "positive", "pow", "power", "printf", "quarter",
    "quote", "radians", "raise_error", "reduce", "regexp", "regexp_count", "regexp_extract",
    "regexp_extract_all", "regexp_instr", "regexp_like", "regexp_replace", "regexp_substr",
    "repeat", "replace", "reverse", "right", "rint", "rlike", "round", "rpad", "rtrim",
    "schema_of_csv", "schema_of_json", "schema_of_variant", "sec", "second", "sentences",
    "sequence", "sha", "sha1", "sha2", "shiftleft", "shiftright", "shiftrightunsigned", "sign",
    "signum", "sin", "sinh", "size", "slice", "smallint", "sort_array", "soundex", "space",
    "split", "split_part", "sqrt", "st_asbinary", "st_geogfromwkb", "st_geomfromwkb",
    "st_setsrid", "st_srid", "startswith", "str_to_map", "string", "struct", "substr",
    "substring", "substring_index", "tan", "tanh", "theta_difference", "theta_intersection",
    "theta_sketch_estimate", "theta_union", "time", "time_bucket", "time_diff",
    "time_from_micros", "time_from_millis", "time_from_seconds", "time_to_micros",
    "time_to_millis", "time_to_seconds", "time_trunc", "timediff", "timestamp", "timestamp_ltz",
    "timestamp_micros", "timestamp_millis", "timestamp_nanos", "timestamp_ntz",
    "timestamp_seconds", "timestampadd", "timestampdiff", "tinyint", "to_base32", "to_binary",
    "to_char", "to_csv", "to_date", "to_json", "to_number", "to_time", "to_timestamp",
    "to_timestamp_ltz", "to_timestamp_ntz", "to_unix_timestamp", "to_utc_timestamp",
    "to_varchar", "to_variant_object", "to_xml", "transform", "transform_keys",
    "transform_values", "translate", "trim", "trunc", "try_add", "try_aes_decrypt", "try_cast",
    "try_divide", "try_element_at", "try_make_interval", "try_make_timestamp",
    "try_make_timestamp_ltz", "try_make_timestamp_ntz", "try_mod", "try_multiply",
    "try_parse_json", "try_parse_url", "try_subtract", "try_to_binary", "try_to_date",
    "try_to_number", "try_to_time", "try_to_timestamp", "try_url_decode", "try_validate_utf8",
    "try_variant_array_append", "try_variant_get", "try_variant_insert", "try_variant_set",
    "tuple_difference_double", "tuple_difference_integer", "tuple_difference_theta_double",
    "tuple_difference_theta_integer", "tuple_intersection_double", "tuple_intersection_integer",
    "tuple_intersection_theta_double", "tuple_intersection_theta_integer",
    "tuple_sketch_estimate_double", "tuple_sketch_estimate_integer",
    "tuple_sketch_summary_double", "tuple_sketch_summary_integer", "tuple_sketch_theta_double",
    "tuple_sketch_theta_integer", "tuple_union_double", "tuple_union_integer",
    "tuple_union_theta_double", "tuple_union_theta_integer", "typeof", "ucase", "unbase64",
    "unhex", "unix_date", "unix_micros", "unix_millis", "unix_nanos", "unix_seconds",
    "unix_timestamp", "upper", "url_decode", "url_encode", "validate_utf8", "varchar",
    "variant_array_append", "variant_delete", "variant_get", "variant_insert", "variant_set",
    "variant_strip_nulls", "vector_cosine_similarity", "vector_inner_product",
    "vector_l2_distance", "vector_norm", "vector_normalize", "weekday",
    "weekofyear", "when", "width_bucket", "window_time", "xpath", "xpath_boolean",
    "xpath_double", "xpath_float", "xpath_int", "xpath_long", "xpath_number", "xpath_short",
    "xpath_string", "xxhash64", "year", "zeroifnull", "zip_with",
})  # fmt: skip
_RANDOM = (
    "rand", "random", "randn", "uuid", "shuffle", "monotonically_increasing_id", "uniform",
    "spark_partition_id", "randstr", "aes_encrypt",
)  # fmt: skip
_GENERATORS = (
    "explode", "explode_outer", "inline", "inline_outer", "posexplode", "posexplode_outer", "stack",
    "json_tuple",
)  # fmt: skip
_RANKS = (
    "counter_diff", "cume_dist", "dense_rank", "lag", "lead", "nth_value", "ntile", "percent_rank",
    "rank", "row_number",
)  # fmt: skip
_NOT_SHARED: dict[str, tuple[str, str]] = {
    # why functions are refused, and what to write instead
    **dict.fromkeys(
        _RANDOM,
        (
            "it gives another value each time, so no two queries could share it",
            "a column of the stream's own DataFrame that holds the value",
        ),
    ),
    **dict.fromkeys(
        _GENERATORS, ("a row would become many", "the explode in the stream's own DataFrame")
    ),
    **dict.fromkeys(
        _RANKS,
        (
            "a window function needs the rows of a partition in order, which shards do not keep",
            "an aggregate over window(ts, ...)",
        ),
    ),
}
_WINDOWS = frozenset({"window", "session_window"})
# Names a function by a string: which one is not seen in the text.
_BY_STRING = "identifier"


def refuse_functions(statement: Statement, is_allowed: IsAllowed) -> None:
    """Raise for subqueries, and for calls of functions that are not allowed.

    `is_allowed` tells of functions beyond Spark's own harmless ones.
    """
    tokens = statement.tokens
    for i, token in enumerate(tokens[1:], start=1):
        if token.upper == "SELECT" and tokens[i - 1].text == "(":
            raise QueryError(
                f"a subquery at {statement.place(i)}",
                "it would be a query of its own, run for every batch",
                "a registered table and a join: loom.table(name, df, key=...)",
            )
    whole = Span(0, statement.source.low - 1), Span(statement.source.low, len(tokens) - 1)
    for span in whole:
        for call in calls(tokens, span):
            if call.name == "over" and tokens[call.first - 1].text == ")":
                raise QueryError(
                    f"a window function at {statement.place(call.first)}",
                    "it needs the rows of a partition in order, which shards do not keep",
                    "an aggregate over window(ts, ...)",
                )
            name = call.name.removeprefix("system.").removeprefix("builtin.")
            _refuse_function(name, statement.place(call.first), is_allowed)


def _refuse_function(name: str, place: str, is_allowed: IsAllowed) -> None:
    """Raise for a function that is neither listed, nor an aggregate, nor allowed."""
    if name in _OF_ROWS or name in _WINDOWS or is_aggregate(name):
        return
    if name == _BY_STRING:
        raise QueryError(
            f"IDENTIFIER(...) at {place}",
            "what it names is not seen before the query runs",
            "the name itself",
        )
    if name in _NOT_SHARED:
        why, instead = _NOT_SHARED[name]
        raise QueryError(f"{name}() in a query", why, instead)
    if not is_allowed(name):
        raise QueryError(
            f"the function {name} at {place}",
            "it is not one of those that read nothing but their arguments, nor registered in the "
            "session",
            f'another function, or Loom(spark, allow=["{name}"]) if every query may call it',
        )
