"""Expressions that do not raise in the middle of a shared job: `sql` rewrites, `spark` asks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from gingham.logical.try_form import ToTryForm
from gingham.sql.try_forms import try_form


def safe_rewriter(columns: Mapping[str, str], *, ansi: bool) -> ToTryForm:
    """Give a function from an expression to one that never raises, and when it would have."""
    return partial(try_form, types=columns, ansi=ansi)
