"""Encode join keys of any type as 64-bit words: equal keys have equal words."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from gingham.core.arrays import Bools, Words
from gingham.core.errors import AnswerError


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A column of join keys as words, which of them are not NULL, and the kind of their type.

    Keys of different kinds must not be joined. The kind of a column of NULLs is "": it fits all.
    """

    words: Words
    present: Bools
    kind: str


def encode_keys(column: npt.ArrayLike) -> KeyColumn:
    """Encode join keys as words: integers as they are, doubles, dates, times as bits, text hashed.

    NULL is a masked value, None, or NaT. As in Spark, NaN equals NaN and -0.0 equals 0.0.
    Different texts have the same word with probability 2^-64 for each pair.
    """
    mask = np.ma.getmaskarray(column) if isinstance(column, np.ma.MaskedArray) else None
    values = np.asarray(np.ma.getdata(column))
    present = np.ones(len(values), dtype=np.bool_) if mask is None else ~mask
    match values.dtype.kind:
        case "i" | "b":
            return KeyColumn(values.astype(np.int64).view(np.uint64), present, "whole number")
        case "u":
            if (values[present] > np.uint64(2**63 - 1)).any():
                raise _refused_keys("a key beyond 63 bits", "it would equal a negative one")
            return KeyColumn(values.astype(np.uint64), present, "whole number")
        case "f":
            doubles = np.where(np.isnan(values), np.nan, values + 0.0).astype(np.float64)
            return KeyColumn(doubles.view(np.uint64), present, "float")
        case "M":
            kind = str(values.dtype)
            return KeyColumn(values.view(np.uint64), present & ~np.isnat(values), kind)
        case "O" | "U" | "S":
            return _encode_objects(values, present)
        case _:
            raise _refused_keys(f"keys of type {values.dtype}", "they have no 64-bit form")


def _encode_objects(values: npt.NDArray[np.generic], present: Bools) -> KeyColumn:
    """Encode join keys that are Python objects as 64-bit words: text, bytes or integers."""
    listed = [
        value if is_present else None
        for value, is_present in zip(values.tolist(), present.tolist(), strict=True)
    ]
    types = {type(value) for value in listed if value is not None}
    missing = np.array([value is None for value in listed], dtype=np.bool_)
    if not types:
        return KeyColumn(np.zeros(len(listed), dtype=np.uint64), ~missing, "")
    if types == {int}:
        whole = [value or 0 for value in listed]
        if max(map(abs, whole)) > 2**63 - 1:
            raise _refused_keys("a key beyond 63 bits", "it would equal another one")
        return encode_keys(np.ma.MaskedArray(np.array(whole, dtype=np.int64), missing))
    if len(types) > 1 or not types <= {str, bytes}:
        raise _refused_keys(
            f"keys of types {', '.join(sorted(t.__name__ for t in types))}",
            "a column has keys of one type: numbers, text or times",
        )
    words = {
        value: int.from_bytes(blake2b(_key_bytes(value), digest_size=8).digest(), "little")
        for value in set(listed)
    }
    return KeyColumn(
        np.array([words[value] for value in listed], dtype=np.uint64),
        ~missing,
        "bytes" if bytes in types else "text",
    )


def _key_bytes(value: str | bytes | None) -> bytes:
    """The bytes of a text join key, to be hashed to a word; none for None."""
    return value.encode() if isinstance(value, str) else value or b""


def _refused_keys(what: str, why: str) -> AnswerError:
    """The error of join keys that cannot be encoded as words for sketches."""
    return AnswerError(what, why, "whole numbers up to 63 bits, doubles, text, dates or times")
