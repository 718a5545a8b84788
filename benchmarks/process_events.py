"""Process creations of Windows, repeated to any number: a third of the command lines is new."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

import pyarrow as pa

START = datetime(2024, 3, 1, tzinfo=UTC)
RATE = 28.0  # events a second
CHANGED = 0.3  # the part of all events whose texts are changed
CHUNK = 50_000  # events that are in memory at once

# What rules look at; a field that the events do not have is NULL.
FIELDS = (
    "Image",
    "CommandLine",
    "ParentImage",
    "ParentCommandLine",
    "OriginalFileName",
    "Description",
    "Product",
    "Company",
    "FileVersion",
    "Hashes",
    "IntegrityLevel",
    "User",
    "ParentUser",
    "CurrentDirectory",
    "LogonId",
    "Provider_Name",
)
_TEXTS = ("CommandLine", "ParentCommandLine", "CurrentDirectory", "LogonId")
_PATHS = ("Image", "ParentImage", *_TEXTS)
_SCHEMA = pa.schema(
    [("ts", pa.timestamp("us", tz="UTC")), ("host", pa.string())]
    + [(field, pa.string()) for field in FIELDS]
)

_HEX = re.compile(r"(?<=0x)[0-9a-fA-F]+|\b[0-9a-fA-F]{8,}\b")
# Two digits and more, not after a letter: others are part of names, such as `system32` and `/4`.
_DIGITS = re.compile(r"(?<![A-Za-z\d])\d{2,}(?!\w*\.exe)")
_HOME = re.compile(r"(?i)(?<=\\users\\)(?!public\b|default\b|all users\b)[^\\\"/]+")
_NAMES = ("amira", "bjorn", "chen", "dalia", "emre", "fatou", "goran", "hana", "ines", "jonas")


def event_tables(events: Sequence[Mapping[str, str | None]], rows: int) -> Iterator[pa.Table]:
    """Repeat events to so many rows in the order of their time, in tables of at most `CHUNK`.

    Equal arguments give equal rows.
    """
    for start in range(0, rows, CHUNK):
        numbers = range(start, min(rows, start + CHUNK))
        yield pa.Table.from_pylist([_event(events, n) for n in numbers], _SCHEMA)


def _event(events: Sequence[Mapping[str, str | None]], number: int) -> dict[str, object]:
    """The event of a row number: one of the events, changed or as it is."""
    rng = random.Random(number)
    event = rng.choice(events)
    row: dict[str, object] = {field: event.get(field) for field in FIELDS}
    row["ts"] = int(START.timestamp() * 1e6 + number / RATE * 1e6)
    row["host"] = event["Hostname"]
    if rng.random() < CHANGED:
        row |= _changed(event, rng)
    return row


def _changed(event: Mapping[str, str | None], rng: random.Random) -> dict[str, str]:
    """The fields of an event with another user, other digits and other hexadecimal numbers."""
    user = f"{rng.choice(_NAMES)}{rng.randrange(1000)}"
    found = {field: value for field in _PATHS if (value := event.get(field))}
    changed = {field: _HOME.sub(user, value) for field, value in found.items()}
    for field in _TEXTS:
        if field in changed:
            changed[field] = _other_numbers(changed[field], rng)
    if (name := event.get("User")) and not name.startswith("NT AUTHORITY"):
        changed["User"] = name.rpartition("\\")[0] + "\\" + user
    line = changed.get("CommandLine", "")
    if line == event.get("CommandLine"):
        # Nothing in it to change: it gets a path at its end.
        file = f"{rng.randrange(1 << 32):08x}"
        changed["CommandLine"] = f'{line} "C:\\Users\\{user}\\Documents\\{file}.txt"'
    return changed


def _other_numbers(text: str, rng: random.Random) -> str:
    """A text with other digits in the place of its numbers, as many as there were."""

    def other(found: re.Match[str]) -> str:
        alphabet = "0123456789" if found[0].isdigit() else "0123456789abcdef"
        return "".join(rng.choice(alphabet) for _ in found[0])

    return _DIGITS.sub(other, _HEX.sub(other, text))
