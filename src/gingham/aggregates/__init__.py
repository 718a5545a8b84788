"""Aggregates as algebra: partials over rows, merging of partials, and the final value.

Every family declares what it can do (`linear`, `idempotent`); rules ask for the capability and
never for the name. `bind` finds the family of a call.
"""

from gingham.aggregates.base import Aggregate, Call, Partial
from gingham.aggregates.monoid import Capability, Monoid, State
from gingham.aggregates.registry import LITERAL_FROM, bind, known, supported

__all__ = [
    "LITERAL_FROM",
    "Aggregate",
    "Call",
    "Capability",
    "Monoid",
    "Partial",
    "State",
    "bind",
    "known",
    "supported",
]
