"""Patterns of LIKE as trees of regular expressions."""

from __future__ import annotations

from gingham.columns.text.java_regex import (
    Anchor,
    AnyCharacter,
    Literal,
    Node,
    NotReadError,
    Regex,
    Repeat,
    Sequence,
)

_ANYTHING = Repeat(AnyCharacter(), 0, None, "")


def read_like(pattern: str) -> Regex:
    """Read a pattern of LIKE, with a backslash before characters that mean themselves."""
    nodes: list[Node] = [Anchor(end=False)]
    text = ""
    characters = iter(pattern)
    for character in characters:
        if character == "\\":
            escaped = next(characters, "")
            if escaped not in ("%", "_", "\\"):
                raise NotReadError("a backslash before nothing special")
            text += escaped
        elif character in "%_":
            nodes += [Literal(text)] if text else []
            nodes.append(_ANYTHING if character == "%" else AnyCharacter())
            text = ""
        else:
            text += character
    nodes += [Literal(text)] if text else []
    tree = Sequence((*nodes, Anchor(end=True)))
    return Regex(tree, ignores_case=False, unicode_case=False, dot_all=True, absolute=True)
