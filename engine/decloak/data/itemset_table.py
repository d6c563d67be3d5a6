"""Itemset tables: supports of itemsets in place of records.

A release file is JSON Lines: a header, the number of records, then one itemset a line.

    {"decloak": "release", "version": 1, "method": "itemsets", "k": 11, "m": 3}
    {"items": [], "support": 4917}
    {"items": ["bread"], "support": 1200}
    {"items": ["bread", "milk"], "support": 310}

The empty itemset is in every record. k and m may be left out of the header.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from decloak.data.formats.lines import FilePath, Line, check_name, json_text, json_value, location
from decloak.data.formats.release_header import STORE_REMEDY, Header, header_of, whole_number
from decloak.data.formats.writing import write_lines
from decloak.data.forms import FormName, with_bounds
from decloak.data.ordering import SortedRelease
from decloak.data.representation import Represented, Summary, counted, joined
from decloak.data.rows import RowLabels
from decloak.errors import DecloakError, at_location

ITEMSETS = "itemsets"
LARGEST = 3
"""Largest number of items of an itemset."""
SHAPE = 'write {"items": ["bread", "milk"], "support": 310}'
FIRST = 'write {"items": [], "support": 4917} first: the number of records'


@dataclass(frozen=True, repr=False)
class ItemsetTable(Represented):
    """The number of records, itemsets of one item or more, and their supports. It contains no record.

    >>> table = ItemsetTable(4, (("a",), ("b",), ("a", "b")), (3, 2, 2), k=2)
    >>> table.items, table.support(["b", "a"]), table.support([])
    (('a', 'b'), 2, 4)
    """

    form: ClassVar = FormName.ITEMSETS
    rows_are_records: ClassVar[bool] = False

    records: int
    itemsets: Sequence[tuple[str, ...]]
    supports: tuple[int, ...]
    k: int | None = None
    m: int | None = None
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

    @cached_property
    def by_itemset(self) -> Mapping[frozenset[str], int]:
        """The support of each itemset; the empty one is in every record."""
        return {frozenset(): self.records} | dict(zip(map(frozenset, self.itemsets), self.supports, strict=True))

    def support(self, items: Sequence[str]) -> int | None:
        """Return the support of `items`, or None if the table does not have it."""
        return self.by_itemset.get(frozenset(items))

    def sorted_by_content(self) -> SortedRelease[Self]:
        """Return the table in order of size, then of names."""
        rows = [tuple(sorted(items)) for items in self.itemsets]
        order = sorted(range(len(rows)), key=lambda row: (len(rows[row]), rows[row]))
        itemsets, supports = tuple(rows[row] for row in order), tuple(self.supports[row] for row in order)
        # Itemsets are distinct, so every row has a number of its own.
        arranged = replace(self, itemsets=itemsets, supports=supports)
        return SortedRelease(arranged, np.array(order, np.int64), np.arange(len(order)))

    def renumbered(self) -> Self:
        """Return the table itself: its rows have no names."""
        return self

    @classmethod
    def of_lines(cls, lines: Sequence[Line]) -> Self:
        """Return the itemset table that the `lines` of a release file describe. Its guarantee is not checked here."""
        header = header_of(lines[0], ITEMSETS)
        supports: dict[frozenset[str], int] = {}
        rows: list[tuple[str, ...]] = []
        names: dict[str, str] = {}
        for line in lines[1:]:
            items, support = _itemset(line, json_value(line, SHAPE), names)
            key = frozenset(items)
            if not supports and items:
                raise line.error("the number of records is missing", FIRST)
            if key in supports:
                raise line.error("the itemset is there twice", "write each itemset once")
            if support > supports.setdefault(frozenset(), support):
                message = f"{support:,} of {supports[frozenset()]:,} records have the itemset"
                raise line.error(message, "correct the support")
            supports[key] = support
            rows.append(items)
        # The first row is the empty itemset.
        if len(rows) < 2:
            raise lines[-1].error("a table without itemsets", SHAPE)
        records, *counts = supports.values()
        return cls(records, tuple(rows[1:]), tuple(counts), header.k, header.m, location(lines[0].path))

    def write(self, path: FilePath, *, ids: bool = False) -> None:
        """Write a release file to `path`. `ids` is an error, because no row is a record."""
        if ids:
            raise DecloakError("an itemset table has no ids", location(path), "write it without them")
        if not self.itemsets:
            message = "a table without itemsets"
            raise DecloakError(message, location(path), "use a smaller k: no itemset is frequent enough")
        with at_location(location(path)):
            for item in {item for items in self.itemsets for item in items}:
                check_name(item)
        write_lines((json_text(value) for value in _objects(self)), path, remedy=STORE_REMEDY)


def _itemset(line: Line, value: object, names: dict[str, str]) -> tuple[tuple[str, ...], int]:
    if not isinstance(value, dict) or value.keys() != {"items", "support"}:
        raise line.error("an itemset has the keys items and support", SHAPE)
    items = value["items"]
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise line.error("the items are no list of names", SHAPE)
    if len(items) > LARGEST or len(set(items)) < len(items):
        raise line.error(f"an itemset of {len(items)} items", f"write 1 to {LARGEST} different items")
    named = tuple(names.get(item) or names.setdefault(item, line.name(item)) for item in items)
    return named, whole_number(line, "support", value["support"])


def _objects(table: ItemsetTable) -> Iterator[dict[str, object]]:
    yield Header(ITEMSETS, table.k, table.m).value
    # Readers compare every later support with this one.
    yield {"items": [], "support": table.records}
    for items, support in zip(table.itemsets, table.supports, strict=True):
        yield {"items": list(items), "support": support}
