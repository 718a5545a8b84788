"""Bound queries to a plan: `optimize` applies the rules in their order."""

from gingham.optimizer.optimize import optimize

__all__ = ["optimize"]
