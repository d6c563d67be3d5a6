"""Formats `long` (a row per transaction and item) and `onehot` (a column per item): CSV with a header."""

from collections.abc import Iterable, Iterator
from itertools import compress

from decloak.data.dataset import Dataset
from decloak.data.formats.delimited import join, records
from decloak.data.formats.lines import Line
from decloak.data.formats.record import Options, Record, no_items, take_label
from decloak.errors import DecloakError, nearest, shown

__all__ = ["parse_long", "parse_onehot", "render_long", "render_onehot"]


def parse_long(lines: Iterable[Line], options: Options) -> Iterator[Record]:
    """Read rows of (transaction, item); the rows of one transaction need not be neighbours."""
    rows = records(lines, options.separator or ",")
    head, header = next(rows)
    _refuse_twins(head, header)
    where, what = (_column(head, header, name) for name in (options.transaction, options.item))
    found: dict[str, Record] = {}
    for line, row in rows:
        _check_width(line, row, len(header))
        record = found.setdefault(row[where], Record(line, row[where], []))
        if not row[what].strip():
            raise line.wrong("an empty item", "write its name, or remove the row")
        record.items.append(row[what])
    yield from found.values()


def _column(head: Line, header: list[str], name: str) -> int:
    if name not in header:
        listed = ", ".join(shown(one) for one in header[:6])
        near = nearest(name, header) or "name the columns with the options transaction and item"
        raise head.wrong(f"no column {shown(name)}; the header has {listed}", near)
    return header.index(name)


def _refuse_twins(head: Line, header: list[str]) -> None:
    first: dict[str, int] = {}
    for number, name in enumerate(header, 1):
        if first.setdefault(name, number) != number:
            raise head.wrong(f"columns {first[name]} and {number} are both {shown(name)}", "rename one")


def _check_width(line: Line, row: list[str], width: int) -> None:
    """Every row has as many values as the header."""
    if not line.text.strip():
        raise line.wrong("an empty line", "remove it")
    if len(row) != width:
        raise line.wrong(f"{len(row)} values where the header has {width}", "put names that hold a separator in quotes")


def parse_onehot(lines: Iterable[Line], options: Options) -> Iterator[Record]:
    """Read rows of 0 and 1 under a header of items."""
    rows = records(lines, options.separator or ",")
    head, items = next(rows)
    take_label(items, options.ids)
    if not items or not all(name.strip() for name in items):
        raise head.wrong("expected the name of an item over every column", "an id column needs the option ids")
    _refuse_twins(head, items)
    for line, row in rows:
        _check_width(line, row, len(items) + options.ids)
        label = take_label(row, options.ids)
        if not {"0", "1"}.issuperset(row):
            _refuse_cell(line, items, row)
        yield Record(line, label, list(compress(items, map("1".__eq__, row))))


def _refuse_cell(line: Line, items: list[str], row: list[str]) -> None:
    item, cell = next((item, cell) for item, cell in zip(items, row, strict=True) if cell not in ("0", "1"))
    raise line.wrong(f"{shown(cell)} under {shown(item)}", "write 0 or 1; an id column needs the option ids")


def render_long(dataset: Dataset, options: Options) -> Iterator[str]:
    """Write rows of (transaction, item)."""
    separator = options.separator or ","
    yield join((options.transaction, options.item), separator)
    for label, items in zip(dataset.labels, dataset.transactions, strict=True):
        if not items:
            raise no_items(label, "long")
        for item in items:
            yield join((label, item), separator, multiline=True)


def render_onehot(dataset: Dataset, options: Options) -> Iterator[str]:
    """Write rows of 0 and 1, the items in code point order."""
    separator = options.separator or ","
    if separator in "01":
        raise DecloakError(f"{shown(separator)} cannot separate cells of 0 and 1", hint="use ','")
    if not dataset.items:
        raise DecloakError("onehot cannot carry transactions of which none has an item", hint="write jsonl")
    yield join(("id", *dataset.items) if options.ids else dataset.items, separator, multiline=True)
    for label, items in zip(dataset.labels, dataset.transactions, strict=True):
        held = set(items)
        cells = ["1" if item in held else "0" for item in dataset.items]
        named = [join((label,), separator, multiline=True)] if options.ids else []
        yield separator.join(named + cells)
