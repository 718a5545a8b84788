"""Expressions: the user's own tokens, with references where columns and aggregates stand.

An expression is written in two ways from the same tokens. What runs names columns of the enriched
stream (`listing.r1000`) and the results of aggregates (`__aggregate_0`). What is compared with the
original text by Spark names columns of the relations, and has the aggregates themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gingham.core import names
from gingham.core.errors import QueryError


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the enriched stream; its relation and its name there, if there are several."""

    name: str
    relation: str
    column: str

    @property
    def run(self) -> str:
        """The column as SQL that runs over the enriched stream."""
        return column_sql(self.name)

    @property
    def check(self) -> str:
        """The column as SQL over the relations, for the comparison with the original."""
        if not self.relation:
            return self.run
        return f"{names.quoted(self.relation)}.{names.quoted(self.column)}"

    def field(self, position: int) -> str:  # noqa: ARG002  (a column is named, wherever it is)
        """The name that Spark gives to the column as a field of a struct."""
        return self.column


@dataclass(frozen=True, slots=True)
class Replaced:
    """A part of an expression that runs as something else than it is compared as.

    It has a name if Spark takes it for a column, and names fields of structs after it.
    """

    run: str
    check: str
    name: str | None = None

    def field(self, position: int) -> str:
        """The name that Spark gives to it as a field of a struct, by its position there."""
        return self.name if self.name is not None else f"col{position}"


Reference = Column | Replaced
Part = str | Reference


@dataclass(frozen=True, slots=True)
class Expression:
    """The tokens of an expression in order, with references in place of names."""

    parts: tuple[Part, ...]

    @property
    def run(self) -> str:
        """The SQL that Spark evaluates.

        >>> price, vol = (Column(c, "trades", c) for c in ("price", "vol"))
        >>> total = Expression(("sum", "(", price, "*", "-", vol, ")"))
        >>> total.run, total.check
        ('sum(price * -vol)', 'sum(`trades`.`price` * -`trades`.`vol`)')
        """
        names_of_fields = _fields_of_structs(self.parts)
        return spaced(
            [
                part if isinstance(part, str) else part.run + names_of_fields.get(i, "")
                for i, part in enumerate(self.parts)
            ]
        )

    @property
    def check(self) -> str:
        """The SQL that is compared with the original text."""
        return spaced([part if isinstance(part, str) else part.check for part in self.parts])

    @property
    def name(self) -> str | None:
        """The name of the column or field that the expression is; None if it is another thing."""
        match self.parts:
            case (Column(_, _, column),):
                return column
            case (*_, ".", str(field)):
                return names.unquoted(field)
            case _:
                return None

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that the expression reads, in order of appearance."""
        return tuple(part for part in self.parts if isinstance(part, Column))


def _fields_of_structs(parts: Sequence[Part]) -> dict[int, str]:
    """The names of references that are fields of struct(...), as ` AS name`, by their index.

    Spark names such a field after its column, and references are columns with other names.
    """
    found: dict[int, str] = {}
    if _STRUCT not in parts and _ZIP not in parts:
        return found
    calls: list[tuple[Part, int]] = []  # those that are open: the function, the argument's position
    for i, part in enumerate(parts):
        before = parts[i - 1] if i else ""
        if part == "(":
            calls.append((before, 1))
        elif part == ")" and calls:
            calls.pop()
        elif part == "," and calls:
            calls[-1] = calls[-1][0], calls[-1][1] + 1
        elif not isinstance(part, str) and before in ("(", ",") and parts[i + 1] in (",", ")"):
            function, position = calls[-1]
            field = names.quoted(part.field(position))
            if function == _STRUCT:
                found[i] = f" AS {field}"
            elif function == _ZIP and part.run not in (field, field.strip("`")):
                raise QueryError(
                    f"{_ZIP}(...) over columns of tables, keys or aggregates",
                    "its fields are named after them, and shared they have other names",
                    f"{_ZIP}(...) over columns of the stream, in its own DataFrame",
                )
    return found


def joined(operator: str, terms: Sequence[Expression]) -> Expression:
    """The terms with an operator between them."""
    parts: list[Part] = []
    for term in terms:
        parts += [operator, *term.parts] if parts else term.parts
    return Expression(tuple(parts))


def parenthesized(term: Expression) -> Expression:
    """The expression in parentheses."""
    return Expression(("(", *term.parts, ")"))


# Functions that name fields of what they give after their arguments.
_STRUCT, _ZIP = "struct", "arrays_zip"
# Words after which a parenthesis is no call, and a sign belongs to what follows.
KEYWORDS = frozenset({
    "AND", "OR", "NOT", "IN", "LIKE", "ILIKE", "RLIKE", "REGEXP", "BETWEEN", "IS", "NULL", "TRUE",
    "FALSE", "CASE", "WHEN", "THEN", "ELSE", "END", "DIV", "DISTINCT", "FROM", "ESCAPE", "AS",
    "INTERVAL", "SELECT", "WHERE", "GROUP", "HAVING", "ORDER", "BY", "ON", "USING", "JOIN",
})  # fmt: skip
# Words that are no names of columns unless they are quoted.
_QUOTED = KEYWORDS | frozenset({
    "EXISTS", "CAST", "EXTRACT", "WINDOW", "CROSS", "INNER", "LEFT", "RIGHT", "FULL", "OUTER",
    "NATURAL", "ANTI", "SEMI", "LATERAL", "UNION", "EXCEPT", "INTERSECT", "MINUS", "LIMIT",
    "OFFSET", "CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "CURRENT_USER", "USER",
    "SESSION_USER", "LOCALTIME", "LOCALTIMESTAMP", "DATE", "TIMESTAMP", "VALUES", "ANY", "SOME",
    "ALL", "FILTER", "OVER", "WITHIN", "TABLE", "COLLATE", "TRIM", "OVERLAY", "POSITION",
    "SUBSTRING",
})  # fmt: skip
_TIGHT_BEFORE = frozenset({")", "]", ",", ".", "[", "::", ":"})
_TIGHT_AFTER = frozenset({"(", "[", ".", "::", ":", "~", "!"})


def column_sql(name: str) -> str:
    """The name of a column as SQL, quoted where it must be.

    >>> column_sql("vol"), column_sql("listing.r1000"), column_sql("case"), column_sql("größe")
    ('vol', '`listing.r1000`', '`case`', '`größe`')
    """
    plain = name.isascii() and name.isidentifier() and name.upper() not in _QUOTED
    plain = plain and not name.upper().startswith("CURRENT_")  # these are calls of functions
    return name if plain else names.quoted(name)


def spaced(texts: Sequence[str]) -> str:
    """The tokens of an expression as one text, with the same space between them always.

    >>> spaced(["a", "IN", "(", "-", "1", ",", "f", "(", "b", ")", "-", "2", ")"])
    'a IN (-1, f(b) - 2)'
    >>> spaced(["-", "-", "a"])
    '- -a'
    """
    result: list[str] = []
    signed = False  # does the token before stand for the sign of what follows?
    for i, text in enumerate(texts):
        before = texts[i - 1] if i else "("
        tight = (
            i == 0
            or (signed and text not in ("-", "+"))  # -- would begin a comment
            or text in _TIGHT_BEFORE
            or before in _TIGHT_AFTER
            or (text == "(" and _is_callable(before))
        )
        result.append(text if tight else f" {text}")
        signed = text in ("-", "+") and (i == 0 or _is_operator(before))
    return "".join(result)


def _is_callable(before: str) -> bool:
    """Whether a parenthesis after this token opens the arguments of a function."""
    return (before[-1:].isalnum() or before[-1:] in ("_", "`")) and before.upper() not in KEYWORDS


def _is_operator(before: str) -> bool:
    """Whether a sign after this token is one of a number, and no operator between two."""
    if before.upper() in KEYWORDS:
        return before.upper() not in ("NULL", "TRUE", "FALSE", "END")
    return not (before[-1:].isalnum() or before[-1:] in ("_", "`", ")", "]", "'", '"'))
