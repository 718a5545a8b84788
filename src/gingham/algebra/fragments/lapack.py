"""SciPy's door to LAPACK; its inline types promise complex numbers even for real matrices."""

from typing import Any

from scipy import linalg as _linalg

linalg: Any = _linalg
