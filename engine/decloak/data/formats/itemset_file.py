"""An itemset table as JSON Lines: a header, the number of records, then one itemset a line.

    {"decloak": "release", "version": 1, "method": "itemsets", "k": 11, "m": 3}
    {"items": [], "support": 4917}
    {"items": ["bread"], "support": 1200}
    {"items": ["bread", "milk"], "support": 310}

The empty itemset is in every record. k and m may be left out of the header.
"""

from collections.abc import Iterator, Sequence

from decloak.data.content import ItemsetContent
from decloak.data.formats.lines import FilePath, Line, check_name, json_text, json_value, location
from decloak.data.formats.release_header import (
    LARGEST_NUMBER,
    STORE_REMEDY,
    Header,
    closed_object_schema,
    header_of,
    whole_number,
)
from decloak.data.formats.writing import write_lines
from decloak.errors import DecloakError, at_location

__all__ = ["ITEMSETS", "LARGEST", "itemset_schema", "parse_itemset_content", "write_itemsets"]

ITEMSETS = "itemsets"
LARGEST = 3
"""Largest number of items of an itemset."""
SHAPE = 'write {"items": ["bread", "milk"], "support": 310}'
FIRST = 'write {"items": [], "support": 4917} first: the number of records'


def parse_itemset_content(lines: Sequence[Line]) -> ItemsetContent:
    """Return the itemset table in `lines`. Its guarantee is not checked here."""
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
    if len(rows) < 2:
        raise lines[-1].error("a table without itemsets", SHAPE)
    records, *counts = supports.values()
    return ItemsetContent(records, tuple(rows[1:]), tuple(counts), header.k, header.m)


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


def write_itemsets(table: ItemsetContent, path: FilePath) -> None:
    """Write `table` to `path` so that `parse_itemset_content` returns it."""
    if not table.itemsets:
        message = "a table without itemsets"
        raise DecloakError(message, location(path), "use a smaller k: no itemset is frequent enough")
    with at_location(location(path)):
        for item in {item for items in table.itemsets for item in items}:
            check_name(item)
    write_lines((json_text(value) for value in _objects(table)), path, remedy=STORE_REMEDY)


def _objects(table: ItemsetContent) -> Iterator[dict[str, object]]:
    yield Header(ITEMSETS, table.k, table.m).value
    yield {"items": [], "support": table.records}
    for items, support in zip(table.itemsets, table.supports, strict=True):
        yield {"items": list(items), "support": support}


def itemset_schema() -> dict[str, object]:
    """Return the JSON Schema of one line: the header or an itemset."""
    whole = {"type": "integer", "minimum": 1, "maximum": LARGEST_NUMBER}
    names = {"type": "array", "items": {"type": "string", "minLength": 1}, "uniqueItems": True, "maxItems": LARGEST}
    header = {key: {"const": value} for key, value in Header(ITEMSETS).value.items()} | {"k": whole, "m": whole}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of an itemset table",
        "oneOf": [
            closed_object_schema("header", header),
            closed_object_schema("itemset", {"items": names, "support": whole}),
        ],
    }
