"""Format `long`: CSV with a header and a row per record and item; it has no empty records."""

from collections.abc import Iterable, Iterator

from decloak.data.dataset import Dataset
from decloak.data.formats.delimited import check_header, check_width, join, records
from decloak.data.formats.lines import Line
from decloak.data.formats.record import NUMBER, TEXT, Format, Options, Record, column_items, find_column, no_items
from decloak.data.read_budget import charge

ROWS = 4096
"""Number of rows that are charged to the budget together."""


def _parse(lines: Iterable[Line], options: Options) -> Iterator[Record]:
    """Yield the records of rows (transaction, item). The rows of one record may be apart."""
    rows = records(lines, options.separator or ",")
    head, header = next(rows)
    check_header(head, header)
    both = "transaction and item"
    id_column, item_column = (find_column(head, header, name, both) for name in (options.transaction, options.item))
    for name in options.columns:
        find_column(head, header, name, "columns")
    above = ""
    by_id: dict[str, Record] = {}
    names: dict[str, str] = {}
    for number, (line, row) in enumerate(rows, 1):
        check_width(line, row, len(header))
        label, item = row[id_column], row[item_column]
        if options.fill_down:
            label = above = label.strip() or above
            if not label:
                raise line.error("no id, and none above", "write the id into the first row of each transaction")
        record = by_id.get(label)
        if record is None:
            charge(2 * TEXT + len(label))
            # Without its text, which every record would keep in memory.
            record = by_id[label] = Record(line._replace(text=""), label, [])
        if options.columns:
            record.items.extend(column_items(header, row, options.columns))
        if not item.strip():
            raise line.error("an empty item", "write its name, or remove the row")
        if item not in names:
            charge(TEXT + len(item))
            names[item] = item
        record.items.append(names[item])
        if number % ROWS == 0:
            charge(NUMBER * ROWS)
    yield from by_id.values()


def _render(dataset: Dataset, options: Options) -> Iterator[str]:
    separator = options.separator or ","
    yield join((options.transaction, options.item), separator)
    for label, items in zip(dataset.labels, dataset.transactions, strict=True):
        if not items:
            raise no_items(label, "long")
        for item in items:
            yield join((label, item), separator, multiline=True)


FORMAT = Format(
    "long",
    "CSV with a row per item: tid,item",
    _parse,
    _render,
    frozenset({"separator", "transaction", "item", "header_row", "fill_down", "columns"}),
    keeps_ids=True,
)
