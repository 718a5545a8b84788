"""Weaving: which windows share slices, decided by cost."""

from gingham.optimizer.weave.cost import Cost, Operations
from gingham.optimizer.weave.incremental import IncrementalPlan
from gingham.optimizer.weave.plan import WovenPlan, WovenTree, weaveability
from gingham.optimizer.weave.weave import METHODS, weave

__all__ = [
    "METHODS",
    "Cost",
    "IncrementalPlan",
    "Operations",
    "WovenPlan",
    "WovenTree",
    "weave",
    "weaveability",
]
