"""Fragment matrices: n queries answered from k < n records (Huebsch et al., SIGMOD 2007)."""

from gingham.algebra.fragments.decompose_matrix import KINDS, decompose
from gingham.algebra.fragments.decomposition import Covering, Decomposition
from gingham.algebra.fragments.exact_decomposition import ExactDecomposition
from gingham.algebra.fragments.operation import Operation

__all__ = ["KINDS", "Covering", "Decomposition", "ExactDecomposition", "Operation", "decompose"]
