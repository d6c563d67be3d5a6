"""The format `words`: a record on each line, with spaces between the items."""

from collections.abc import Iterable, Iterator

from decloak.data.dataset import Dataset
from decloak.data.formats.lines import Line
from decloak.data.formats.record import Format, Options, Record


def parse(lines: Iterable[Line], options: Options) -> Iterator[Record]:
    """Yield the record of each line."""
    for line in lines:
        yield Record(line, None, line.text.split())


def render(data: Dataset, options: Options) -> Iterator[str]:
    """Yield a line for each record."""
    for items in data.transactions:
        yield " ".join(items)


FORMAT = Format("words", "items with spaces between them", parse, render)
