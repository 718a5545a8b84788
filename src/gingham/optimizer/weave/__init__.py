"""Weaving: which windows share slices, decided by cost."""

from gingham.optimizer.weave.tree_cost import Cost, Operations
from gingham.optimizer.weave.weave import weave
from gingham.optimizer.weave.woven_plan import WovenPlan, WovenTree, weaveability

__all__ = [
    "Cost",
    "Operations",
    "WovenPlan",
    "WovenTree",
    "weave",
    "weaveability",
]
