"""Patterns of LIKE: as trees of regular expressions, and over many strings at once."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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
from gingham.core.arrays import Bools

_ANYTHING = Repeat(AnyCharacter(), 0, None, "")
_CANDIDATES = 0.5  # of the strings: if more are left, all may as well be looked at


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


def like_in_parts(values: pa.Array, pattern: str) -> Bools:
    """Where a pattern of several parts fits, tried only where its ends do; false for NULL."""
    first, *others = re.split("[%_]", pattern)
    last = others[-1] if others else ""
    if "\\" in pattern or not (first or last):
        return _by_arrow("match_like", values, pattern)
    likely = np.ones(len(values), dtype=bool)
    for kernel, end in (("starts_with", first), ("ends_with", last)):
        if end:
            likely &= _by_arrow(kernel, values, end)
    index = np.flatnonzero(likely)
    if len(index) > _CANDIDATES * len(values):
        return _by_arrow("match_like", values, pattern)
    likely[index] = _by_arrow("match_like", values.take(pa.array(index)), pattern)
    return likely


def _by_arrow(kernel: str, values: pa.Array, pattern: str) -> Bools:
    """Where a test of Arrow's is true."""
    found = pc.call_function(kernel, [values], pc.MatchSubstringOptions(pattern))
    return np.asarray(found.fill_null(False).to_numpy(zero_copy_only=False), dtype=bool)
