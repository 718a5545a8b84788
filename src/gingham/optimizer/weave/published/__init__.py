"""Every published way to weave windows by name, to compare the engine's with.

The engine imports nothing from here.
"""

from gingham.optimizer.weave.published.incremental_plan import IncrementalPlan
from gingham.optimizer.weave.published.weave_by_name import METHODS, weave

__all__ = ["METHODS", "IncrementalPlan", "weave"]
