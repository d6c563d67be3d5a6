"""Format `jsonl`: each line a JSON array of names, or an object {"id": ..., "items": [...]}.

An empty record is one of [].
"""

from collections.abc import Iterable, Iterator

from decloak.data.dataset import Dataset
from decloak.data.formats.lines import Line, json_text, json_value
from decloak.data.formats.record import Format, Options, Record
from decloak.errors import quote, suggest

KEYS = ("id", "items")
SHAPE = 'write ["milk", "bread"] or {"id": "p1", "items": ["milk", "bread"]}'


def _parse(lines: Iterable[Line], options: Options) -> Iterator[Record]:
    """Yield the records of JSON Lines. An id may be anywhere in an object, but then every line must have one."""
    named: bool | None = True if options.ids else None
    for line in lines:
        label, items = transaction_of(line, json_value(line, SHAPE), named, SHAPE)
        named = label is not None
        yield Record(line, label, items)


def transaction_of(line: Line, value: object, named: bool | None, shape: str) -> tuple[str | None, list[str]]:
    """Return the id and the names in `value` of `line`; `named` is True if earlier lines have an id, None at the first
    line. `shape` is the remedy.
    """
    label, items = _object(line, value) if isinstance(value, dict) else (None, value)
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise line.error(f"expected a list of strings, found {quote(line.text)}", shape)
    if named is not None and named is (label is None):
        raise line.error("some transactions have an id and this one has none" if named else
                         "this transaction has an id and the ones before have none", shape)  # fmt: skip
    return label, items


def _object(line: Line, value: dict[str, object]) -> tuple[str | None, object]:
    for key in value:
        if key not in KEYS:
            raise line.error(f"unknown key {quote(key)}", suggest(key, KEYS) or SHAPE)
    label = value.get("id")
    if isinstance(label, bool) or not isinstance(label, str | int | None):
        raise line.error(f"the id of {quote(line.text)}", "write a string or a whole number")
    return None if label is None else str(label), value.get("items")


def _render(dataset: Dataset, options: Options) -> Iterator[str]:
    for label, items in zip(dataset.labels, dataset.transactions, strict=True):
        yield json_text({"id": label, "items": items} if options.ids else items)


FORMAT = Format(
    "jsonl", 'a JSON list of names a line, or {"id": ..., "items": [...]}', _parse, _render, frozenset({"ids"})
)
