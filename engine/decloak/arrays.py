"""Types of arrays for annotations."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats", "Ints", "Mask", "NumberArray"]

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.integer[Any]]
Mask = NDArray[np.bool_]
NumberArray = NDArray[Any]
"""Whole numbers or others."""
