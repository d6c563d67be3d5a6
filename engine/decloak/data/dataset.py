"""The three shapes of data decloak reads: plain transactions, set-generalised ones, distance tables."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Dataset", "DistanceTable", "Element", "Published"]

Element = str | tuple[str, ...]
"""One position of a published transaction: a plain item, or a generalised item (the tuple of its members)."""


@dataclass(frozen=True)
class Dataset:
    """Original transactions: one set of items per person, in the order of the file.

    >>> Dataset((("milk", "bread"), ("milk",)), ("1", "2"), "example").items
    ('bread', 'milk')
    """

    transactions: tuple[tuple[str, ...], ...]
    labels: tuple[str, ...]
    origin: str = "memory"

    @cached_property
    def items(self) -> tuple[str, ...]:
        """Every item once, in code point order."""
        return tuple(sorted({item for transaction in self.transactions for item in transaction}))


@dataclass(frozen=True)
class Published:
    """Set-generalised transactions: a tuple among the items is a generalised item.

    >>> Published((("knee", ("icd", "injury")),), ("1",)).generalised
    (('icd', 'injury'),)
    """

    transactions: tuple[tuple[Element, ...], ...]
    labels: tuple[str, ...]
    origin: str = "memory"
    names: Mapping[tuple[str, ...], str] = field(default_factory=dict, compare=False)
    """What generalised items are called, where they have a name beside their members."""

    @cached_property
    def generalised(self) -> tuple[tuple[str, ...], ...]:
        """Every generalised item once, in order of first appearance."""
        return tuple(
            dict.fromkeys(
                element for transaction in self.transactions for element in transaction if isinstance(element, tuple)
            )
        )


@dataclass(frozen=True, eq=False)
class DistanceTable:
    """Distances of one generalised item: a row per transaction, a column per member, NaN where unscored."""

    name: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    d: NDArray[np.floating[Any]]
