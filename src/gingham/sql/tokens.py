"""Tokens of SQL text with their positions, by the lexical rules of Spark SQL.

Only boundaries are found here: what a literal or a name means is for Spark to say.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from gingham.core.errors import QueryError, at
from gingham.core.names import unquoted

MOST_CHARACTERS = 200_000  # of a query
MOST_DEPTH = 64  # parentheses, brackets and CASEs within each other

Kind = Literal["word", "name", "string", "number", "operator", "end"]


class Token(NamedTuple):
    """A token of SQL text as it is written, and where it stands."""

    kind: Kind
    text: str
    start: int
    stop: int
    depth: int = 0  # of parentheses, brackets and CASEs around it
    closes: int = -1  # of an opening token: the index of the one that closes it

    @property
    def upper(self) -> str:
        """An unquoted word or an operator in upper case; empty for quoted names and literals."""
        return self.text.upper() if self.kind in ("word", "operator") else ""

    @property
    def is_name(self) -> bool:
        """Whether the token can be the name of a column, a table or a function."""
        return self.kind in ("word", "name")

    @property
    def name(self) -> str:
        """The name that an unquoted word or a name in backquotes stands for."""
        return unquoted(self.text)


_TOKEN = re.compile(
    r"""
      (?P<blank>\s+ | --(?:\\\n|[^\n])* )
    | (?P<comment>/\*)
    | (?P<raw>[rR](?:'[^']*'|"[^"]*"))
    | (?P<string>'(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.|"")*")
    | (?P<name>`(?:[^`]|``)*`)
    | (?P<number>(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?(?:[bB][dD]|[lLsSyYfFdD])?(?!\w))
    | (?P<word>\w+)
    | (?P<operator><=>|>>>|<<|>>|->|=>|::|\|\||\|>|<>|!=|!<|!>|==|<=|>=|[^\w\s])
    """,
    re.VERBOSE | re.DOTALL,
)
_KINDS: dict[str, Kind] = {
    "raw": "string",
    "string": "string",
    "name": "name",
    "number": "number",
    "word": "word",
    "operator": "operator",
}
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_CLOSING = {"(": ")", "[": "]", "CASE": "END"}


def tokenize(text: str) -> list[Token]:
    """Split the text of a query into tokens, with one of kind "end" after the last.

    >>> [token.text for token in tokenize("a.`b c` >= -1.5e3 /* why */ AND f('it''s')")][:-1]
    ['a', '.', '`b c`', '>=', '-', '1.5e3', 'AND', 'f', '(', "'it''s'", ')']
    """
    if len(text) > MOST_CHARACTERS:
        raise QueryError(
            f"a query of {len(text):,} characters",
            f"the text of a query has at most {MOST_CHARACTERS:,}",
            "a table with the constants, and a join: loom.table(name, df, key=...)",
        )
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise QueryError(
            "half of a character in the query",
            "a lone surrogate is no text, and cannot be sent to Spark",
            "the text without it",
        )
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        kind = found.lastgroup if found else None
        if found is None or kind is None or found[0] in ("'", '"', "`"):
            raise _unreadable(text, position)
        if kind == "comment":
            position = _comment_end(text, position)
            continue
        if kind != "blank":
            tokens.append(Token(_KINDS[kind], found[0], position, found.end()))
        position = found.end()
    tokens.append(Token("end", "", len(text), len(text)))
    return _nested(text, tokens)


def _nested(text: str, tokens: list[Token]) -> list[Token]:
    """Find out how deep every token stands, and which tokens close which."""
    opened: list[int] = []
    for i, token in enumerate(tokens):
        upper = token.upper if not (i and tokens[i - 1].text == ".") else ""
        if opened and upper == _CLOSING[tokens[opened[-1]].upper]:
            start = opened.pop()
            tokens[start] = tokens[start]._replace(closes=i)
        elif upper in (")", "]"):
            raise _unbalanced(text, token)
        tokens[i] = token._replace(depth=len(opened))
        if upper in ("(", "[") or (upper == "CASE" and not _ends_operand(tokens[i + 1])):
            opened.append(i)
            if len(opened) > MOST_DEPTH:
                raise QueryError(
                    f"a query nested deeper than {MOST_DEPTH} at {at(text, token.start)}",
                    "parentheses and CASEs within each other are read one by one",
                    "fewer of them: AND and OR need none among themselves",
                )
    if opened:
        raise _unbalanced(text, tokens[opened[-1]])
    return tokens


def _ends_operand(after: Token) -> bool:
    """Whether the token after a word shows that the word is a name and opens nothing."""
    return after.kind == "end" or after.upper in (",", ")", "]", "=", "<", ">", ".", "FROM", "AS")


def _comment_end(text: str, start: int) -> int:
    """Where a comment ends that starts with /*; comments may hold comments."""
    depth = 0
    for edge in _COMMENT_EDGE.finditer(text, start):
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return edge.end()
        if depth > MOST_DEPTH:
            break
    raise QueryError(
        f"the SQL does not parse at {at(text, start)}: a comment without an end",
        f"everything after it would be part of it; comments hold at most {MOST_DEPTH} others",
        "*/ at the end of the comment",
    )


def _unreadable(text: str, position: int) -> QueryError:
    """The error of a quotation mark that opens something without an end."""
    return QueryError(
        f"the SQL does not parse at {at(text, position)}: a quotation without an end",
        f"the text after {text[position]} has no second one",
        "the mark at the end, too; within the quotation it is written twice",
    )


def _unbalanced(text: str, token: Token) -> QueryError:
    """The error of a parenthesis, bracket or CASE without its counterpart."""
    return QueryError(
        f"the SQL does not parse at {at(text, token.start)}: {token.text} without its counterpart",
        "what is opened is closed, in the opposite order",
        "as many closing as opening ones",
    )
