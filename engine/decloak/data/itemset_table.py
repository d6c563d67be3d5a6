"""Itemset tables: supports of itemsets in place of records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from decloak.data.content import ItemsetContent
from decloak.data.formats.itemset_file import ITEMSETS, parse_itemset_content, write_itemsets
from decloak.data.formats.lines import FilePath, Line, location, read_lines
from decloak.data.forms import FormName, with_bounds
from decloak.data.ordering import SortedRelease
from decloak.data.representation import Represented, Summary, counted, joined
from decloak.data.rows import RowLabels
from decloak.errors import DecloakError

__all__ = ["ItemsetTable", "itemset_table_of", "read_itemset_table"]


@dataclass(frozen=True, repr=False)
class ItemsetTable(Represented, ItemsetContent):
    """The number of records, and the supports of some itemsets. It contains no record.

    >>> table = ItemsetTable(4, (("a",), ("b",), ("a", "b")), (3, 2, 2), k=2)
    >>> table.items, table.support(["b", "a"]), table.support([])
    (('a', 'b'), 2, 4)
    """

    form: ClassVar = FormName.ITEMSETS
    rows_are_records: ClassVar[bool] = False

    origin: str = field(default="memory", compare=False)
    method: str = field(default=ITEMSETS, compare=False)
    parameters: Mapping[str, object] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", with_bounds(self.parameters, k=self.k, m=self.m))

    def summary(self) -> Summary:
        """Return the table in short: a row for each itemset."""
        counts = f"{counted(len(self.itemsets), 'itemset')} of {counted(self.records, 'record')}"
        rows = ((joined(items), f"{support:,}") for items, support in zip(self.itemsets, self.supports, strict=True))
        return Summary(f"Itemset table with {counts}, k = {self.k}", len(self.itemsets), ("itemset", "support"), rows)

    @property
    def transactions(self) -> Sequence[tuple[str, ...]]:
        """The itemsets."""
        return self.itemsets

    @property
    def ids(self) -> Sequence[str]:
        """Numbers of the itemsets."""
        return RowLabels(len(self.itemsets))

    @property
    def items(self) -> tuple[str, ...]:
        """Every item of an itemset, in alphabetical order."""
        return tuple(sorted({item for items in self.itemsets for item in items}))

    def support(self, items: Sequence[str]) -> int | None:
        """Return the support of `items`, or None if the table does not have it."""
        return self.by_itemset.get(frozenset(items))

    def sorted_by_content(self) -> SortedRelease[Self]:
        """Return the table in order of size, then of names."""
        rows = [tuple(sorted(items)) for items in self.itemsets]
        order = sorted(range(len(rows)), key=lambda row: (len(rows[row]), rows[row]))
        itemsets, supports = tuple(rows[row] for row in order), tuple(self.supports[row] for row in order)
        arranged = replace(self, itemsets=itemsets, supports=supports)
        return SortedRelease(arranged, np.array(order, np.int64), np.arange(len(order)))

    def renumbered(self) -> Self:
        """Return the table itself: its rows have no names."""
        return self

    def write(self, path: FilePath, *, ids: bool = False) -> None:
        """Write a release file to `path`. `ids` is an error, because no row is a record."""
        if ids:
            raise DecloakError("an itemset table has no ids", location(path), "write it without them")
        write_itemsets(self, path)


def read_itemset_table(path: FilePath) -> ItemsetTable:
    """Read the itemset table at `path` and return it. Its guarantee is not checked here."""
    return itemset_table_of(read_lines(path))


def itemset_table_of(lines: Sequence[Line]) -> ItemsetTable:
    """Return the itemset table that the `lines` of a release file describe."""
    return ItemsetTable(**vars(parse_itemset_content(lines)), origin=location(lines[0].path))
