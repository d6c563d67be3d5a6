"""Format `long`: CSV with a header and a row per transaction and item; it has no empty transactions."""

from collections.abc import Iterable, Iterator

from decloak.data.dataset import Dataset
from decloak.data.formats.delimited import check_header, check_width, join, records
from decloak.data.formats.lines import Line
from decloak.data.formats.record import NUMBER, TEXT, Format, Options, Record, no_items
from decloak.data.read_budget import charge
from decloak.errors import quote, suggest

__all__ = ["FORMAT"]

ROWS = 4096
"""Number of rows that are charged to the budget together."""


def _parse(lines: Iterable[Line], options: Options) -> Iterator[Record]:
    """Yield the transactions of rows (transaction, item). The rows of one transaction may be apart."""
    rows = records(lines, options.separator or ",")
    head, header = next(rows)
    check_header(head, header)
    id_column, item_column = (_column(head, header, name) for name in (options.transaction, options.item))
    by_id: dict[str, Record] = {}
    names: dict[str, str] = {}
    for number, (line, row) in enumerate(rows, 1):
        check_width(line, row, len(header))
        label, item = row[id_column], row[item_column]
        record = by_id.get(label)
        if record is None:
            charge(2 * TEXT + len(label))
            record = by_id[label] = Record(line._replace(text=""), label, [])
        if not item.strip():
            raise line.error("an empty item", "write its name, or remove the row")
        if item not in names:
            charge(TEXT + len(item))
            names[item] = item
        record.items.append(names[item])
        if number % ROWS == 0:
            charge(NUMBER * ROWS)
    yield from by_id.values()


def _column(head: Line, header: list[str], name: str) -> int:
    if name not in header:
        hint = suggest(name, header) or "name the columns with the options transaction and item"
        raise head.error(f"no column {quote(name)}; the header has {', '.join(map(quote, header[:6]))}", hint)
    return header.index(name)


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
    frozenset({"separator", "transaction", "item"}),
    keeps_ids=True,
)
