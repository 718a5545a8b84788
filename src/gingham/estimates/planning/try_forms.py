"""Try forms of expressions that may raise, so that rows of other queries cannot fail a query.

In ANSI mode `a / b` raises where b is zero. Alone, a query may keep such rows away from it
(`b <> 0 AND a / b > 5`); shared, the expression is evaluated for every row. So it is rewritten
to NULL where it would raise, with a condition that tells this NULL from others:

    a / b    ->    try_divide(a, b)    raises where   (try_divide(a, b)) IS NULL
                                                      AND a IS NOT NULL AND b IS NOT NULL
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from sqlglot import exp

from gingham.estimates.planning.tree_text import canonical_sql, parse_expression
from gingham.logical.try_form import NoTryForm, TryForm

_TRY: dict[type[exp.Expr], str] = {
    exp.Add: "try_add",
    exp.Sub: "try_subtract",
    exp.Mul: "try_multiply",
    exp.Div: "try_divide",
    exp.Mod: "try_mod",
}
# NULL if and only if an argument is NULL: the condition above holds for trees of these only.
_STRICT = (
    exp.Column,
    exp.Identifier,
    exp.Literal,
    exp.Boolean,
    exp.Paren,
    exp.DataType,
    exp.DataTypeParam,
    exp.Neg,
    exp.Abs,
    exp.Not,
    exp.EQ,
    exp.NEQ,
    exp.LT,
    exp.LTE,
    exp.GT,
    exp.GTE,
    exp.IntDiv,
    *_TRY,
)
_RAISING_FUNCTIONS = frozenset({
    "element_at", "elt", "to_date", "to_timestamp", "to_number", "make_date", "make_timestamp",
    "make_interval", "assert_true", "raise_error", "conv", "to_binary", "unhex", "parse_json",
    "date", "timestamp", "int", "bigint", "double", "float", "smallint", "tinyint", "decimal",
    "pmod", "negative", "positive", "div", "url_decode", "from_json", "next_day", "getbit",
    "factorial", "bround", "sequence", "array_insert", "to_unix_timestamp", "unix_timestamp",
})  # fmt: skip
_FLOATING = ("float", "double")
_INTEGRAL = ("tinyint", "smallint", "int", "bigint")


def try_form(sql: str, types: Mapping[str, str], *, ansi: bool) -> TryForm:
    """The try form of canonical SQL over columns of these types; raises NoTryForm.

    >>> try_form("a / b > 5", {"a": "double", "b": "double"}, ansi=True).sql
    'try_divide(a, b) > 5'
    >>> try_form("a * b", {"a": "double", "b": "int"}, ansi=True)
    TryForm(sql='a * b', raises=None)
    """
    return _try_form(sql, tuple(sorted(types.items())), ansi)


def calls_user_function(sql: str) -> bool:
    """True if the SQL calls a function that is not Spark's own; it may raise whatever it likes."""
    return any(isinstance(node, exp.Anonymous) for node in parse_expression(sql).walk())


@cache
def _try_form(sql: str, types: tuple[tuple[str, str], ...], ansi: bool) -> TryForm:  # noqa: FBT001
    """The try form of canonical SQL, cached; in ANSI mode more expressions may raise."""
    tree = parse_expression(sql)
    column_types = dict(types)
    if not ansi or not any(_may_raise(node, column_types) for node in tree.walk()):
        return TryForm(sql)
    if not all(isinstance(node, (*_STRICT, exp.Cast)) for node in tree.walk()):
        raise NoTryForm(sql)
    columns = sorted({canonical_sql(column) for column in tree.find_all(exp.Column)})
    tried = canonical_sql(_try_all(tree, column_types))
    inputs = "".join(f" AND {column} IS NOT NULL" for column in columns)
    return TryForm(tried, f"({tried}) IS NULL{inputs}")


def _may_raise(node: exp.Expr, types: Mapping[str, str]) -> bool:
    """True if a syntax node itself may raise in ANSI mode, whatever its arguments do."""
    match node:
        case exp.Div():
            divisor = node.expression.unnest()
            literal = isinstance(divisor, exp.Literal) and float(divisor.name or 0) != 0
            return not (literal and _number_kind(node.this, types) in ("floating", "integral"))
        case exp.Mod() | exp.IntDiv() | exp.Bracket():
            return True
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Neg() | exp.Abs():
            constant = isinstance(node, exp.Neg) and isinstance(node.this.unnest(), exp.Literal)
            return not constant and _number_kind(node, types) != "floating"
        case exp.Cast():
            return not (node.args.get("safe") or _widens(node, types))
        case exp.Func():
            return canonical_sql(node).partition("(")[0].lower() in _RAISING_FUNCTIONS
        case _:
            return False


def _try_all(tree: exp.Expr, types: Mapping[str, str]) -> exp.Expr:
    """A copy of the syntax tree in which nodes that may raise are replaced by their try forms."""
    root = exp.Paren(this=tree.copy())
    raising = [node for node in root.this.walk() if _may_raise(node, types)]
    for node in reversed(raising):  # inner nodes first
        node.replace(_tried(node))
    return root.this


def _tried(node: exp.Expr) -> exp.Expr:
    """The try form of one syntax node: try_divide for a division, TRY_CAST for a cast."""
    if type(node) in _TRY:
        return exp.Anonymous(this=_TRY[type(node)], expressions=[node.this, node.expression])
    if isinstance(node, exp.Cast):
        return exp.TryCast(this=node.this, to=node.to, safe=True)
    if isinstance(node, exp.IntDiv):
        divisor = exp.Nullif(this=node.expression, expression=exp.Literal.number(0))
        return exp.IntDiv(this=node.this, expression=divisor)
    # Negation and absolute value of integers have no try_ form.
    raise NoTryForm(canonical_sql(node))


def _number_kind(node: exp.Expr, types: Mapping[str, str]) -> str:
    """`floating`, `integral` or `other`: the kind of number that a SQL expression gives."""
    match node:
        case exp.Paren() | exp.Neg() | exp.Abs():
            return _number_kind(node.this, types)
        case exp.Column():
            return _kind_of_type(types.get(node.name, ""))
        case exp.Literal() if not node.is_string:
            text = node.name.lower()
            return "floating" if "e" in text else "other" if "." in text else "integral"
        case exp.Cast():
            return _kind_of_type(node.to.this.name.lower())
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Div() | exp.Mod():
            kinds = {_number_kind(node.this, types), _number_kind(node.expression, types)}
            if "floating" in kinds:
                return "floating"
            integral = kinds == {"integral"}
            return (
                ("floating" if isinstance(node, exp.Div) else "integral") if integral else "other"
            )
        case _:
            return "other"


def _kind_of_type(type_name: str) -> str:
    """`floating`, `integral` or `other`: the kind of number of a Spark type."""
    return (
        "floating" if type_name in _FLOATING else "integral" if type_name in _INTEGRAL else "other"
    )


def _widens(node: exp.Cast, types: Mapping[str, str]) -> bool:
    """True if a SQL cast never fails: to text, a number to double, or a numeric literal."""
    target, source = node.to.this.name.lower(), _number_kind(node.this, types)
    if target in ("text", "varchar", "string"):
        return True
    if target == "double":
        return source in ("floating", "integral")
    return isinstance(node.this, exp.Literal) and not node.this.is_string
