"""Fragment matrices: n queries answered from k < n records (Huebsch et al., SIGMOD 2007)."""

from gingham.algebra.fragments.decomposition import Covering, Decomposition
from gingham.algebra.fragments.exact import Exact
from gingham.algebra.fragments.generate import generate, planted_size
from gingham.algebra.fragments.growing import Growing
from gingham.algebra.fragments.linear import Factored
from gingham.algebra.fragments.methods import METHODS, decompose
from gingham.algebra.fragments.operation import Operation

__all__ = [
    "METHODS",
    "Covering",
    "Decomposition",
    "Exact",
    "Factored",
    "Growing",
    "Operation",
    "decompose",
    "generate",
    "planted_size",
]
