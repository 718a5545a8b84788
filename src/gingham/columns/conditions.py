"""Conditions over a chunk of rows: vectors of flags, each comparison made once for all queries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from gingham.columns.codes import Codes
from gingham.columns.inputs import Inputs
from gingham.columns.program import AttributeInput
from gingham.columns.text.matcher import matcher
from gingham.columns.text.string_order import StringOrder
from gingham.columns.vectors import (
    DIGITS_OF_A_LONG,
    Numbers,
    decimal_words,
    gathered,
    vector,
)
from gingham.core.arrays import Array, Bools, Ints
from gingham.logical.domain import END, START, Domain
from gingham.logical.predicate import Always, And, Not, Or, Predicate, Span, TextTest


class _Leaf(NamedTuple):
    """Whether a span is true, or false: a comparison that is made once for a chunk."""

    attribute: str
    low: Any
    high: Any
    on_null: bool | None
    wanted: bool


class _All(NamedTuple):
    """Rows that meet all parts."""

    parts: tuple[Node, ...]


class _Some(NamedTuple):
    """Rows that meet some part."""

    parts: tuple[Node, ...]


class _Constant(NamedTuple):
    """All rows, or none."""

    value: bool


Node = _Leaf | _All | _Some | _Constant


def compile_condition(predicate: Predicate, *, wanted: bool = True) -> Node:
    """The rows for which a predicate is true, or false: without negations, and without NULL.

    A negation changes what is wanted of its term, so NULL never has to be told from false.
    """
    match predicate:
        case Always(value):
            return _Constant(value is wanted)
        case Not(term):
            return compile_condition(term, wanted=not wanted)
        case And(terms) | Or(terms):
            parts = tuple(compile_condition(term, wanted=wanted) for term in terms)
            return _All(parts) if isinstance(predicate, And) == wanted else _Some(parts)
        case Span(attribute, low, high, on_null):
            return _Leaf(attribute.sql, low, high, on_null, wanted)
        case _:
            raise TypeError(f"{predicate} has no type yet")


@dataclass(frozen=True, slots=True)
class _Values:
    """The values of an attribute in a chunk, and what was found out about them."""

    domain: Domain
    column: pa.Array
    codes: Codes | None  # of strings
    strings: StringOrder | None  # of their distinct values
    numbers: Array  # of what is compared as numbers
    valid: Bools | None
    at_least: dict[Any, Bools]

    def inside(self, low: Any, high: Any) -> Bools:
        """Where the values lie between two bounds; anything where they are NULL."""
        if high is START or low is END:
            return np.zeros(len(self.column), dtype=bool)
        if self.codes is not None:
            return self._strings_inside(low, high, self.codes)
        if high is END:
            return self._at_least(low)
        below = ~self._at_least(high)
        return below if low is START else self._at_least(low) & below

    def _strings_inside(self, low: Any, high: Any, codes: Codes) -> Bools:
        """Where strings lie between two bounds, in the order of their bytes."""
        order = self.strings
        assert order is not None
        if low is not START and high == f"{low}\0":
            inside = order.equal(low)
        elif high is END:
            assert low is not START, "all strings are a negation: that of IS NULL"
            inside = order.at_least(low)
        else:
            inside = ~order.at_least(high)
            if low is not START:
                inside &= order.at_least(low)
        return gathered(inside, codes.numbers)

    def _at_least(self, cut: Any) -> Bools:
        """Where the values are at least a cut; each cut is compared once."""
        key = "NaN" if isinstance(cut, float) and math.isnan(cut) else cut
        if key not in self.at_least:
            self.at_least[key] = self._compare(cut)
        return self.at_least[key]

    def _compare(self, cut: Any) -> Bools:
        """Where the values are at least a cut."""
        if cut is START or cut is END:
            return np.full(len(self.column), cut is START)
        if self.domain.kind == "decimal" and self.domain.precision > DIGITS_OF_A_LONG:
            return _decimals_at_least(decimal_words(self.column), cut)
        numbers = self.numbers
        if self.domain.kind == "double":
            if math.isnan(cut):
                return np.isnan(numbers)
            # NaN is above all numbers.
            return ~(numbers < cut)
        if self.domain.kind == "boolean":
            return numbers.astype(bool)
        return numbers >= cut


def _decimals_at_least(words: Array, cut: int) -> Bools:
    """Where decimals of two words each are at least a cut, which is without scale, too."""
    upper, lower = cut >> 64, cut & ((1 << 64) - 1)
    high, low = words[:, 1], words[:, 0].view(np.uint64)
    return (high > upper) | ((high == upper) & (low >= np.uint64(lower)))


class TextTests:
    """The tests of strings in a program, input by input."""

    def __init__(self, attributes: Mapping[str, AttributeInput]) -> None:
        self._tests: dict[int, list[TextTest]] = {}
        for attribute in attributes.values():
            if attribute.test is not None:
                self._tests.setdefault(attribute.input, []).append(attribute.test)

    def matches(self, number: int, values: pa.Array) -> dict[TextTest, Ints]:
        """For each test of an input that is true anywhere: the positions of these values."""
        tests = tuple(dict.fromkeys(self._tests[number]))
        return {tests[test]: where for test, where in matcher(tests).positions(values).items()}


class ChunkConditions:
    """The conditions of a program over one chunk of rows."""

    def __init__(
        self,
        nodes: Sequence[Node],
        attributes: Mapping[str, AttributeInput],
        inputs: Inputs,
        rows: int,
        tests: TextTests,
    ) -> None:
        self._nodes = nodes
        self._attributes = attributes
        self._inputs = inputs
        self._tests = tests
        self._matches: dict[int, dict[TextTest, Ints]] = {}
        self._values: dict[str, _Values] = {}
        self._leaves: dict[_Leaf, Bools] = {}
        self._found: dict[int, Bools] = {}
        self._rows = rows
        self._nowhere = np.zeros(self._rows, dtype=bool)

    def holds(self, number: int) -> Bools:
        """A flag for each row: whether it meets the condition with this number."""
        if number not in self._found:
            self._found[number] = self._flags(self._nodes[number])
        return self._found[number]

    def _flags(self, node: Node) -> Bools:
        """A flag for each row: whether it meets a part of a condition."""
        match node:
            case _Constant(value):
                return np.full(self._rows, value)
            case _All(parts):
                flags = self._flags(parts[0])
                for part in parts[1:]:
                    if not flags.any():
                        break
                    flags = flags & self._flags(part)
                return flags
            case _Some(parts):
                flags = self._flags(parts[0])
                for part in parts[1:]:
                    flags = flags | self._flags(part)
                return flags
            case _Leaf():
                if node not in self._leaves:
                    self._leaves[node] = self._compare(node)
                return self._leaves[node]

    def _compare(self, leaf: _Leaf) -> Bools:
        """A flag for each row: whether a span is true there, or false if that is wanted."""
        values = self._values_of(leaf.attribute)
        inside = (
            self._tested(leaf.attribute)
            if self._attributes[leaf.attribute].test is not None
            else values.inside(leaf.low, leaf.high)
        )
        flags = inside if leaf.wanted else ~inside
        if values.valid is None:
            return flags
        if leaf.on_null is leaf.wanted:
            return flags | ~values.valid
        return flags & values.valid

    def _tested(self, attribute: str) -> Bools:
        """A flag for each row: whether the test of a string is true; anything for NULL."""
        number, test = self._attributes[attribute].input, self._attributes[attribute].test
        assert test is not None
        codes = self._inputs.codes(number)
        if number not in self._matches:
            self._matches[number] = self._tests.matches(number, codes.values)
        found = self._matches[number].get(test)
        if found is None:
            return self._nowhere
        flags = np.zeros(codes.count, dtype=bool)
        flags[found] = True
        return gathered(flags, codes.numbers)

    def _values_of(self, attribute: str) -> _Values:
        """The values of an attribute, read once."""
        if attribute not in self._values:
            number, domain = (a := self._attributes[attribute]).input, a.domain
            column, numbers, codes = self._inputs[number], self._nowhere, None
            if pa.types.is_string(column.type):
                codes = self._inputs.codes(number)
            elif pa.types.is_decimal(column.type):
                numbers = np.ascontiguousarray(decimal_words(column)[:, 0])
            elif isinstance(read := vector(column), Numbers):
                numbers = read.values
            valid = None
            if column.null_count:
                valid = np.asarray(column.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
            strings = None if codes is None else StringOrder(codes.values)
            self._values[attribute] = _Values(domain, column, codes, strings, numbers, valid, {})
        return self._values[attribute]
