"""What a cell becomes."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["Values"]

Values = NDArray[np.int32] | NDArray[np.float32] | NDArray[np.uint8]
"""A cell as numbers: its items, and for items of several numbers a second axis."""
