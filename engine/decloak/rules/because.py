"""The sentence behind a finding: a template in the rule file, compiled to one SQL expression.

`{column}` prints a column, `{column:.2f}` with two digits, `{column:item}`, `{column:txn}` and `{column:generalised}`
the name of what has the number that the column holds. `{transaction}` and `{column:txn}` print a transaction that is
called by a number as "transaction 5", unless the template has that word just before. As SQL it works in
`decloak explain` and in any SQLite shell.
"""

import re
from collections.abc import Collection
from string import Formatter

from decloak.errors import DecloakError, nearest, shown
from decloak.store.relations import NODES

__all__ = ["called", "nodes_named", "sentence_sql"]

_DIGITS = re.compile(r"^\.([0-9])f$")
_WORD = re.compile(r"\btransaction\s*$", re.IGNORECASE)


def called(transaction: str) -> str:
    """What a transaction is called in a sentence.

    >>> called("p01"), called("5")
    ('p01', 'transaction 5')
    """
    return f"transaction {transaction}" if transaction.isascii() and transaction.isdigit() else transaction


def _called(label: str) -> str:
    # SQLite has no isdigit: what matches no other character consists of digits.
    return f"iif({label} glob '*[^0-9]*', '', 'transaction ') || {label}"


def sentence_sql(template: str, columns: Collection[str], table: str) -> str:
    """Compile a template over the columns of `table` to a SQL expression."""
    parts = [part for pieces in _pieces(template) for part in _compiled(*pieces, columns, table)]
    return " || ".join(parts) or "''"


def nodes_named(template: str) -> dict[str, str]:
    """Return the columns whose nodes a template names, with the kind of the nodes.

    >>> nodes_named("{item:item} covers {covered:item} {n} times")
    {'item': 'item', 'covered': 'item'}
    """
    kinds: dict[str, str] = {}
    for _, column, spec, _ in _pieces(template):
        if column is not None and spec in NODES and kinds.setdefault(column, spec) != spec:
            hint = f"name a {kinds[column]}, or a {spec}, and give the other a column of its own"
            raise DecloakError(f"the sentence names {shown(column)} as {kinds[column]} and as {spec}", hint=hint)
    return kinds


def _pieces(template: str) -> list[tuple[str, str | None, str | None, str | None]]:
    try:
        return list(Formatter().parse(template))
    except ValueError as error:
        raise DecloakError(f"cannot read the sentence: {error}", hint="write {column}, and {{ }} for braces") from None


def _compiled(
    text: str, column: str | None, spec: str | None, conversion: str | None, columns: Collection[str], table: str
) -> list[str]:
    parts = ["'" + text.replace("'", "''") + "'"] if text else []
    if column is None:
        return parts
    if column not in columns:
        hint = nearest(column, columns) or f"columns are {', '.join(sorted(columns))}"
        raise DecloakError(f"the sentence names {shown(column)}, which is no column", hint=hint)
    value = f'{table}."{column}"'
    digits = _DIGITS.match(spec or "")
    if conversion or (spec and not digits and spec not in NODES):
        hint = f"use .2f, {', '.join(NODES)}, or nothing"
        raise DecloakError(f"cannot print {shown(column)} as {shown(spec or conversion)}", hint=hint)
    worded = (spec == "txn" or (column == "transaction" and not spec)) and not _WORD.search(text)
    if digits:
        # printf takes null for 0: a missing number would be told as one.
        value = f"iif({value} is null, null, printf('%.{digits[1]}f', {value}))"
    elif spec:
        name = NODES[spec]
        value = f"(select {_called(name) if worded else name} from {spec} where id = {value})"
    elif worded:
        value = _called(value)
    return [*parts, f"coalesce(cast({value} as text), 'none')"]
