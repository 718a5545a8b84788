"""How likely an expression raises for a row that its query would not even look at.

Alone, `b <> 0 AND a / b > 5` keeps zeros away from the division; shared, every part is evaluated
for every row. Only speed depends on what is said here: a query that raises is found out by running
the others without it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from gingham.logical.risk import Risk
from gingham.sql.expression import KEYWORDS
from gingham.sql.tokens import Token, tokenize

# Never raise, whatever their arguments are; patterns and formats must be literals.
_SAFE = frozenset({
    "bitmap_bit_position", "bitmap_bucket_number", "bitmap_count",
    "acos", "array_contains", "array_size", "ascii", "asin", "atan", "atan2", "btrim",
    "cardinality", "cbrt", "char_length", "coalesce", "concat", "contains", "cos", "cosh",
    "crc32", "date_trunc", "day", "dayofmonth", "dayofweek", "dayofyear", "degrees", "endswith",
    "equal_null", "exp", "get", "greatest", "hash", "hour", "if", "ifnull", "initcap", "instr",
    "isnan", "isnotnull", "isnull", "last_day", "lcase", "least", "left", "len", "length", "ln",
    "locate", "log", "log10", "log1p", "log2", "lower", "ltrim", "map_contains_key", "map_keys",
    "map_values", "md5", "minute", "month", "named_struct", "nullif", "nvl", "nvl2", "quarter",
    "radians", "replace", "reverse", "right", "rint", "rtrim", "second", "sha", "sha1", "sha2",
    "sign", "signum", "sin", "sinh", "size", "sqrt", "startswith", "struct", "substr",
    "substring", "substring_index", "tan", "tanh", "trim", "trunc", "try_add", "try_cast",
    "try_divide", "try_element_at", "try_mod", "try_multiply", "try_subtract", "try_to_date",
    "try_to_number", "try_to_timestamp", "ucase", "unix_date", "unix_micros", "unix_millis",
    "unix_seconds", "upper", "weekday", "weekofyear", "xxhash64", "year",
})  # fmt: skip
_WITH_LITERAL_PATTERN = frozenset({"regexp_like", "rlike", "regexp", "like", "ilike"})
_PATTERN_WORDS = frozenset({"LIKE", "ILIKE", "RLIKE", "REGEXP"})
_SAFE_OPERATORS = frozenset({
    "=", "==", "<", "<=", ">", ">=", "<=>", "<>", "!=", "!", "(", ")", ",", ".", "||", "&", "|",
    "^", "~",
})  # fmt: skip
_OVERFLOW = frozenset({"+", "-", "*"})
_DIVISIONS = frozenset({"/", "%", "DIV"})
_FLOATING = ("float", "double")


def may_raise(sql: str, types: Mapping[str, str], *, ansi: bool) -> Risk:
    """How likely canonical SQL over columns of these types raises for some row.

    >>> types = {"a": "double", "b": "int"}
    >>> [may_raise(sql, types, ansi=True) for sql in ("a * 2 > 5", "b * 2 > 5", "a / b > 5")]
    ['never', 'overflow', 'likely']
    """
    return _may_raise(sql, tuple(sorted(types.items())), ansi)


@cache
def _may_raise(sql: str, column_types: tuple[tuple[str, str], ...], ansi: bool) -> Risk:  # noqa: FBT001
    """The risk of canonical SQL, cached."""
    types, tokens = dict(column_types), tokenize(sql)
    read = {types[t.name] for t in tokens if t.is_name and t.name in types}
    risk: Risk = "never"
    for i in range(len(tokens) - 1):
        found = _risk_at(tokens, i, types, read, ansi=ansi)
        if found == "likely":
            return found
        risk = found if found != "never" else risk
    return risk


def _risk_at(
    tokens: Sequence[Token], i: int, types: Mapping[str, str], read: set[str], *, ansi: bool
) -> Risk:
    """The risk that comes with one token."""
    token, upper = tokens[i], tokens[i].upper
    if token.kind in ("string", "number", "name") or upper in _SAFE_OPERATORS:
        return "never"
    if upper in _OVERFLOW:
        return "never" if not ansi or (read and read <= set(_FLOATING)) else "overflow"
    if upper in _DIVISIONS:
        return "never" if not ansi or _divides_by_literal(tokens[i + 1]) else "likely"
    if upper == "[":
        is_map = i and types.get(tokens[i - 1].name, "").startswith("map")
        return "never" if is_map else "likely"
    if upper == "]":
        return "never"
    if token.kind != "word":
        return "likely"
    if upper in _PATTERN_WORDS:
        return "never" if tokens[i + 1].kind == "string" else "likely"
    if upper in KEYWORDS:
        return "likely" if upper in ("AS", "INTERVAL") else "never"
    if tokens[i + 1].text != "(":
        return "never" if token.name in types or tokens[i - 1].text == "." else "likely"
    if token.text in _WITH_LITERAL_PATTERN:
        return "never" if tokens[tokens[i + 1].closes - 1].kind == "string" else "likely"
    return "never" if token.text in _SAFE else "likely"


def _divides_by_literal(divisor: Token) -> bool:
    """Whether a division is by a number other than zero."""
    return divisor.kind == "number" and any(digit in "123456789" for digit in divisor.text)
