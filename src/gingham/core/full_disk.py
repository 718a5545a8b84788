"""Disks without space are recognised in errors of Python, Arrow and Java."""

from __future__ import annotations

import errno
import re

_NO_SPACE = r"(?:No space left on device|Disk quota exceeded|not enough space on the disk)"
# open('/a/b') says its path behind the words, Arrow before them, Java with the words in brackets.
_PATHS = (
    re.compile(rf"{_NO_SPACE}: '([^'\n]+)'", re.IGNORECASE),
    re.compile(rf"'([^'\n]+)'[^'\n]*{_NO_SPACE}", re.IGNORECASE),
    re.compile(rf"(/[^\s()]+) \({_NO_SPACE}\)", re.IGNORECASE),
)


def full_disk(error: BaseException) -> str | None:
    """What is full, if an error or one of its causes says that no space is left; else None.

    >>> full_disk(OSError(28, "No space left on device", "/data/answers"))
    'the disk of /data/answers'
    >>> full_disk(ValueError("no")) is None
    True
    """
    cause: BaseException | None = error
    while cause is not None:
        number = cause.errno if isinstance(cause, OSError) else None
        text = str(cause)
        if number in (errno.ENOSPC, errno.EDQUOT) or re.search(_NO_SPACE, text, re.IGNORECASE):
            found = next((match[1] for path in _PATHS if (match := path.search(text))), None)
            return f"the disk of {found}" if found else "a disk"
        cause = cause.__cause__
    return None
