"""Expressions that do not raise in the middle of a shared job: `sql` rewrites, `spark` asks."""

from __future__ import annotations

from collections.abc import Mapping

from gingham.spark.check import MakeSafe, Unsafe
from gingham.sql.safe import CannotBeMadeSafe, safe


def safe_rewriter(columns: Mapping[str, str], *, ansi: bool) -> MakeSafe:
    """Give a function from an expression to one that never raises, and when it would have."""

    def make_safe(expression: str) -> tuple[str, str | None]:
        try:
            found = safe(expression, columns, ansi=ansi)
        except CannotBeMadeSafe as error:
            raise Unsafe from error
        return found.sql, found.raises

    return make_safe
