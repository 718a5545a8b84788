"""Every published algorithm for edge rates by name, to compare the engine's choice with.

The engine imports nothing from here.
"""

from gingham.algebra.edges.published.bit_loop import bit_loop, bit_scan
from gingham.algebra.edges.published.edge_rate_by_name import METHODS, edge_rate
from gingham.algebra.edges.published.f1 import f1, f1_memoised
from gingham.algebra.edges.published.naive import naive

__all__ = ["METHODS", "bit_loop", "bit_scan", "edge_rate", "f1", "f1_memoised", "naive"]
