"""Names for the numpy arrays that signatures speak of."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Float32s = npt.NDArray[np.float32]
Positions = npt.NDArray[np.intp]  # what numpy itself gives as indexes
Words = npt.NDArray[np.uint64]
