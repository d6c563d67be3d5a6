"""A k^m-anonymous release as JSON Lines: a header, the items of every label, then one record a line.

    {"decloak": "release", "version": 1, "method": "generalisation", "k": 5, "m": 2}
    {"label": "infection", "items": ["flu", "cold"]}
    {"label": "knee", "items": ["knee"]}
    ["infection", "knee"]

Records may have ids: {"id": "p1", "items": ["infection"]}. k and m may be left out of the header. An empty
record is one whose items were all suppressed, or that held none.
"""

from collections.abc import Iterator, Sequence

from decloak.data.content import LabelContent
from decloak.data.formats.lines import FilePath, Line, check_name, json_text, json_value, location
from decloak.data.formats.plain.jsonl import transaction_of
from decloak.data.formats.record import LineLabels, check_labels
from decloak.data.formats.release_header import (
    LARGEST_NUMBER,
    LONGEST_RELEASE,
    STORE_REMEDY,
    Header,
    header_of,
)
from decloak.data.formats.writing import write_lines
from decloak.digest import JsonObject
from decloak.errors import DecloakError, at_location, quote, suggest

GENERALISATION = "generalisation"
LABEL = 'write {"label": "infection", "items": ["flu", "cold"]}'
TRANSACTION = 'write ["infection", "knee"] or {"id": "p1", "items": ["infection", "knee"]}'


class _Reader:
    """A parser of the lines below the header into labels and transactions. Every error names its line."""

    def __init__(self) -> None:
        self.members: dict[str, tuple[str, ...]] = {}
        self.transactions: list[tuple[str, ...]] = []
        self.ids = LineLabels()
        self.named: bool | None = None

    def add(self, line: Line, value: object) -> None:
        """Add the label or the record in `line`, parsed as `value`."""
        if isinstance(value, dict) and "label" in value:
            self._label(line, value)
        else:
            self._transaction(line, value)

    def _label(self, line: Line, value: JsonObject) -> None:
        if self.transactions:
            raise line.error("a label after a record", "write all labels first")
        if value.keys() != {"label", "items"}:
            raise line.error("a label has the keys label and items", LABEL)
        label, items = value["label"], value["items"]
        if not isinstance(items, list) or not items or not all(isinstance(name, str) for name in [label, *items]):
            raise line.error("a label needs a list of names", LABEL)
        if label in self.members or len(set(items)) < len(items):
            raise line.error(f"{quote(label)} or one of its items is written twice", "a name stands once")
        self.members[line.name(label)] = tuple(map(line.name, items))

    def _transaction(self, line: Line, value: object) -> None:
        label, items = transaction_of(line, value, self.named, TRANSACTION)
        self.named = label is not None
        for item in items:
            if item not in self.members:
                # Comparing spellings is slow, so only a part of many labels is compared.
                hint = suggest(item, list(self.members)[:5000]) or f"first {LABEL}"
                raise line.error(f"no label {quote(item)} is above", hint)
        if len(set(items)) < len(items):
            raise line.error("a label is written twice", "a label stands once in a record")
        self.ids.add(line, label)
        self.transactions.append(tuple(items))


def parse_label_content(lines: Sequence[Line]) -> LabelContent:
    """Return the release in `lines`. Its guarantee is not checked here."""
    header = header_of(lines[0], GENERALISATION)
    reader = _Reader()
    for line in lines[1:]:
        reader.add(line, json_value(line, TRANSACTION))
    if not reader.transactions:
        raise lines[-1].error("a release without transactions", TRANSACTION)
    rows = tuple(reader.transactions)
    return LabelContent(rows, reader.members, reader.ids.labels, GENERALISATION, header.k, header.m)


def write_generalised(release: LabelContent, path: FilePath, *, ids: bool = False) -> None:
    """Write `release` to `path` so that `parse_label_content` returns it; with `ids`, also the ids.

    Labels that occur in no record are left out.
    """
    if not release.transactions:
        raise DecloakError("a release without transactions", location(path), "generalise some transactions first")
    with at_location(location(path)):
        _check(release, ids)
    lines = (json_text(value) for value in _objects(release, ids))
    write_lines(lines, path, longest=LONGEST_RELEASE, remedy=STORE_REMEDY)


def _check(release: LabelContent, ids: bool) -> None:
    """Raise an error for what the reader would refuse."""
    for label, items in release.members.items():
        for name in (label, *items):
            check_name(name)
    for label in {label for row in release.transactions for label in row}.difference(release.members):
        raise DecloakError(f"the label {quote(label)} has no members", hint="add it to the members")
    if ids:
        check_labels(release.ids, kept=True)


def _objects(release: LabelContent, ids: bool) -> Iterator[object]:
    # No record has so many items, so a larger m adds nothing.
    # The header comes first, so that a reader recognises the file by one line.
    yield Header(GENERALISATION, release.k, release.m and min(release.m, LARGEST_NUMBER)).value
    # A label that no record shows would reveal a part of the hierarchy or of the records.
    for label in sorted(release.rows.used_names):
        yield {"label": label, "items": list(release.members[label])}
    for name, row in zip(release.ids, release.transactions, strict=True):
        yield {"id": name, "items": list(row)} if ids else list(row)
