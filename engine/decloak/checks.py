"""What is asked of a k^m release, checked before any work is done on it."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from decloak.errors import DecloakError, shown
from decloak.lazy import sparse

__all__ = ["check_enough", "check_feasible", "check_km", "check_whole", "longest"]


def check_km(k: int, m: int) -> None:
    """Refuse a k or an m that is not a whole number of at least 1."""
    check_whole(1, k=k, m=m)


def check_whole(least: int, **named: object) -> None:
    for name, value in named.items():
        if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
            raise DecloakError(f"{name} is {shown(value)}", hint=f"give a whole number of at least {least}")


def check_feasible(records: sparse.csr_array[Any], k: int) -> None:
    """Refuse records too few for any cut: with 1..k-1 of them that hold something even the root is held by too few."""
    check_enough(int(np.count_nonzero(np.diff(records.indptr))), k)


def check_enough(filled: int, k: int) -> None:
    """The same for so many records that hold something."""
    if 0 < filled < k:
        message = f"infeasible: {filled} record{'s' * (filled > 1)} with items, k is {k}"
        raise DecloakError(message, hint=f"lower k to {filled} or less, or take more data")


def longest(records: sparse.csr_array[Any], m: int) -> int:
    """The m that is as good as this one: no itemset is longer than the longest record."""
    return min(m, int(np.diff(records.indptr).max(initial=0)))
