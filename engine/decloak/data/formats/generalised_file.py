"""A k^m-anonymous release as JSON Lines: a header, the items of every label, then one transaction a line.

    {"decloak": "release", "version": 1, "method": "generalisation", "k": 5, "m": 2}
    {"label": "infection", "items": ["flu", "cold"]}
    {"label": "knee", "items": ["knee"]}
    ["infection", "knee"]

Transactions may have ids: {"id": "p1", "items": ["infection"]}. k and m may be left out of the header. An empty
transaction is one whose items were all suppressed, or that held none.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from decloak.data.content import Labelled
from decloak.data.formats.jsonvalue import json_text, json_value
from decloak.data.formats.lines import FilePath, Line, check_name, place
from decloak.data.formats.plain.jsonl import transaction_of
from decloak.data.formats.record import LineLabels, check_labels
from decloak.data.formats.release_header import LARGEST_NUMBER, LONGEST_RELEASE, STORE_REMEDY, Header, closed, header_of
from decloak.data.formats.writing import write_lines
from decloak.errors import DecloakError, nearest, placed, shown

__all__ = ["GENERALISATION", "labelled_schema", "parse_labelled", "write_generalised"]

GENERALISATION = "generalisation"
LABEL = 'write {"label": "infection", "items": ["flu", "cold"]}'
TRANSACTION = 'write ["infection", "knee"] or {"id": "p1", "items": ["infection", "knee"]}'


class _Reader:
    """Turns the lines below the header into labels and transactions; every fault names its line."""

    def __init__(self) -> None:
        self.members: dict[str, tuple[str, ...]] = {}
        self.transactions: list[tuple[str, ...]] = []
        self.ids = LineLabels()
        self.named: bool | None = None

    def take(self, line: Line, value: Any) -> None:
        if isinstance(value, dict) and "label" in value:
            self._label(line, value)
        else:
            self._transaction(line, value)

    def _label(self, line: Line, value: dict[str, Any]) -> None:
        if self.transactions:
            raise line.wrong("a label after a transaction", "write all labels first")
        if value.keys() != {"label", "items"}:
            raise line.wrong("a label has the keys label and items", LABEL)
        label, items = value["label"], value["items"]
        if not isinstance(items, list) or not items or not all(isinstance(name, str) for name in [label, *items]):
            raise line.wrong("a label stands for a list of names", LABEL)
        if label in self.members or len(set(items)) < len(items):
            raise line.wrong(f"{shown(label)} or one of its items is written twice", "a name stands once")
        self.members[line.name(label)] = tuple(map(line.name, items))

    def _transaction(self, line: Line, value: Any) -> None:
        label, items = transaction_of(line, value, self.named, TRANSACTION)
        self.named = label is not None
        for item in items:
            if item not in self.members:
                hint = nearest(item, list(self.members)[:5000]) or f"first {LABEL}"
                raise line.wrong(f"no label {shown(item)} is above", hint)
        if len(set(items)) < len(items):
            raise line.wrong("a label is written twice", "a label stands once in a transaction")
        self.ids.add(line, label)
        self.transactions.append(tuple(items))


def parse_labelled(lines: Sequence[Line]) -> Labelled:
    """Read the lines of a release; what it promises is not checked here, only that it is one."""
    header = header_of(lines[0], GENERALISATION)
    reader = _Reader()
    for line in lines[1:]:
        reader.take(line, json_value(line, TRANSACTION))
    if not reader.transactions:
        raise lines[-1].wrong("a release without transactions", TRANSACTION)
    rows = tuple(reader.transactions)
    return Labelled(rows, reader.members, reader.ids.labels, GENERALISATION, header.k, header.m)


def write_generalised(release: Labelled, path: FilePath, *, ids: bool = False) -> None:
    """Write a release so that `parse_labelled` gives it back, but for its ids, unless asked for, and for labels that
    stand in no transaction.
    """
    if not release.transactions:
        raise DecloakError("a release without transactions", place(path), "generalise some transactions first")
    with placed(place(path)):
        _check(release, ids)
    lines = (json_text(value) for value in _objects(release, ids))
    write_lines(lines, path, longest=LONGEST_RELEASE, remedy=STORE_REMEDY)


def _check(release: Labelled, ids: bool) -> None:
    """What the reader would refuse is not written."""
    for label, items in release.members.items():
        for name in (label, *items):
            check_name(name)
    for label in {label for row in release.transactions for label in row}.difference(release.members):
        raise DecloakError(f"nothing says what the label {shown(label)} stands for", hint="add it to the members")
    if ids:
        check_labels(release.ids, kept=True)


def _objects(release: Labelled, ids: bool) -> Iterator[Any]:
    # No transaction has as many items, so that a larger m says no more.
    yield Header(GENERALISATION, release.k, release.m and min(release.m, LARGEST_NUMBER)).value
    # A label that no transaction shows would tell what the hierarchy, or another part of the records, is like.
    for label in sorted(release.rows.used):
        yield {"label": label, "items": list(release.members[label])}
    for name, row in zip(release.ids, release.transactions, strict=True):
        yield {"id": name, "items": list(row)} if ids else list(row)


def labelled_schema() -> dict[str, Any]:
    """The JSON Schema of one line: the header, a label or a transaction."""
    whole = {"type": "integer", "minimum": 1, "maximum": LARGEST_NUMBER}
    name = {"type": "string", "minLength": 1}
    names = {"type": "array", "items": name, "uniqueItems": True}
    header = {key: {"const": value} for key, value in Header(GENERALISATION).value.items()} | {"k": whole, "m": whole}
    ids = {"type": ["string", "integer"], "minLength": 1}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of a generalised release",
        "oneOf": [
            closed("header", header),
            closed("label", {"label": name, "items": names | {"minItems": 1}}),
            {"title": "transaction"} | names,
            closed("transaction with an id", {"id": ids, "items": names}),
        ],
    }
