"""Sentences that explain findings: a template in the rule file, compiled to one SQL expression.

`{column}` prints a column, `{column:.2f}` with two digits, `{column:item}`, `{column:txn}` and `{column:generalised}`
the name of the node whose number the column has. `{record}` and `{column:txn}` print a record with a number as its name
as "record 5", unless the template has this word or "transaction" just before. As SQL the sentence works in `decloak
explain` and in any SQLite shell.
"""

import re
from collections.abc import Collection
from string import Formatter

from decloak.errors import DecloakError, quote, suggest
from decloak.store.relations import NODES

_DIGITS = re.compile(r"^\.([0-9])f$")
_WORD = re.compile(r"\b(record|transaction)\s*$", re.IGNORECASE)


def record_phrase(record: str) -> str:
    """Return the name of `record` for a sentence.

    >>> record_phrase("p01"), record_phrase("5")
    ('p01', 'record 5')
    """
    return f"record {record}" if record.isascii() and record.isdigit() else record


def _record_phrase_sql(label: str) -> str:
    # SQLite has no isdigit: what matches no other character consists of digits.
    return f"iif({label} glob '*[^0-9]*', '', 'record ') || {label}"


def sentence_sql(template: str, columns: Collection[str], table: str) -> str:
    """Compile a `template` over the `columns` of `table` to a SQL expression; return it."""
    parts = [part for pieces in _pieces(template) for part in _compiled(*pieces, columns, table)]
    return " || ".join(parts) or "''"


def column_names(template: str) -> set[str]:
    """Return the columns that a `template` prints."""
    return {column for _, column, _, _ in _pieces(template) if column is not None}


def nodes_named(template: str) -> dict[str, str]:
    """Return the columns whose nodes a `template` names, with the kind of the nodes.

    >>> nodes_named("{item:item} covers {covered:item} {n} times")
    {'item': 'item', 'covered': 'item'}
    """
    kinds: dict[str, str] = {}
    for _, column, spec, _ in _pieces(template):
        # A number has one meaning: as an item and as a record it would name two different things.
        if column is not None and spec in NODES and kinds.setdefault(column, spec) != spec:
            hint = f"name a {kinds[column]}, or a {spec}, and give the other a column of its own"
            raise DecloakError(f"the sentence names {quote(column)} as {kinds[column]} and as {spec}", hint=hint)
    return kinds


def _pieces(template: str) -> list[tuple[str, str | None, str | None, str | None]]:
    try:
        return list(Formatter().parse(template))
    except ValueError as error:
        raise DecloakError(f"cannot read the sentence: {error}", hint="write {column}, and {{ }} for braces") from None


def _compiled(
    text: str, column: str | None, spec: str | None, conversion: str | None, columns: Collection[str], table: str
) -> list[str]:
    # Quotes are doubled, so that a template of another author cannot leave the string.
    parts = ["'" + text.replace("'", "''") + "'"] if text else []
    if column is None:
        return parts
    if column not in columns:
        hint = suggest(column, columns) or f"columns are {', '.join(sorted(columns))}"
        raise DecloakError(f"the sentence names {quote(column)}, which is no column", hint=hint)
    value = f'{table}."{column}"'
    digits = _DIGITS.match(spec or "")
    if conversion or (spec and not digits and spec not in NODES):
        hint = f"use .2f, {', '.join(NODES)}, or nothing"
        raise DecloakError(f"cannot print {quote(column)} as {quote(spec or conversion)}", hint=hint)
    worded = (spec == "txn" or (column == "record" and not spec)) and not _WORD.search(text)
    if digits:
        # printf takes null for 0: a missing number would look like 0.
        value = f"iif({value} is null, null, printf('%.{digits[1]}f', {value}))"
    elif spec:
        name = NODES[spec]
        value = f"(select {_record_phrase_sql(name) if worded else name} from {spec} where id = {value})"
    elif worded:
        value = _record_phrase_sql(value)
    return [*parts, f"coalesce(cast({value} as text), 'none')"]
