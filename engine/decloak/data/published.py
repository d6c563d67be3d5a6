"""Set-generalised transactions: items, and sets of items of which at least one is meant."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from decloak.data.content import Element, Elements, Labelled
from decloak.data.formats.generalised_file import write_generalised
from decloak.data.formats.lines import FilePath, place, read_lines
from decloak.data.formats.published import parse_elements, write_published, written
from decloak.data.forms import FormName
from decloak.data.ordering import Arranged, arranged_rows
from decloak.data.rows import CodedRows, Numbers, picked_labels

__all__ = ["Published", "read_published"]

LONGEST_LABEL = 1_000
"""Characters of members in brackets that are a label; more would stand in every line that shows it."""


@dataclass(frozen=True)
class Published(Elements):
    """Set-generalised transactions: a tuple among the items is a generalised item.

    >>> Published((("knee", ("icd", "injury")),), ("1",)).generalised
    (('icd', 'injury'),)
    """

    form: ClassVar = FormName.SET_GENERALISED

    origin: str = "memory"
    names: Mapping[tuple[str, ...], str] = field(default_factory=dict, compare=False)
    """What generalised items are called, where they have a name beside their members."""
    method: str = field(default="unknown", compare=False)
    parameters: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def ids(self) -> Sequence[str]:
        """What the transactions are called."""
        return self.labels

    @cached_property
    def generalised(self) -> tuple[tuple[str, ...], ...]:
        """Every generalised item once, in order of first appearance."""
        return tuple(element for element in self.rows.used if isinstance(element, tuple))

    @property
    def items(self) -> tuple[str, ...]:
        """Every item that is shown, plain or as a member, in sorted order."""
        plain = {element for element in self.rows.used if isinstance(element, str)}
        return tuple(sorted(plain.union(*self.generalised)))

    @cached_property
    def hidden_cells(self) -> int:
        """How many members the generalised items of all transactions have together."""
        members = np.array([len(name) if isinstance(name, tuple) else 0 for name in self.rows.names], np.int64)
        return int(members[self.rows.codes].sum())

    @cached_property
    def shown(self) -> CodedRows[str]:
        """What the transactions show, by name; the same members in another order are the same generalised item."""
        label: dict[frozenset[str], str] = {}
        for members in self.generalised:
            label.setdefault(frozenset(members), self.names.get(members) or written(members))
        return self.rows.named(lambda element: element if isinstance(element, str) else label[frozenset(element)])

    def arranged(self) -> Arranged[Self]:
        """The same in an order that only what it shows decides, numbered from 1.

        Generalised items go by their names where they have one, as they are shown then, else as they are written.
        """
        rows, places, alike = arranged_rows(self.rows.named(self._key))
        names = {tuple(sorted(members)): name for members, name in sorted(self.names.items())}
        shown: CodedRows[Element] = rows.named(lambda key: key[2])
        return Arranged(replace(self, transactions=shown, labels=Numbers(len(shown)), names=names), places, alike)

    def _key(self, element: Element) -> tuple[str, bool, Element]:
        """What an element is sorted by: as it is shown; an item may be called like a generalised item."""
        if isinstance(element, str):
            return element, True, element
        members = tuple(sorted(element))
        return self.names.get(element) or written(members), False, members

    def called(self, ids: Sequence[str]) -> Self:
        """The same with its rows called so."""
        return replace(self, labels=ids)

    def renumbered(self) -> Self:
        """The same with its rows numbered from 1."""
        return self.called(Numbers(len(self.labels)))

    def labelled(self, k: int | None = None, m: int | None = None) -> Labelled:
        """The same as transactions of labels: the names of generalised items, else their members in brackets."""
        members: dict[str, tuple[str, ...]] = {}
        label: dict[Element, str] = {}
        for element in self.rows.used:
            inner = (element,) if isinstance(element, str) else element
            name = element if isinstance(element, str) else self._name(element)
            while members.get(name, inner) != inner:  # an item that is called like another's label
                name += "*"
            members[name], label[element] = inner, name
        rows = self.rows.named(label.__getitem__)
        return Labelled(rows.ascending(), members, self.labels, k=k, m=m)

    def _name(self, members: tuple[str, ...]) -> str:
        """What a generalised item is called: all its members, or how many, where it has no name of its own."""
        name = self.names.get(members) or written(members)
        if len(name) > LONGEST_LABEL and name == written(members):
            return f"({members[0]}, and {len(members) - 1} more)"
        return name

    def write(self, path: FilePath, *, ids: bool = False) -> None:
        """Write one transaction a line, or a release file when the name ends in .jsonl; with the ids or without."""
        if Path(path).suffix == ".jsonl":
            write_generalised(self.labelled(*self.promised), path, ids=ids)
        else:
            write_published(self._as_text(ids), path, ids=ids)

    def _as_text(self, ids: bool) -> "Published":
        """Text shows no names, so that where it is sorted it cannot be by them."""
        if not self.names or self.parameters.get("order") != "sorted":
            return self
        arranged, places, _ = replace(self, names={}).arranged()
        return replace(arranged, labels=picked_labels(self.labels, places)) if ids else arranged

    @property
    def promised(self) -> tuple[int | None, int | None]:
        """k and m; one alone is of another promise, such as that of COAT, which covers chosen items only."""
        k, m = self.parameters.get("k"), self.parameters.get("m")
        return (k, m) if k is not None and m is not None else (None, None)


def read_published(path: FilePath, *, ids: bool = False, repeats: bool = False) -> Published:
    """Read set-generalised transactions; an item stands once in a transaction, and ids differ unless `repeats`."""
    elements = parse_elements(read_lines(path), ids, repeats=repeats)
    return Published(elements.transactions, elements.labels, place(path))
