"""Set-generalised transactions: items, and sets of items of which at least one is meant."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

__all__ = ["Element", "Published"]

Element = str | tuple[str, ...]
"""One position of a published transaction: a plain item, or a generalised item (the tuple of its members)."""


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
