"""Many tests over one string at once: their literals are found in one pass over its bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise

import numpy as np
import pyarrow as pa
from ahocorasick_rs import BytesAhoCorasick, Implementation

from gingham.columns.text.byte_search import ByteSearch, bytes_of
from gingham.columns.text.java_regex import Anchored, NotReadError, Regex, read_regex
from gingham.columns.text.like import like_in_parts, read_like
from gingham.core.arrays import Ints
from gingham.logical.predicate import TextTest

_REMEMBERED = 1 << 26  # bytes of strings whose answers are kept
_FEW_TESTS = 1024  # of one column that are answered for all strings at once
_BLOCK = 1 << 22  # bytes of strings in which literals are found together
_LINE_ENDS = re.compile(rb"[\n\r]")


@dataclass(frozen=True, slots=True)
class _Search:
    """How one test is decided: by literals that are found, or that make it worth a look.

    Literals decide alone in plain strings, or in all strings if `exact`; where they do not, the
    pattern does. Without literals the pattern is looked for in every string.
    """

    literals: Sequence[Anchored] | None
    decide: bool
    exact: bool
    folded: bool
    pattern: re.Pattern[str] | None


def can_be_matched(test: TextTest) -> bool:
    """Whether a test can be answered here with certainty, as Spark would."""
    try:
        _search(test)
    except NotReadError:
        return False
    return True


@lru_cache(1 << 14)
def _search(test: TextTest) -> _Search:
    """How a test is decided; raises if that is left to Spark."""
    if test.kind in ("contains", "startswith", "endswith"):
        at = Anchored(test.pattern, test.kind == "startswith", test.kind == "endswith")
        if not test.pattern:
            return _Search(None, decide=False, exact=True, folded=False, pattern=re.compile(""))
        return _Search([at], decide=True, exact=True, folded=False, pattern=None)
    regex = read_like(test.pattern) if test.kind == "like" else read_regex(test.pattern)
    return _of_regex(regex, exact=test.kind == "like")


def _of_regex(regex: Regex, *, exact: bool) -> _Search:
    """How a regular expression, or a pattern of LIKE, is decided."""
    folded, literals = regex.ignores_case, regex.literals()
    decide = literals is not None
    if literals is None:
        needed = regex.needed()
        literals = None if needed is None else [Anchored(text, False, False) for text in needed]
    if literals is not None and folded:
        literals = [Anchored(_fold(a.text), a.at_start, a.at_end) for a in literals]
    try:
        pattern = regex.compiled()
    except (re.error, OverflowError, RecursionError) as error:
        raise NotReadError(str(error)) from error
    return _Search(literals, decide, exact, folded, pattern)


def _fold(text: str) -> str:
    """A text in which letters that are equal in some case are the same, by Java's rule for them."""
    return text.lower() if text.isascii() else "".join(map(_folded_character, text))


@cache
def _folded_character(character: str) -> str:
    """A character in upper and then in lower case, if these are single characters."""
    if character == "İ":
        return "i"
    upper = character.upper()
    lower = upper.lower() if len(upper) == 1 else character.lower()
    return lower if len(lower) == 1 else character


class _Automaton:
    """Finds the literals of many tests in a string."""

    def __init__(self, searches: Iterable[tuple[int, _Search]]) -> None:
        self._uses: list[list[tuple[int, bool, bool, bool, bool]]] = []
        numbers: dict[bytes, int] = {}
        for test, search in searches:
            for literal in search.literals or ():
                number = numbers.setdefault(literal.text.encode(), len(numbers))
                if number == len(self._uses):
                    self._uses.append([])
                self._uses[number].append(
                    (test, literal.at_start, literal.at_end, search.decide, search.exact)
                )
        self._search = (
            BytesAhoCorasick(list(numbers), implementation=Implementation.ContiguousNFA)
            if numbers
            else None
        )

    def find(self, text: bytes, *, plain: bool, found: set[int], likely: set[int]) -> None:
        """Add the tests that are true of a string, and those that its pattern must decide."""
        if self._search is None:
            return
        length = len(text)
        for number, start, end in self._search.find_matches_as_indexes(text, overlapping=True):
            for test, at_start, at_end, decide, exact in self._uses[number]:
                if decide and (plain or exact):
                    if (not at_start or start == 0) and (not at_end or end == length):
                        found.add(test)
                else:
                    likely.add(test)


class TextMatcher:
    """The tests of one column, answered for many distinct strings.

    Tests by literals go over all strings at once, unless there are very many. Otherwise, and for
    regular expressions, one string is looked at after the other, for all tests together.
    """

    def __init__(self, tests: Sequence[TextTest]) -> None:
        searches = [(number, _search(test)) for number, test in enumerate(tests)]
        literal = [(n, s.literals[0]) for n, s in searches if s.exact and s.literals and s.decide]
        self._literals = literal if len(literal) <= _FEW_TESTS else []
        done = {number for number, _ in self._literals}
        # A pattern of LIKE in several parts is quicker for Arrow than for Python.
        in_parts = {n for n, s in searches if tests[n].kind == "like" and not s.decide}
        in_parts = in_parts if len(in_parts) <= _FEW_TESTS else set()
        self._in_parts = [(number, tests[number].pattern) for number in sorted(in_parts)]
        searches = [pair for pair in searches if pair[0] not in done | in_parts]
        self._one_by_one = bool(searches)
        self._patterns = {number: search.pattern for number, search in searches}
        self._plain = _Automaton((n, s) for n, s in searches if not s.folded)
        self._folded = _Automaton((n, s) for n, s in searches if s.folded)
        self._always = frozenset(n for n, search in searches if search.literals is None)
        self._known: dict[bytes, tuple[int, ...]] = {}
        self._size = 0

    def positions(self, values: pa.Array) -> dict[int, Ints]:
        """For each test, by its number, that is true of some strings: their positions."""
        found = self._holding(values)
        for number, pattern in self._in_parts:
            found[number] = [np.flatnonzero(like_in_parts(values, pattern))]
        if self._one_by_one:
            true: dict[int, list[int]] = {}
            for position, text in enumerate(values.cast(pa.binary()).to_pylist()):
                for test in self.matches(text) if text is not None else ():
                    true.setdefault(test, []).append(position)
            found |= {test: [np.array(where, dtype=np.int64)] for test, where in true.items()}
        return {number: np.concatenate(parts) for number, parts in found.items()}

    def _holding(self, values: pa.Array) -> dict[int, list[Ints]]:
        """The positions of strings that hold the literal of a test, block by block."""
        found: dict[int, list[Ints]] = {}
        offsets, data = bytes_of(values)
        known = np.asarray(values.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
        cuts = np.searchsorted(offsets, np.arange(0, offsets[-1], _BLOCK))
        for low, high in pairwise([*np.unique(cuts), len(values)] if self._literals else ()):
            own = offsets[low : high + 1]
            search = ByteSearch(own - own[0], data[own[0] : own[-1]], len(self._literals))
            for number, literal in self._literals:
                strings = search.holding(literal) + low
                if len(strings := strings[known[strings]]):
                    found.setdefault(number, []).append(strings)
        return found

    def matches(self, text: bytes) -> tuple[int, ...]:
        """The numbers of the tests that are true of a string in UTF-8."""
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = self._match(text)
            self._size += len(text) + 8 * len(known) + 100
            if self._size > _REMEMBERED:
                self._known.clear()
                self._size = 0
        return known

    def _match(self, text: bytes) -> tuple[int, ...]:
        """The numbers of the tests that are true of a string, found by looking at it."""
        ascii_only = text.isascii()
        plain = ascii_only and _LINE_ENDS.search(text) is None
        found, likely = set[int](), set(self._always)
        self._plain.find(text, plain=plain, found=found, likely=likely)
        characters = None if ascii_only else text.decode(errors="replace")
        folded = text.lower() if characters is None else _fold(characters).encode()
        self._folded.find(folded, plain=plain, found=found, likely=likely)
        if likely:
            characters = text.decode() if characters is None else characters
            for test in likely - found:
                pattern = self._patterns[test]
                if pattern is not None and pattern.search(characters) is not None:
                    found.add(test)
        return tuple(found)


@lru_cache(64)
def matcher(tests: tuple[TextTest, ...]) -> TextMatcher:
    """The matcher of some tests; a process makes it once."""
    return TextMatcher(tests)
