"""Distance tables of generalised items: one type as files store them, one as attacks take them."""

from collections.abc import Sequence
from dataclasses import dataclass

from decloak.arrays import Floats, Ints

__all__ = ["AttackTable", "Context", "DistanceTable", "Pair"]

Pair = tuple[str, str]
"""Two items, of which the first is the context."""
Context = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class AttackTable:
    """Distances of one generalised item. The rows of `d` belong to `transactions` and `contexts`, its columns to
    `columns`.
    """

    members: tuple[str, ...]
    transactions: Ints
    columns: tuple[str, ...]
    contexts: Sequence[Context]
    d: Floats


@dataclass(frozen=True, eq=False)
class DistanceTable:
    """Distances of one generalised item: a row per record, a column per member, NaN where there is no score."""

    name: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    d: Floats
