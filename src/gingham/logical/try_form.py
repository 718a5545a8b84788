"""Try forms: expressions rewritten to give NULL where the original would raise.

In ANSI mode `a / b` raises where b is zero. Its try form is `try_divide(a, b)`. Shared expressions
are evaluated for rows that their query filters out, so they must not raise there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class TryForm(NamedTuple):
    """SQL that never raises, and the SQL condition under which the original expression would.

    `raises` is None if the original expression never raises.
    """

    sql: str
    raises: str | None = None


class NoTryForm(Exception):  # noqa: N818  (the caller falls back; it is no error of the user's)
    """The expression may raise, and it cannot be rewritten so that NULL shows where."""


# From canonical SQL to its try form; raises NoTryForm.
ToTryForm = Callable[[str], TryForm]
