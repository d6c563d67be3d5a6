"""A set-generalised release in the store: what was published, the hierarchy behind it, and what it was made from.

Each function works inside the caller's transaction.
"""

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from decloak.data.formats.published import written
from decloak.data.published import Published
from decloak.digest import digest as digest_of
from decloak.store.inserting import insert, insert_numbered, insert_rows, item_numbers, write_txns

__all__ = ["generalised_numbers", "link_origins", "mark_originals", "mark_suppressed", "write_release", "write_tree"]


def write_release(
    connection: sqlite3.Connection,
    digest: str,
    data: Published,
    method: str,
    parameters: Mapping[str, Any],
    hierarchy: int | None = None,
    loss: Mapping[str, Any] | None = None,
    notes: Sequence[str] = (),
) -> int:
    """Write a set-generalised release: its transactions, plain items, generalised items and their members."""
    dataset = insert(connection, "dataset", digest=digest, kind="published", origin=data.origin, format="published")
    release = insert(
        connection,
        "release",
        digest=digest,
        dataset=dataset,
        method=method,
        parameters=json.dumps(parameters),
        hierarchy=hierarchy,
        loss=json.dumps(loss or {}),
        notes=json.dumps(list(notes)),
    )
    txns = write_txns(connection, dataset, data.labels)
    generalised = _write_generalised(connection, release, data)
    plain = {element for row in data.transactions for element in row if isinstance(element, str)}
    items = item_numbers(connection, plain)
    places = _places(txns, data, of=str)
    insert_rows(connection, "contains (txn, position, item)", ((*place, items[item]) for *place, item in places))
    places = _places(txns, data, of=tuple)
    sets = ((*place, generalised[frozenset(members)]) for *place, members in places)
    insert_rows(connection, "published_as (txn, position, generalised)", sets)
    return release


def _places(txns: Iterable[int], data: Published, *, of: type) -> Iterator[tuple[int, int, Any]]:
    """What stands where: the number of each transaction, the position in it, and the element of a type there."""
    for txn, transaction in zip(txns, data.transactions, strict=True):
        yield from ((txn, position, element) for position, element in enumerate(transaction) if isinstance(element, of))


def _write_generalised(connection: sqlite3.Connection, release: int, data: Published) -> dict[frozenset[str], int]:
    """Number the generalised items; the same members in another order are the same generalised item."""
    distinct = {frozenset(members): members for members in reversed(data.generalised)}
    ordered = list(reversed(distinct.values()))  # filled backwards, so that of equal sets the first stays
    labels = ((release, data.names.get(members) or written(members)) for members in ordered)
    numbers = insert_numbered(connection, "generalised (release, label)", labels)
    items = item_numbers(connection, (item for members in ordered for item in members))
    rows = (
        (number, position, items[item])
        for number, members in zip(numbers, ordered, strict=True)
        for position, item in enumerate(members)
    )
    insert_rows(connection, "member_of (generalised, position, item)", rows)
    return dict(zip(map(frozenset, ordered), numbers, strict=True))


def generalised_numbers(connection: sqlite3.Connection, release: int) -> dict[frozenset[str], int]:
    """The numbers of the generalised items of a release, by their members."""
    rows = connection.execute(
        "select m.generalised, i.name from generalised g join member_of m on m.generalised = g.id "
        "join item i on i.id = m.item where g.release = ? order by m.generalised",
        (release,),
    )
    return {frozenset(name for _, name in group): number for number, group in groupby(rows, key=lambda row: row[0])}


def write_tree(connection: sqlite3.Connection, parents: Mapping[str, str], leaves: Collection[str], origin: str) -> int:
    """Write a hierarchy: its nodes, the items that leaves stand for, and what is below what; once for the same tree."""
    key = digest_of(["hierarchy", origin, list(parents.items())])
    row = connection.execute("select id from hierarchy where digest = ?", (key,)).fetchone()
    if row is not None:
        return int(row[0])
    number = insert(connection, "hierarchy", digest=key, origin=origin)
    items = item_numbers(connection, leaves)
    labels = dict.fromkeys([*parents.values(), *parents])  # the root is nobody's child
    rows = ((number, label, items.get(label)) for label in labels)
    concepts = dict(zip(labels, insert_numbered(connection, "concept (hierarchy, label, item)", rows), strict=True))
    edges = ((concepts[child], concepts[parent]) for child, parent in parents.items())
    insert_rows(connection, "is_a (child, parent)", edges)
    return number


def link_origins(connection: sqlite3.Connection, release: int, original: int) -> None:
    """Note which original transaction each published one was made from: the one of the same label."""
    connection.execute("insert into truth_release (release, original) values (?, ?)", (release, original))
    connection.execute(
        "insert into truth_origin (txn, original) select p.id, o.id from release r join txn p on p.dataset = r.dataset "
        "join txn o on o.dataset = ? and o.label = p.label where r.id = ?",
        (original, release),
    )


def mark_suppressed(connection: sqlite3.Connection, release: int, items: Iterable[str]) -> None:
    """Note the items of the original that a release shows nowhere."""
    numbers = item_numbers(connection, items)
    rows = ((release, number) for number in sorted(numbers.values()))
    insert_rows(connection, "truth_suppressed (release, item)", rows)


def mark_originals(connection: sqlite3.Connection, release: int, marked: Iterable[tuple[str, str]]) -> None:
    """Note the members that a distance table file marks as original: transaction label and item name."""
    connection.executemany(
        "insert or ignore into truth_marked (txn, item) select t.id, i.id from release r "
        "join txn t on t.dataset = r.dataset join item i on i.name = ? where t.label = ? and r.id = ?",
        ((item, label, release) for label, item in marked),
    )
