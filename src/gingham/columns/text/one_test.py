"""One test over many strings at once."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gingham.core.arrays import Array, Bools, Ints
from gingham.logical.predicate import TextTest

_KERNELS = {
    "contains": "match_substring",
    "startswith": "starts_with",
    "endswith": "ends_with",
    "like": "match_like",
}
_CANDIDATES = 0.5  # of the strings: if more are left, all may as well be looked at


def is_simple(test: TextTest) -> bool:
    """Whether a test can be answered for all strings at once: all but regular expressions."""
    return test.kind in _KERNELS


def where_true(values: pa.Array, test: TextTest) -> Bools:
    """Where a simple test of strings is true; false for NULL."""
    literal = test.pattern
    if test.kind == "like":
        if (found := re.fullmatch(r"%([^%_\\]+)%", test.pattern)) is None:
            return _like(values, test)
        literal = found[1]
    elif test.kind != "contains":
        return _by_arrow(values, test)
    return _contains(values, literal.encode()) if literal else _by_arrow(values, test)


def _by_arrow(values: pa.Array, test: TextTest) -> Bools:
    """Where a test is true, as Arrow finds it."""
    options = pc.MatchSubstringOptions(test.pattern)
    found = pc.call_function(_KERNELS[test.kind], [values], options)
    return np.asarray(found.fill_null(False).to_numpy(zero_copy_only=False), dtype=bool)


def _like(values: pa.Array, test: TextTest) -> Bools:
    """Where a pattern of LIKE fits; one in several parts is tried only where its ends do."""
    first, *others = re.split("[%_]", test.pattern)
    last = others[-1] if others else ""
    simple = "_" not in test.pattern and len(others) <= 1
    if "\\" in test.pattern or simple or not (first or last):
        return _by_arrow(values, test)
    likely = np.ones(len(values), dtype=bool)
    for end in (TextTest("startswith", first), TextTest("endswith", last)):
        if end.pattern:
            likely &= _by_arrow(values, end)
    index = np.flatnonzero(likely)
    if len(index) > _CANDIDATES * len(values):
        return _by_arrow(values, test)
    likely[index] = _by_arrow(values.take(pa.array(index)), test)
    return likely


def _contains(values: pa.Array, literal: bytes) -> Bools:
    """Where strings contain a literal, found in one pass over the bytes of all of them."""
    found = np.zeros(len(values), dtype=bool)
    offsets, data = _bytes(values)
    ends = len(data) - len(literal) + 1
    if ends <= 0:
        return found
    # Two bytes leave so few places that the others are looked at only there.
    hits = data[:ends] == literal[0]
    if len(literal) > 1:
        hits &= data[1 : ends + 1] == literal[1]
    places = np.flatnonzero(hits)
    for i, byte in enumerate(literal[2:], 2):
        places = places[data[places + i] == byte]
    strings = np.searchsorted(offsets, places, side="right") - 1
    found[strings[places + len(literal) <= offsets[strings + 1]]] = True
    return found & values.is_valid().to_numpy(zero_copy_only=False)


def _bytes(values: pa.Array) -> tuple[Ints, Array]:
    """Where each string of an array begins and ends, and the bytes of all of them."""
    _, offsets, data = values.buffers()
    kind = np.int64 if pa.types.is_large_string(values.type) else np.int32
    if offsets is None or data is None:
        return np.zeros(len(values) + 1, dtype=np.int64), np.empty(0, dtype=np.uint8)
    own = np.frombuffer(offsets, dtype=kind)[values.offset : values.offset + len(values) + 1]
    own = own.astype(np.int64)
    return own - own[0], np.frombuffer(data, dtype=np.uint8)[own[0] : own[-1]]
