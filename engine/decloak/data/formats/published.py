"""Format `published`: set-generalised transactions, one a line.

    heart disease, (blood pressure, icd, limbs, injury), weakness
    ()

A bracket is a generalised item; a bracket with a single member is marked too. A line of () alone is a record whose
items were all suppressed. Names with a comma, a bracket or a quote, or a blank at either end, are in double quotes; a
quote inside is doubled. With ids the first name of a line is the id.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from decloak.data.content import Element
from decloak.data.formats.delimited import one_line, quoted_value
from decloak.data.formats.lines import FilePath, Line, check_name, location
from decloak.data.formats.record import LineLabels, Names, check_labels
from decloak.data.formats.writing import write_lines
from decloak.data.rows import CodedRows
from decloak.errors import DecloakError, at_location, quote

# Possessive quantifiers: a hostile line must not cause exponential backtracking.
_TOKEN = re.compile(r'\s*+(?:(?P<mark>[(),])|"(?P<quoted>(?:[^"]++|"")*+)"|(?P<bare>[^(),"]++)|(?P<open>"))')

# What may not follow what: n is a name, ^ the beginning of the line and $ its end.
_WRONG = {
    **dict.fromkeys(("^,", ",,", "(,", ",)", ",$"), "an empty name"),
    **dict.fromkeys(("nn", "n(", ")n", ")("), "no comma before this"),
    "()": "an empty bracket",
}
_HINT = "put a name that holds a bracket, a comma or a quote in double quotes, its quotes written twice"


class _Token(NamedTuple):
    kind: str  # one of n ( ) , and $
    text: str
    column: int


def parse_published(
    lines: Iterable[Line], ids: bool, *, repeats: bool = False
) -> tuple[CodedRows[Element], Sequence[str]]:
    """Return the set-generalised transactions in `lines` and their labels; with `ids`, the first name of a line is the
    id.

    An item occurs once in a record, and ids are unique unless `repeats`.
    """
    labels = LineLabels(repeats=repeats)
    rows = CodedRows.of(_transactions(lines, ids, labels))
    return rows, labels.labels  # complete only now


def _transactions(lines: Iterable[Line], ids: bool, labels: LineLabels) -> Iterator[list[Element]]:
    names = Names()
    for line in lines:
        tokens = _tokens(line)
        _check_shape(line, tokens, ids)
        label = _take_id(line, tokens) if ids else None
        if not _is_empty(tokens):
            _check_names(line, tokens)
        elements = _elements(tokens, names)
        labels.add(line, label)
        yield elements


def _tokens(line: Line) -> list[_Token]:
    text = line.text.rstrip()
    tokens = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        token, column = match[kind], match.start(kind) + 1
        if kind == "open":
            raise line.error("a quote that is never closed", _HINT, column)
        if kind == "mark":
            tokens.append(_Token(token, token, column))
        else:
            name = token.replace('""', '"') if kind == "quoted" else token.rstrip()
            tokens.append(_Token("n", name, column - (kind == "quoted")))
    return [*tokens, _Token("$", "", len(text) + 1)]


def _is_empty(tokens: list[_Token]) -> bool:
    return [token.kind for token in tokens] == ["(", ")", "$"]


def _check_shape(line: Line, tokens: list[_Token], ids: bool) -> None:
    """Raise an error unless names and brackets alternate with commas, and brackets close before others open."""
    # With ids, the id and its comma come before the bracket.
    if _is_empty(tokens[2 * ids :]):
        tokens = tokens[: 2 * ids - 1] if ids else []
    before, inside = "^", False
    for kind, _, column in tokens:
        wrong = _WRONG.get(before + kind)
        if kind == "(":
            wrong, inside = wrong or (inside and "a bracket inside a bracket") or None, True
        elif kind == ")":
            wrong, inside = wrong or (None if inside else "a closing bracket that none opened"), False
        elif kind == "$" and inside:
            wrong = "a bracket that is never closed"
        if wrong:
            raise line.error(wrong, _HINT, column)
        before = kind


def _take_id(line: Line, tokens: list[_Token]) -> str:
    if tokens[0].kind != "n":
        raise line.error("expected an id, then a comma", "remove ids: true (--ids) if the lines have no ids", 1)
    label = tokens[0].text
    del tokens[:2]  # the comma as well
    return label


def _check_names(line: Line, tokens: list[_Token]) -> None:
    columns: dict[str, int] = {}
    for kind, name, column in tokens:
        if kind != "n":
            continue
        if not name.strip():
            raise line.error("an empty name", "write a name, or remove it", column)
        if name in columns:
            message = f"{quote(name)} is there already, at column {columns[name]}"
            raise line.error(message, "an item stands once", column)
        columns[name] = column
    if not columns:
        raise line.error("a record without items", "remove the line, or write () for an empty one")


def _elements(tokens: list[_Token], names: Names) -> list[Element]:
    elements: list[Element] = []
    members: list[str] | None = None
    for kind, text, _ in tokens:
        if kind == "(":
            members = []
        elif kind == ")" and members is not None:
            elements += [tuple(members)] if members else []
            members = None
        elif kind == "n" and members is not None:
            members.append(names[text])
        elif kind == "n":
            elements.append(names[text])
    return elements


def write_published(
    transactions: Sequence[tuple[Element, ...]], labels: Sequence[str], path: FilePath, *, ids: bool = False
) -> None:
    """Write `transactions` to `path` so that `parse_published` returns them; with `ids`, also their `labels`."""
    lines = []
    with at_location(location(path)):
        if not transactions:
            raise DecloakError("no transactions to write")
        if ids:
            check_labels(labels, kept=True)
        for label, elements in zip(labels, transactions, strict=True):
            _check_legal(label, elements)
            cells = [format_element(element) for element in elements] or ["()"]
            lines.append(", ".join([_name(one_line(label))] * ids + cells))
    write_lines(lines, path, remedy="write a release file, to a name that ends in .jsonl")


def _name(name: str) -> str:
    return quoted_value(name, "(),")


def format_element(element: Element) -> str:
    """Return `element` as the text of a published line.

    >>> format_element(("icd", "limbs"))
    '(icd, limbs)'
    """
    return _name(element) if isinstance(element, str) else f"({', '.join(map(_name, element))})"


def _check_legal(label: str, elements: tuple[Element, ...]) -> None:
    """Raise an error for what the reader would refuse."""
    parts = [(element,) if isinstance(element, str) else element for element in elements]
    names = [one_line(check_name(name)) for part in parts for name in part]
    if not all(parts):
        raise DecloakError(f"a bracket in the transaction {quote(label)} is empty", hint="remove it")
    if len(set(names)) < len(names):
        raise DecloakError(f"an item is twice in the transaction {quote(label)}", hint="write a release file (.jsonl)")
