"""The inputs of a program for one chunk of rows: what Spark sent, and what is looked up in maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from gingham.columns.codes import Codes, coded
from gingham.columns.program import MapLookup, Program
from gingham.core.arrays import Array, Ints


class Inputs:
    """The columns of a chunk by the numbers of a program's inputs, each made when it is needed."""

    def __init__(self, program: Program, sent: Sequence[pa.Array]) -> None:
        """`sent` are the inputs that Spark evaluated, in their order."""
        self._program = program
        self._columns = dict(zip(program.sent, sent, strict=True))
        self._codes: dict[int, Codes] = {}
        self._maps: dict[int, _Entries] = {}

    def __getitem__(self, number: int) -> pa.Array:
        if number not in self._columns:
            codes = self.codes(number)
            self._columns[number] = codes.values.take(pa.array(codes.numbers))
        return self._columns[number]

    def codes(self, number: int) -> Codes:
        """The distinct values of an input, found once."""
        if number not in self._codes:
            lookup = self._program.inputs[number]
            self._codes[number] = (
                self._looked_up(lookup)
                if isinstance(lookup, MapLookup)
                else coded(self._columns[number])
            )
        return self._codes[number]

    def _looked_up(self, lookup: MapLookup) -> Codes:
        """The distinct values that a key has in the maps of all rows."""
        if lookup.map not in self._maps:
            self._maps[lookup.map] = _Entries.of(self._columns[lookup.map])
        return self._maps[lookup.map].values_of(lookup.key, lookup.default)


@dataclass(frozen=True, slots=True)
class _Entries:
    """The entries of all maps in a column: of which row each is, its key and value as codes."""

    rows: int
    row_of: Ints
    keys: dict[str, int]
    key_numbers: Array
    values: Codes

    @classmethod
    def of(cls, maps: pa.MapArray) -> _Entries:
        """Read the entries of maps from strings to strings."""
        # A map that is NULL may have entries in Arrow's buffers, but none in SQL.
        offsets = np.asarray(maps.offsets)
        lengths = np.diff(offsets)
        if maps.null_count:
            lengths = np.where(maps.is_valid().to_numpy(zero_copy_only=False), lengths, 0)
        row_of = np.repeat(np.arange(len(maps)), lengths)
        places = (
            offsets[:-1][row_of]
            + np.arange(len(row_of))
            - np.repeat(np.cumsum(lengths) - lengths, lengths)
        )
        index = pa.array(places)
        keys, values = coded(maps.keys.take(index)), coded(maps.items.take(index))
        known = {key: number for number, key in enumerate(keys.values.to_pylist())}
        return cls(len(maps), row_of, known, keys.numbers, values)

    def values_of(self, key: str, default: str | None) -> Codes:
        """The values of a key in all rows; the default, or NULL, where there is none."""
        places = np.flatnonzero(self.key_numbers == self.keys.get(key, -1))
        # From the last to the first: if a map has a key twice, its first entry counts.
        used, numbers = np.unique(self.values.numbers[places], return_inverse=True)
        values = self.values.values.take(pa.array(used))
        if default is not None:
            values = values.fill_null(default)
        of_row = np.full(self.rows, len(used), dtype=np.int64)
        of_row[self.row_of[places][::-1]] = numbers[::-1]
        rest = pa.array([default], values.type)
        return _distinct(Codes(pa.concat_arrays([values, rest]), of_row))


def _distinct(codes: Codes) -> Codes:
    """The same values, each with one code only."""
    again = coded(codes.values)
    if again.count == codes.count:
        return codes
    return Codes(again.values, again.numbers[codes.numbers])
