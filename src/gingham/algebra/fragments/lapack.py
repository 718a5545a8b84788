"""SciPy's linear algebra without types, which promise complex results for real matrices."""

from typing import Any

from scipy import linalg as _linalg

linalg: Any = _linalg
