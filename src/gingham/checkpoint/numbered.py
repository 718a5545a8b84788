"""Files that are named by numbers, so that their names sort as the numbers do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from gingham.checkpoint.files import Files
from gingham.checkpoint.seal import read_table


def padded(number: int) -> str:
    """A number as a name.

    >>> padded(340)
    '000000000340'
    """
    return f"{number:012d}"


def table_name(number: int) -> str:
    """The name of a table."""
    return f"{padded(number)}.arrow"


def number_of(name: str) -> int:
    """The number that a name stands for."""
    return int(name.partition(".")[0])


def newest_table(files: Files) -> tuple[pa.Table, dict[str, Any]] | None:
    """The table with the highest number and what is known about it; None if there are none."""
    found = files.names()
    return read_table(files, found[-1]) if found else None


def tables_after(files: Files, number: int) -> Iterator[tuple[pa.Table, dict[str, Any]]]:
    """The tables with higher numbers and what is known about each, in order."""
    for name in files.names():
        if number_of(name) > number:
            yield read_table(files, name)
