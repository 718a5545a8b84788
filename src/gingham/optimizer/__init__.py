"""Bound queries to a plan: the order of the rules stands in `optimize`."""

from gingham.optimizer.optimize import optimize

__all__ = ["optimize"]
