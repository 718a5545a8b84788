"""Many strings compared with constants, in the order of their bytes."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gingham.columns.text.byte_search import bytes_of
from gingham.core.arrays import Array, Bools

_WIDTH = 8  # bytes that are compared as one number


class StringOrder:
    """Strings and their first eight bytes: a constant is compared in full only where these tie."""

    def __init__(self, values: pa.Array) -> None:
        self._values = values
        self._at_least: dict[str, Bools] = {}

    def at_least(self, cut: str) -> Bools:
        """Where the strings are at least a constant, compared once; anything for NULL."""
        if cut not in self._at_least:
            start = _number(cut)
            flags = self._starts > start
            self._settle(flags, start, "greater_equal", cut)
            self._at_least[cut] = flags
        return self._at_least[cut]

    def equal(self, text: str) -> Bools:
        """Where the strings are a constant; anything for NULL."""
        flags = np.zeros(len(self._values), dtype=bool)
        self._settle(flags, _number(text), "equal", text)
        return flags

    def _settle(self, flags: Bools, start: np.uint64, kernel: str, constant: str) -> None:
        """Compare in full the strings that start as a constant does."""
        ties = np.flatnonzero(self._starts == start)
        if len(ties):
            found = pc.call_function(kernel, [self._values.take(pa.array(ties)), constant])
            flags[ties] = found.fill_null(False).to_numpy(zero_copy_only=False)

    @cached_property
    def _starts(self) -> Array:
        """The first bytes of each string as a number, with zeros behind its end."""
        offsets, data = bytes_of(self._values)
        lengths = np.diff(offsets)
        starts = np.zeros(len(self._values), dtype=np.uint64)
        if len(data):
            for i in range(_WIDTH):
                # Behind the end of the string stands anything: it is cleared.
                byte = data[np.minimum(offsets[:-1] + i, len(data) - 1)]
                starts = (starts << np.uint64(8)) | np.where(lengths > i, byte, 0).astype(np.uint64)
        return starts


def _number(text: str) -> np.uint64:
    """The first bytes of a constant as a number."""
    return np.uint64(int.from_bytes(text.encode()[:_WIDTH].ljust(_WIDTH, b"\0"), "big"))
