"""A k^m-anonymous release: every item is published as a label of a hierarchy that stands for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

from decloak.data.content import Element, Labelled
from decloak.data.formats.generalised_file import parse_labelled, write_generalised
from decloak.data.formats.lines import FilePath, Line, place, read_lines
from decloak.data.formats.release_header import LONGEST_RELEASE
from decloak.data.forms import FormName
from decloak.data.ordering import Arranged, arranged_rows
from decloak.data.published import Published
from decloak.data.release import with_bounds
from decloak.data.rows import CodedRows, Numbers
from decloak.data.share import Share

__all__ = ["Generalised", "generalised_of", "read_generalised"]


@dataclass(frozen=True)
class Generalised(Labelled):
    """What is published: transactions of labels in alphabetical order, and the items each label stands for.

    A label that is an item of its own stands for itself alone. With local recoding labels may overlap.
    """

    form: ClassVar = FormName.GENERALISED

    ncp: Share | None = None
    """The share of information lost; None when the original is not known. It is not published."""
    origin: str = field(default="memory", compare=False)
    parameters: Mapping[str, Any] = field(default_factory=dict, compare=False)
    tree_nodes: int | None = field(default=None, compare=False)
    """The nodes of the largest count tree that making it took; None where none was walked. It is not published."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", with_bounds(self.parameters, k=self.k, m=self.m))

    @property
    def items(self) -> tuple[str, ...]:
        """Every item that a label stands for."""
        return tuple(sorted({item for members in self.members.values() for item in members}))

    @cached_property
    def published(self) -> Published:
        """The same as set-generalised transactions, which the elimination attacks read."""
        plain = {label for label, members in self.members.items() if members == (label,)}
        rows: CodedRows[Element] = self.rows.named(lambda label: label if label in plain else self.members[label])
        names = {members: label for label, members in sorted(self.members.items()) if label not in plain}
        return Published(rows, self.ids, self.origin, names, self.method, self.parameters)

    def arranged(self) -> Arranged[Self]:
        """The same in an order that only what it shows decides, numbered from 1."""
        rows, places, alike = arranged_rows(self.rows)
        members = {label: tuple(sorted(items)) for label, items in sorted(self.members.items())}
        return Arranged(replace(self, transactions=rows, members=members, ids=Numbers(len(rows))), places, alike)

    def called(self, ids: Sequence[str]) -> Self:
        """The same with its rows called so."""
        return replace(self, ids=ids)

    def renumbered(self) -> Self:
        """The same with its rows numbered from 1."""
        return self.called(Numbers(len(self.ids)))

    @classmethod
    def of(cls, published: Published, k: int | None = None, m: int | None = None) -> Self:
        """Set-generalised transactions as labels: the names of generalised items, else their members in brackets."""
        return cls(**vars(published.labelled(k, m)), origin=published.origin)

    def write(self, path: FilePath, *, ids: bool = False) -> None:
        """Write it as a release file, with the transactions' ids or without."""
        write_generalised(self, path, ids=ids)


def read_generalised(path: FilePath) -> Generalised:
    """Read a release; what it promises is not checked here, only that it is one."""
    return generalised_of(read_lines(path, longest=LONGEST_RELEASE))


def generalised_of(lines: Sequence[Line]) -> Generalised:
    return Generalised(**vars(parse_labelled(lines)), origin=place(lines[0].path))
