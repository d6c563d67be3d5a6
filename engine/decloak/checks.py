"""Validation of k and m before an anonymisation starts."""

from __future__ import annotations

from numbers import Integral

import numpy as np

from decloak.errors import DecloakError, quote
from decloak.lazy import sparse


def check_km(k: int, m: int) -> None:
    """Raise an error unless `k` and `m` are integers of at least 1."""
    check_whole(1, k=k, m=m)


def check_whole(least: int, **named: object) -> None:
    """Raise an error unless all of `named` are integers of at least `least`."""
    for name, value in named.items():
        # For Python, True is a whole number.
        if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
            raise DecloakError(f"{name} is {quote(value)}", hint=f"give a whole number of at least {least}")


def check_feasible(records: sparse.csr_array, k: int) -> None:
    """Raise an error if the non-empty `records` are fewer than `k`: even the root has too small a support."""
    check_enough(int(np.count_nonzero(np.diff(records.indptr))), k)


def check_enough(filled: int, k: int) -> None:
    """Raise an error if `filled`, the number of non-empty records, is from 1 to k - 1 (`k`)."""
    if 0 < filled < k:
        message = f"k = {k} is impossible with {filled} non-empty record{'s' * (filled > 1)}"
        raise DecloakError(message, hint=f"use k = {filled} or less, or more records")


def longest(records: sparse.csr_array, m: int) -> int:
    """Return `m`, or the length of the longest of `records` if that is smaller: no itemset is longer."""
    return min(m, int(np.diff(records.indptr).max(initial=0)))
