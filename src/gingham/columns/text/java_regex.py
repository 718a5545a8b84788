"""Java's regular expressions, as far as they can be answered outside of Spark with certainty.

A pattern is read into a tree. The tree is written as a pattern of Python's that finds the same
strings, and tells which literals every match must contain. What is not read here is left to Spark:
word boundaries, whose meaning depends on the version of Java; back references; looking around;
classes of Unicode; nested classes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product

# What Java's `.` does not match, and what may stand behind the end that `$` means.
_LINE_ENDS = "\n\r\u0085\u2028\u2029"
_AT_END = r"(?=(?:\r\n|(?<!\r)\n|[\r\u0085\u2028\u2029])?\Z)"
_CLASSES = {
    "d": "0-9",
    "w": "a-zA-Z0-9_",
    "s": r" \t\n\x0b\f\r",
}
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_FLAGS = re.compile(r"\(\?([isu]+)\)")
_COUNT = re.compile(r"\{(\d{1,4})(?:(,)(\d{1,4})?)?\}")
_MOST_LITERALS = 256  # that an alternation is multiplied out to


class NotReadError(Exception):
    """A pattern has something that is left to Spark."""


@dataclass(frozen=True, slots=True)
class Literal:
    """Characters that are matched as they are."""

    text: str


@dataclass(frozen=True, slots=True)
class AnyCharacter:
    """The point."""


@dataclass(frozen=True, slots=True)
class CharacterClass:
    """One of some characters: the inside of a class as Python writes it."""

    inside: str
    negated: bool


@dataclass(frozen=True, slots=True)
class Anchor:
    """The start or the end of the string."""

    end: bool


@dataclass(frozen=True, slots=True)
class Repeat:
    """A node so many times; without limit if `most` is None."""

    node: Node
    least: int
    most: int | None
    how: str  # greedy, lazy or possessive: "", "?" or "+"


@dataclass(frozen=True, slots=True)
class Sequence:
    """Nodes one after the other."""

    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alternatives:
    """One of some nodes."""

    nodes: tuple[Node, ...]


Node = Literal | AnyCharacter | CharacterClass | Anchor | Repeat | Sequence | Alternatives


@dataclass(frozen=True, slots=True)
class Regex:
    """A pattern that was read: its tree, and its flags."""

    node: Node
    ignores_case: bool
    unicode_case: bool
    dot_all: bool
    absolute: bool = False  # does the end mean nothing but the end, not a line end before it?

    def compiled(self) -> re.Pattern[str]:
        """The pattern of Python's that finds the same strings."""
        flags = re.IGNORECASE if self.ignores_case else re.NOFLAG
        if not self.unicode_case:
            flags |= re.ASCII
        pattern = _python(self.node, dot_all=self.dot_all)
        return re.compile(pattern.replace(_AT_END, r"\Z") if self.absolute else pattern, flags)

    def literals(self) -> list[Anchored] | None:
        """The literals of which one is found exactly where the pattern is; None if there are none.

        This holds for strings without a line end, and if case is ignored, for those of ASCII only.
        """
        return _anchored(self.node)

    def needed(self) -> frozenset[str] | None:
        """Literals of which every string with a match contains one; None if none is known."""
        return _needed(self.node)


@dataclass(frozen=True, slots=True)
class Anchored:
    """A literal that is looked for anywhere, or at the start or the end of a string."""

    text: str
    at_start: bool
    at_end: bool


def read_regex(pattern: str) -> Regex:
    """Read a pattern of Java's; raise if it has something that is left to Spark."""
    flags = _FLAGS.match(pattern)
    letters = flags[1] if flags else ""
    ignores_case = "i" in letters
    if ignores_case and not all(map(_has_simple_case, pattern)):
        raise NotReadError("letters whose upper and lower case are not one character each")
    reader = _Reader(pattern, flags.end() if flags else 0)
    return Regex(reader.whole(), ignores_case, "u" in letters, "s" in letters)


def _has_simple_case(character: str) -> bool:
    """Whether Java and Python agree on which characters are this one in another case."""
    if character.isascii():
        return True
    lower, upper = character.lower(), character.upper()
    if lower == upper == character == character.casefold():
        return True
    # Latin, Cyrillic, and letters in circles: a test looks at all of these.
    in_use = any(low <= character <= high for low, high in ("Àž", "Ѐџ", "Ⓐⓩ"))
    return (
        in_use
        and len(lower) == len(upper) == 1
        and lower.upper() == upper
        and upper.lower() == lower
    )


class _Reader:
    """Reads a pattern from left to right."""

    def __init__(self, pattern: str, position: int) -> None:
        self._pattern = pattern
        self._position = position
        self._depth = 0

    def whole(self) -> Node:
        """The tree of the whole pattern."""
        node = self._alternatives()
        if self._position < len(self._pattern):
            raise NotReadError("a parenthesis too many")
        return node

    def _peek(self) -> str:
        """The next character, empty at the end."""
        return self._pattern[self._position : self._position + 1]

    def _take(self) -> str:
        """The next character, which is read by this."""
        found = self._peek()
        if not found:
            raise NotReadError("the pattern ends too soon")
        self._position += 1
        return found

    def _alternatives(self) -> Node:
        """What stands between bars, up to the end or a closing parenthesis."""
        found = [self._sequence()]
        while self._peek() == "|":
            self._take()
            found.append(self._sequence())
        return found[0] if len(found) == 1 else Alternatives(tuple(found))

    def _sequence(self) -> Node:
        """What stands one after the other; neighbouring characters become one literal."""
        nodes: list[Node] = []
        while self._peek() not in ("", "|", ")"):
            node = self._repeated(self._single())
            if isinstance(node, Literal) and nodes and isinstance(nodes[-1], Literal):
                nodes[-1] = Literal(nodes[-1].text + node.text)
            else:
                nodes.append(node)
        return nodes[0] if len(nodes) == 1 else Sequence(tuple(nodes))

    def _single(self) -> Node:
        """One character, class, anchor or group."""
        character = self._take()
        match character:
            case ".":
                return AnyCharacter()
            case "^":
                return Anchor(end=False)
            case "$":
                return Anchor(end=True)
            case "(":
                return self._group()
            case "[":
                return self._class()
            case "\\":
                return self._escaped()
            case "*" | "+" | "?" | "{":
                raise NotReadError("a repetition of nothing")
            case _:
                return Literal(character)

    def _group(self) -> Node:
        """What stands in parentheses."""
        if self._peek() == "?":
            self._take()
            if self._take() != ":":
                raise NotReadError("a group with a meaning of its own")
        self._depth += 1
        if self._depth > 50:
            raise NotReadError("groups nested too deep")
        node = self._alternatives()
        if self._take() != ")":
            raise NotReadError("a parenthesis without its counterpart")
        self._depth -= 1
        # So that a repetition behind it means all of it.
        return Sequence((node,)) if isinstance(node, Literal) else node

    def _escaped(self) -> Node:
        """What a backslash and the next character stand for."""
        character = self._take()
        if character in _CLASSES:
            return CharacterClass(_CLASSES[character], negated=False)
        if character.lower() in _CLASSES:
            return CharacterClass(_CLASSES[character.lower()], negated=True)
        return Literal(self._character(character))

    def _character(self, escaped: str) -> str:
        """The character that a backslash and this character, with digits after it, stand for."""
        if escaped in _CONTROLS:
            return _CONTROLS[escaped]
        if escaped in ("x", "u"):
            digits = "".join(self._take() for _ in range(2 if escaped == "x" else 4))
            if (
                not re.fullmatch("[0-9a-fA-F]+", digits)
                or "\ud800" <= chr(int(digits, 16)) <= "\udfff"
            ):
                raise NotReadError("a character by its number")
            return chr(int(digits, 16))
        if escaped.isalnum() or not escaped.isascii():
            raise NotReadError(f"\\{escaped}")
        return escaped

    def _class(self) -> Node:
        """A class of characters in brackets."""
        negated = self._peek() == "^"
        if negated:
            self._take()
        inside: list[str] = []
        while (character := self._take()) != "]" or not inside:
            if character in "[&^" or (character == "]" and not inside):
                # Java nests and intersects classes.
                raise NotReadError("a class within a class")
            if character == "\\":
                character = self._take()
                if character in _CLASSES:
                    inside.append(_CLASSES[character])
                    continue
                character = self._character(character)
            elif character == "-" and inside and self._peek() != "]":
                # Between two characters it makes a range; as the first or the last it is a hyphen.
                inside.append(self._range_end(inside))
                continue
            inside.append(_in_class(character))
        return CharacterClass("".join(inside), negated)

    def _range_end(self, inside: list[str]) -> str:
        """The end of a range of characters, with the hyphen before it."""
        character = self._take()
        if character == "\\":
            character = self._take()
            if character.lower() in _CLASSES:
                raise NotReadError("a range to a class")
            character = self._character(character)
        if character in "[&" or len(inside[-1]) > 2 or inside[-1].startswith("-"):
            raise NotReadError("an odd range")
        if _in_class(character).removeprefix("\\") < inside[-1].removeprefix("\\"):
            raise NotReadError("a range backwards")
        return "-" + _in_class(character)

    def _repeated(self, node: Node) -> Node:
        """The node with the repetition that follows it, if one does."""
        character = self._peek()
        if character in ("*", "+", "?") and character:
            self._take()
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[character]
        elif character == "{":
            found = _COUNT.match(self._pattern, self._position)
            if found is None:
                raise NotReadError("a brace that counts nothing")
            self._position = found.end()
            least = int(found[1])
            most = least if not found[2] else int(found[3]) if found[3] else None
            if most is not None and most < least:
                raise NotReadError("a count backwards")
        else:
            return node
        if isinstance(node, Anchor):
            raise NotReadError("an anchor repeated")
        how = self._take() if self._peek() in ("?", "+") and self._peek() else ""
        if self._peek() in ("*", "+", "?", "{") and self._peek():
            raise NotReadError("a repetition of a repetition")
        return Repeat(node, least, most, how)


def _in_class(character: str) -> str:
    """A character as it is written inside a class of Python's."""
    return re.escape(character) if character.isascii() and not character.isalnum() else character


def _python(node: Node, *, dot_all: bool) -> str:
    """A tree as a pattern of Python's."""
    match node:
        case Literal(text):
            return re.escape(text)
        case AnyCharacter():
            return r"[\s\S]" if dot_all else f"[^{_LINE_ENDS}]"
        case CharacterClass(inside, negated):
            return f"[{'^' if negated else ''}{inside}]"
        case Anchor(end):
            return _AT_END if end else r"\A"
        case Repeat(inner, least, most, how):
            upper = "" if most is None else str(most)
            return f"(?:{_python(inner, dot_all=dot_all)}){{{least},{upper}}}{how}"
        case Sequence(nodes):
            return "".join(f"(?:{_python(n, dot_all=dot_all)})" for n in nodes)
        case Alternatives(nodes):
            return "(?:" + "|".join(_python(n, dot_all=dot_all) for n in nodes) + ")"


def _anchored(node: Node) -> list[Anchored] | None:
    """The literals that a pattern is equivalent to; None if it is to none."""
    nodes = list(node.nodes) if isinstance(node, Sequence) else [node]
    at_start = bool(nodes) and nodes[0] == Anchor(end=False)
    nodes = nodes[1:] if at_start else nodes
    at_end = bool(nodes) and nodes[-1] == Anchor(end=True)
    nodes = nodes[:-1] if at_end else nodes
    # What may be anything at an end need not be looked at: the literal is found without it. Behind
    # an anchor that holds if the points before the literal reach over line ends, too.
    if nodes and _is_anything(nodes[0]):
        at_start = False
        nodes = nodes[1:]
    if nodes and _is_anything(nodes[-1]):
        at_end = False
        nodes = nodes[:-1]
    texts = _texts(Sequence(tuple(nodes)))
    if texts is None or not all(texts):
        return None
    return [Anchored(text, at_start, at_end) for text in texts]


def _is_anything(node: Node) -> bool:
    """Whether a node matches any characters, or none."""
    return (
        isinstance(node, Repeat)
        and isinstance(node.node, AnyCharacter)
        and node.least == 0
        and node.most is None
        and node.how != "+"
    )


def _texts(node: Node) -> list[str] | None:
    """All strings that a node matches; None if they are too many."""
    match node:
        case Literal(text):
            return [text]
        case Alternatives(nodes):
            parts = [_texts(n) for n in nodes]
            known = [part for part in parts if part is not None]
            listed = [text for part in known for text in part]
            return listed if len(known) == len(parts) and len(listed) <= _MOST_LITERALS else None
        case Sequence(nodes):
            parts = [_texts(n) for n in nodes]
            known = [part for part in parts if part is not None]
            if len(known) < len(parts):
                return None
            count = 1
            for part in known:
                count *= len(part)
            if count > _MOST_LITERALS:
                return None
            return ["".join(texts) for texts in product(*known)]
        case Repeat(inner, 0, 1, how) if how != "+":
            texts = _texts(inner)
            return None if texts is None else [*texts, ""]
        case _:
            return None


def _needed(node: Node) -> frozenset[str] | None:
    """Literals of which every match contains one; the longest that are found."""
    match node:
        case Literal(text):
            return frozenset({text})
        case Alternatives(nodes):
            parts = [_needed(n) for n in nodes]
            known = [part for part in parts if part is not None]
            return frozenset().union(*known) if len(known) == len(parts) else None
        case Sequence(nodes):
            parts = [part for n in nodes if (part := _needed(n)) is not None]
            return max(parts, key=lambda part: min(map(len, part)), default=None)
        case Repeat(inner, least, _, _) if least >= 1:
            return _needed(inner)
        case _:
            return None
