"""Every published decomposition by name, and the papers' matrices, to compare the engine with.

The engine imports nothing from here.
"""

from gingham.algebra.fragments.published.compositions import STRATEGIES
from gingham.algebra.fragments.published.decompose_by_name import METHODS, decompose
from gingham.algebra.fragments.published.factorizations import Factored
from gingham.algebra.fragments.published.random_matrices import generate, planted_size

__all__ = [
    "METHODS",
    "STRATEGIES",
    "Factored",
    "decompose",
    "generate",
    "planted_size",
]
