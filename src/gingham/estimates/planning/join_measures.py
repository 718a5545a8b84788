"""What a join query counts, sums or averages: a measure of each relation; products are summed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from gingham.core.errors import QueryError
from gingham.estimates.planning.join_scope import JoinScope
from gingham.sql.expression import KEYWORDS, Expression
from gingham.sql.predicates import Conditions
from gingham.sql.read_expression import Call
from gingham.sql.statement import Span, Statement, split, unnested
from gingham.sql.tokens import Token

_DIVISIONS = ("/", "%", "DIV")
# At the top of a product: what is neither an operator nor part of a condition.
_OPERANDS = frozenset({"(", ")", "[", "]", ".", "::", ":", "CASE", "END", "NULL", "TRUE", "FALSE"})


class Measures(NamedTuple):
    """What is summed of each relation, by alias, and the whole call as it is compared.

    An average has a `divisor`, too: the measures of the count that its sum is divided by.
    """

    of_relations: dict[str, str]
    check: str
    divisor: dict[str, str] | None = None


class _Product(NamedTuple):
    """The factors of a product, those of products within it too; and the whole, as compared."""

    factors: list[Expression]
    check: str


def read_measures(
    statement: Statement, call: Call, scope: JoinScope, read: Callable[[Span], Expression]
) -> Measures:
    """The measures of an aggregate: nothing for count(*), factors for sum(x * y).

    avg(x * y)    sum(x * y) / sum(1 where x is known * 1 where y is known)
    """
    written = statement.slice(call.span)[:60]
    arguments = list(split(statement.tokens, Span(call.opened + 1, call.closed), ","))
    if len(arguments) != 1:
        raise _not_counted(written)
    if statement.tokens[arguments[0].low].upper == "DISTINCT":
        raise QueryError(
            f"an exact DISTINCT: {written}",
            "distinct values of two parts of the rows cannot be merged from counts",
            "count(*) or count(r.x)",
        )
    if call.name == "count":
        return _counted(statement, written, arguments[0], read)
    summed = _summed(statement, call, arguments[0], scope, read)
    if call.name == "sum":
        return summed
    divisor = {alias: _known(sql) for alias, sql in summed.of_relations.items()}
    return summed._replace(divisor=divisor)


def owners(expression: Expression) -> list[str]:
    """The aliases of relations that an expression reads, in order of appearance."""
    return list(dict.fromkeys(column.relation for column in expression.columns))


def _counted(
    statement: Statement, written: str, argument: Span, read: Callable[[Span], Expression]
) -> Measures:
    """The measure of count(*), count(1) or count(r.x)."""
    if statement.slice(argument) == "*":
        return Measures({}, "count(*)")
    counted, aliases = read(unnested(statement.tokens, argument)), owners(read(argument))
    constant = Conditions(statement.tokens, read).constant(argument)
    if constant is not None and constant.kind != "null":
        return Measures({}, f"count({counted.check})")
    if len(aliases) != 1:
        raise _not_counted(written)
    return Measures({aliases[0]: _known(counted.run)}, f"count({counted.check})")


def _known(sql: str) -> str:
    """The measure that counts rows for which an expression is not NULL."""
    return f"CASE WHEN ({sql}) IS NOT NULL THEN 1 ELSE 0 END"


def _summed(
    statement: Statement,
    call: Call,
    argument: Span,
    scope: JoinScope,
    read: Callable[[Span], Expression],
) -> Measures:
    """The measures of a sum over one relation, or over a product of what several have.

    Those of the sum that an average divides are the same.
    """
    name, written = call.name, statement.slice(call.span)[:60]
    whole = read(unnested(statement.tokens, argument))
    aliases = owners(whole)
    if len(aliases) <= 1:
        return Measures(
            {(aliases or list(scope.relations))[0]: whole.run}, f"{name}({whole.check})"
        )
    product = _product(statement.tokens, argument, read)
    if any(len(owners(factor)) > 1 for factor in product.factors):
        raise QueryError(
            f"{written} mixes {' and '.join(aliases)}",
            "a sketch adds up what one relation knows of its row; relations are multiplied",
            f"one relation, {name}(r.x), or a product, {name}(r.x * s.y)",
        )
    factors: dict[str, list[str]] = {alias: [] for alias in aliases}
    for factor in product.factors:
        # A constant may be a factor of any relation's measure.
        factors[(owners(factor) or aliases)[0]].append(f"({factor.run})")
    measures = {alias: " * ".join(parts) for alias, parts in factors.items()}
    return Measures(measures, f"{name}({product.check})")


def _product(tokens: Sequence[Token], span: Span, read: Callable[[Span], Expression]) -> _Product:
    """Take a product apart; what is no product is its only factor."""
    span = unnested(tokens, span)
    parts = _factor_spans(tokens, span)
    if len(parts) == 1:
        factor = read(span)
        return _Product([factor], f"({factor.check})")
    products = [_product(tokens, part, read) for part in parts]
    # In parentheses where factors were found: Spark sees whether they are factors for it, too.
    check = " * ".join(product.check for product in products)
    return _Product([factor for p in products for factor in p.factors], f"({check})")


def _factor_spans(tokens: Sequence[Token], span: Span) -> list[Span]:
    """The ranges of tokens between the signs of a multiplication that is done last."""
    depth = tokens[span.low].depth
    top = [i for i in range(span.low, span.high) if tokens[i].depth == depth]
    operators = [i for i in top if _is_operator(tokens, i, span)]
    if any(tokens[i].upper not in ("*", *_DIVISIONS) for i in operators):
        return [span]
    # From the left to the right: a * b / c * d is (a * b / c) * d.
    divided = max((i for i in operators if tokens[i].upper in _DIVISIONS), default=span.low)
    signs = [i for i in operators if i > divided]
    bounds = [span.low - 1, *signs, span.high]
    return [Span(low + 1, high) for low, high in pairwise(bounds)]


def _is_operator(tokens: Sequence[Token], i: int, span: Span) -> bool:
    """Whether a token stands between operands; the sign of a number does not."""
    upper = tokens[i].upper
    if upper in _OPERANDS:
        return False
    if upper in ("-", "+", "~"):
        before = tokens[i - 1] if i > span.low else None
        return before is not None and (before.kind != "operator" or before.text in (")", "]"))
    return tokens[i].kind == "operator" or upper in KEYWORDS


def _not_counted(written: str) -> QueryError:
    """The error of an aggregate that is neither of all rows nor of one relation's values."""
    return QueryError(
        f"{written} over a join",
        "rows are counted, all or those where one relation's value is known",
        "count(*) or count(r.x)",
    )
