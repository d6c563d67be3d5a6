"""Types of arrays for annotations."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.integer[Any]]
Mask = NDArray[np.bool_]
NumberArray = NDArray[Any]
"""Whole numbers or others."""
PairTable = NDArray[np.int32] | NDArray[np.uint8]
"""The records with each pair a <= b; a cell stays at the largest number of its type."""
