"""Format `onehot`: CSV with a header and a column of 0 and 1 per item.

An empty record is a row of 0.
"""

from collections.abc import Iterable, Iterator
from itertools import compress

from decloak.data.dataset import Dataset
from decloak.data.formats.delimited import check_header, check_width, join, records
from decloak.data.formats.lines import Line
from decloak.data.formats.record import Format, Options, Record, pop_id
from decloak.errors import DecloakError, quote


def _parse(lines: Iterable[Line], options: Options) -> Iterator[Record]:
    rows = records(lines, options.separator or ",")
    head, items = next(rows)
    pop_id(items, options.ids)
    if not items or not all(name.strip() for name in items):
        raise head.error("expected the name of an item over every column", "an id column needs the option ids")
    check_header(head, items)
    for line, row in rows:
        check_width(line, row, len(items) + options.ids)
        label = pop_id(row, options.ids)
        if not {"0", "1"}.issuperset(row):
            item, cell = next((item, cell) for item, cell in zip(items, row, strict=True) if cell not in ("0", "1"))
            raise line.error(f"{quote(cell)} under {quote(item)}", "write 0 or 1; an id column needs the option ids")
        yield Record(line, label, list(compress(items, map("1".__eq__, row))))


def _render(dataset: Dataset, options: Options) -> Iterator[str]:
    """Write rows of 0 and 1, the items in code point order."""
    separator = options.separator or ","
    # Without it, cells and separators would look the same.
    if separator in "01":
        raise DecloakError(f"{quote(separator)} cannot separate cells of 0 and 1", hint="use ','")
    if not dataset.items:
        raise DecloakError("onehot cannot carry records of which none has an item", hint="write jsonl")
    yield join(("id", *dataset.items) if options.ids else dataset.items, separator, multiline=True)
    for label, items in zip(dataset.labels, dataset.transactions, strict=True):
        held = set(items)
        cells = ["1" if item in held else "0" for item in dataset.items]
        id_cell = [join((label,), separator, multiline=True)] if options.ids else []
        yield separator.join(id_cell + cells)


FORMAT = Format(
    "onehot", "CSV with a column of 0 and 1 per item", _parse, _render, frozenset({"ids", "separator", "header_row"})
)
