"""Names of queries, streams and tables: which are refused, and the file name of each.

A file name is made of lower-case letters, digits, `-`, `_`, `.` and `~` only: URIs, globs and
Spark read nothing else into it, and it means the same on every file system.
"""

from __future__ import annotations

import base64
import re

from gingham.core.errors import GinghamError

LONGEST_NAME = 128  # bytes of UTF-8

_LONGEST_FILE_NAME = 210  # leaves room for endings and numbers within 255 bytes
# Windows keeps these for devices, also in front of a dot.
_DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)")
_ESCAPE = re.compile(r"~(?:([a-z])|([0-9]{3}))")
_WHOLE = "~~"  # before a name that is written in base 32, because it would be too long otherwise


def file_name(name: str) -> str:
    """The name of the file or folder that stands for a name: another one for every name.

    Two file names differ also where capitals do not count. None is hidden, a parent folder or a
    device.

    >>> [file_name(name) for name in ("big_caps", "v1.2", "Mid Caps", "..", "_x", "con", "")]
    ['big_caps', 'v1.2', '~mid~032~caps', '~046~046', '~095x', '~099on', '~']
    """
    content = name.encode()
    last = len(content) - 1
    escaped = "".join(_escaped(b, at, last) for at, b in enumerate(content)) or "~"
    if _DEVICES.match(escaped):
        escaped = f"~{content[0]:03d}{escaped[1:]}"
    if len(escaped) <= _LONGEST_FILE_NAME:
        return escaped
    return _WHOLE + base64.b32encode(content).decode().rstrip("=").lower()


def name_of(file: str) -> str:
    """The name that a file name stands for: the inverse of `file_name`."""
    if file.startswith(_WHOLE):
        digits = file.removeprefix(_WHOLE).upper()
        return base64.b32decode(digits + "=" * (-len(digits) % 8)).decode()
    found = _ESCAPE.sub(lambda m: m[1].upper() if m[1] else chr(int(m[2])), file.removesuffix("~"))
    return found.encode("latin-1").decode()


def check_name(name: object, kind: str, error: type[GinghamError]) -> str:
    """Give a name of a query, stream or table back, or raise why it cannot be used."""
    if not isinstance(name, str):
        shown = repr(name)[:40]
        raise error(f"{shown} as the name of a {kind}", "a name is a text", 'name="big_caps"')
    if not name.strip():
        raise error(f"an empty name of a {kind}", "it is found by its name", 'name="big_caps"')
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        raise error(
            f"{ascii(name)[:40]} as the name of a {kind}",
            "it holds half a character, which no file name can",
            "whole characters",
        ) from None
    if size > LONGEST_NAME:
        raise error(
            f"{name[:20]!r}... as the name of a {kind}: {size:,} bytes in UTF-8",
            f"a name is the name of a file too, which has room for {LONGEST_NAME} bytes",
            "a shorter name",
        )
    return name


def _escaped(byte: int, position: int, last: int) -> str:
    """A byte of a name in its file name: itself, `~` and a small letter, or `~` and a number."""
    character = chr(byte)
    if "A" <= character <= "Z":
        return "~" + character.lower()
    # Names that start with "_" or "." are hidden; Windows drops a dot at the end.
    signs = "" if position == 0 else "_-" if position == last else "_-."
    if "a" <= character <= "z" or "0" <= character <= "9" or character in signs:
        return character
    return f"~{byte:03d}"
