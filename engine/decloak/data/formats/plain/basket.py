"""Format `basket`: one record a line, names separated by commas or another separator, optionally an id first.

An empty record is an id alone. With the option `within` every value is a list of its own, as in
`p1<TAB>milk|bread|white wine` with a tab as the separator and `within: "|"`. An empty value is an empty list. Below a
header, each row has one item per column that is not empty.
"""

from collections.abc import Iterable, Iterator
from itertools import chain, islice

from decloak.data.dataset import Dataset
from decloak.data.formats.delimited import cells, check_width, join, split
from decloak.data.formats.lines import Line
from decloak.data.formats.record import Format, Options, Record, column_items, find_column, no_items, pop_id
from decloak.errors import quote


def _parse(lines: Iterable[Line], options: Options) -> Iterator[Record]:
    separator = options.separator or ","
    table = None
    if options.columns or options.item != Options().item:
        head = next(iter(lines := iter(lines)))
        if not options.header:
            raise head.error("a column is named, but no line names the columns", "say that the first line is a header")
        table = _Table(head, split(head, separator), options)
    # The names of the columns of a table are read already.
    for line in islice(lines, int(options.header and table is None), None):
        text = line.text
        if not text or text.isspace():
            hint = "remove it; an empty transaction is an id alone, or [] in the format jsonl"
            raise line.error("an empty line", hint)
        if "(" in text and options.within is None:  # brackets there are part of a list
            _refuse_brackets(line, separator)
        names = split(line, separator)
        further: list[str] = []
        if table is not None:
            names, further = table.split(line, names)
        elif options.header and any(names):  # a column that a row has nothing in
            names = [name for at, name in enumerate(names) if name or (options.ids and at == 0)]
        label = pop_id(names, options.ids)
        if options.within is not None:
            lists = (split(line._replace(text=value), options.within) for value in names if value)
            names = list(chain.from_iterable(lists))
        yield Record(line, label, [*names, *further])


class _Table:
    """A table with a row per transaction: some columns hold items, some become items such as `sex=f`.

    With the option `item` only this column holds items, else all that are neither ids nor among `columns`.
    """

    def __init__(self, head: Line, names: list[str], options: Options) -> None:
        self.names, self.columns = names, options.columns
        for name in options.columns:
            find_column(head, names, name, "columns")
        if options.item != Options().item:
            held = [find_column(head, names, options.item, "item")]
        else:
            held = [at for at, name in enumerate(names) if at >= options.ids and name not in options.columns]
        self.first, self.held = [0] * options.ids, held

    def split(self, line: Line, values: list[str]) -> tuple[list[str], list[str]]:
        """Return the id and the items of a row, and the items that its other columns become."""
        check_width(line, values, len(self.names))
        names = [values[at] for at in self.first] + [values[at] for at in self.held if values[at].strip()]
        return names, column_items(self.names, values, self.columns)


def _refuse_brackets(line: Line, separator: str) -> None:
    """Raise an error for a published file: read as baskets, its brackets would become parts of names unnoticed."""
    for cell in cells(line, separator):
        if cell.text.startswith("(") and not cell.quoted:
            raise line.error(
                f"an opening bracket before {quote(cell.text[1:])}",
                "set-generalised transactions have the format published; put a name that begins so in quotes",
                cell.column,
            )


def _render(dataset: Dataset, options: Options) -> Iterator[str]:
    for label, items in zip(dataset.labels, dataset.transactions, strict=True):
        if not (items or options.ids):
            raise no_items(label, "basket without ids")
        values = items if options.within is None or not items else (join(items, options.within),)
        yield join((label, *values) if options.ids else values, options.separator or ",")


FORMAT = Format(
    "basket",
    "one record a line: milk, bread",
    _parse,
    _render,
    frozenset({"ids", "separator", "within", "header", "header_row", "columns", "item"}),
)
