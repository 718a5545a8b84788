"""What `sql` can rewrite so that it does not raise, as `spark` asks for it."""

from __future__ import annotations

from collections.abc import Mapping

from gingham.spark.check import MakeSafe, Unsafe
from gingham.sql.safe import CannotBeMadeSafe, safe


def safely(columns: Mapping[str, str], *, ansi: bool) -> MakeSafe:
    """Expressions over columns of these types, and when they would have raised."""

    def make_safe(expression: str) -> tuple[str, str | None]:
        try:
            found = safe(expression, columns, ansi=ansi)
        except CannotBeMadeSafe as error:
            raise Unsafe from error
        return found.sql, found.raises

    return make_safe
