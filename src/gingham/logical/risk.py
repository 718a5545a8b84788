"""Risks: how likely an expression raises for a row that its query would not even look at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

# "overflow": only where numbers become too large; so rarely that the expression is shared.
Risk = Literal["never", "overflow", "likely"]
# From canonical SQL to its risk.
RiskOf = Callable[[str], Risk]
