"""Literals found in the bytes of many strings at once."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa

from gingham.columns.text.java_regex import Anchored
from gingham.core.arrays import Array, Ints

_FEW_LITERALS = 12  # that are looked for one after the other, without an index
_PAIRS = 1 << 16


class ByteSearch:
    """Finds literals in strings without NULL, whose bytes stand one after the other.

    Few literals are looked for in one pass over all bytes each. Before many are, the positions of
    all pairs of bytes are sorted by pair, and each is looked for only where its rarest pair stands:

        strings    abc  bcb        positions of ab: 0, of bc: 1 3, of cb: 4
        bcb        bc 2 times, cb once: only position 4 - 1 = 3 is looked at
    """

    def __init__(self, offsets: Ints, data: Array, literals: int) -> None:
        """`offsets` has the start of each string and the end of the last; literals to come."""
        self._offsets, self._data = offsets, data
        self._sorted = literals > _FEW_LITERALS

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def holding(self, literal: Anchored) -> Ints:
        """The numbers of the strings that hold a literal, where it is looked for."""
        text = literal.text.encode()
        places = self._indexed(text) if self._sorted else self._scanned(text)
        if not len(places):
            return places
        strings = self._string_of(places)
        # A literal may not go on in the next string.
        fits = places + len(text) <= self._offsets[strings + 1]
        if literal.at_start:
            fits &= places == self._offsets[strings]
        if literal.at_end:
            fits &= places + len(text) == self._offsets[strings + 1]
        return np.unique(strings[fits])

    def _scanned(self, literal: bytes) -> Ints:
        """Where a literal begins, found by looking at every byte."""
        data, ends = self._data, len(self._data) - len(literal) + 1
        if ends <= 0:
            return np.empty(0, dtype=np.int64)
        # Two bytes leave so few places that the others are looked at only there.
        hits = data[:ends] == literal[0]
        if len(literal) > 1:
            hits &= data[1 : ends + 1] == literal[1]
        places = np.flatnonzero(hits)
        for i, byte in enumerate(literal[2:], 2):
            places = places[data[places + i] == byte]
        return places

    def _indexed(self, literal: bytes) -> Ints:
        """Where a literal begins, found by its rarest pair of bytes."""
        order, bounds = self._index
        if len(literal) == 1:
            first = literal[0] << 8
            return order[bounds[first] : bounds[first + 256]]
        found = np.frombuffer(literal, dtype=np.uint8)
        pairs = _pairs(found)[:-1]
        begins, ends = bounds[pairs], bounds[pairs.astype(np.int64) + 1]
        rarest = int((ends - begins).argmin())
        places = order[begins[rarest] : ends[rarest]] - rarest
        if len(literal) > 2:
            last = len(self._data) - len(literal)
            places = places[(places >= 0) & (places <= last)]
            # Every second pair, and the last one, are all bytes.
            for i in (*range(0, len(pairs) - 1, 2), len(pairs) - 1):
                if not len(places):
                    break
                if i != rarest:
                    places = places[self._codes[places + i] == pairs[i]]
        return places

    @cached_property
    def _codes(self) -> Array:
        """Each byte and the next one as one number; behind the last stands a zero."""
        return _pairs(self._data)

    @cached_property
    def _index(self) -> tuple[Ints, Ints]:
        """The positions in the order of their pairs, and where those of each pair begin."""
        bounds = np.zeros(_PAIRS + 1, dtype=np.int64)
        np.cumsum(np.bincount(self._codes, minlength=_PAIRS), out=bounds[1:])
        return np.argsort(self._codes, kind="stable"), bounds

    def _string_of(self, places: Ints) -> Ints:
        """The number of the string that each position is in."""
        if self._sorted:
            return self._strings[places]
        return np.searchsorted(self._offsets, places, side="right") - 1

    @cached_property
    def _strings(self) -> Ints:
        return np.repeat(np.arange(len(self)), np.diff(self._offsets))


def _pairs(data: Array) -> Array:
    """Each byte and the next one as one number; behind the last stands a zero."""
    codes = data.astype(np.uint16) << np.uint16(8)
    codes[:-1] |= data[1:]
    return codes


def bytes_of(values: pa.Array) -> tuple[Ints, Array]:
    """Where each string of an array begins and ends, and the bytes of all of them."""
    _, offsets, data = values.buffers()
    kind = np.int64 if pa.types.is_large_string(values.type) else np.int32
    if offsets is None or data is None:
        return np.zeros(len(values) + 1, dtype=np.int64), np.empty(0, dtype=np.uint8)
    own = np.frombuffer(offsets, dtype=kind)[values.offset : values.offset + len(values) + 1]
    own = own.astype(np.int64)
    return own - own[0], np.frombuffer(data, dtype=np.uint8)[own[0] : own[-1]]
