"""A k^m-anonymous release: every item is published as a label of a hierarchy that stands for it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Self

from decloak.data.formats.published import written
from decloak.data.published import Element, Published

__all__ = ["Generalised"]


@dataclass(frozen=True)
class Generalised:
    """What is published: transactions of labels in alphabetical order, and the items each label stands for.

    A label that is an item of its own stands for itself alone. With local recoding labels may overlap.
    """

    transactions: tuple[tuple[str, ...], ...]
    members: Mapping[str, tuple[str, ...]]
    ids: tuple[str, ...]
    method: str = "unknown"
    k: int | None = None
    m: int | None = None
    ncp: Fraction | None = None
    """The share of information lost, exactly; None when the original is not known. It is not published."""
    origin: str = field(default="memory", compare=False)

    @property
    def cut(self) -> tuple[str, ...]:
        """Every label that may stand in a transaction, in alphabetical order."""
        return tuple(sorted(self.members))

    @property
    def items(self) -> tuple[str, ...]:
        """Every item that a label stands for."""
        return tuple(sorted({item for members in self.members.values() for item in members}))

    @cached_property
    def published(self) -> Published:
        """The same as set-generalised transactions, which the elimination attacks read."""
        plain = {label for label, members in self.members.items() if members == (label,)}
        rows = tuple(
            tuple(label if label in plain else self.members[label] for label in row) for row in self.transactions
        )
        names = {members: label for label, members in sorted(self.members.items()) if label not in plain}
        return Published(rows, self.ids, self.origin, names)

    @classmethod
    def of(cls, published: Published, k: int | None = None, m: int | None = None) -> Self:
        """Set-generalised transactions as labels: the names of generalised items, else their members in brackets."""
        members: dict[str, tuple[str, ...]] = {}
        label: dict[Element, str] = {}
        for row in published.transactions:
            for element in row:
                if element not in label:
                    inner = (element,) if isinstance(element, str) else element
                    name = element if isinstance(element, str) else published.names.get(element) or written(element)
                    while members.get(name, inner) != inner:  # an item that is called like another's label
                        name += "*"
                    members[name], label[element] = inner, name
        rows = tuple(tuple(sorted(label[element] for element in row)) for row in published.transactions)
        return cls(rows, members, published.labels, k=k, m=m, origin=published.origin)

    def write(self, path: str | Path, *, ids: bool = False) -> None:
        """Write it as a release file, with the transactions' ids or without."""
        from decloak.data.formats.generalised_file import write_generalised

        write_generalised(self, path, ids=ids)
