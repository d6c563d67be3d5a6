"""A set-generalised release in the store: the published data, the hierarchy behind it, and its origins.

Each function works inside the caller's transaction.

An itemset table in the store: its itemsets with their supports.
"""

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby, islice

from decloak.data.content import Element
from decloak.data.formats.blocks import Part
from decloak.data.formats.published import format_element
from decloak.data.hierarchy import Hierarchy
from decloak.data.itemset_table import ItemsetTable
from decloak.data.published import Published
from decloak.digest import digest as digest_of
from decloak.store.inserting import insert, insert_numbered, insert_rows, item_names, item_numbers
from decloak.store.lists import damaged, json_lists, read_lists
from decloak.store.records import (
    by_frequency,
    dataset_of,
    named_rows,
    read_records,
    write_marked,
    write_parts,
    write_records,
)


def write_release(
    connection: sqlite3.Connection,
    digest: str,
    data: Published,
    method: str,
    parameters: Mapping[str, object],
    hierarchy: int | None = None,
    loss: Mapping[str, object] | None = None,
    notes: Sequence[str] = (),
    parts: Sequence[Part] = (),
) -> int:
    """Write a set-generalised release: its records, plain items, generalised items and their members.

    If the records are in files, `parts` is their catalogue.
    """
    dataset, release = insert_release(
        connection, digest, (data.origin, "published"), method, parameters, notes, loss, hierarchy
    )
    generalised = _write_generalised(connection, release, data)
    items = item_numbers(connection, [element for element in by_frequency(data.rows) if isinstance(element, str)])

    def number(element: Element) -> int:
        # Below zero, because items and generalised items are numbered separately.
        return items[element] if isinstance(element, str) else -generalised[frozenset(element)]

    write_records(connection, dataset, data.rows, data.labels, number)
    write_parts(connection, dataset, parts)
    return release


def insert_release(
    connection: sqlite3.Connection,
    digest: str,
    data: tuple[str, str],
    method: str,
    parameters: Mapping[str, object],
    notes: Sequence[str],
    loss: Mapping[str, object] | None,
    hierarchy: int | None = None,
) -> tuple[int, int]:
    """Insert the rows of a data set and of its release, and return the numbers of both.

    `data` are the origin and the format of the data set.
    """
    origin, form = data
    dataset = insert(connection, "dataset", digest=digest, kind="published", origin=origin, format=form)
    release = insert(
        connection, "release",
        digest=digest, dataset=dataset, method=method, parameters=json.dumps(parameters), hierarchy=hierarchy,
        loss=json.dumps(loss or {}), notes=json.dumps(list(notes)),
    )  # fmt: skip
    return dataset, release


def _write_generalised(connection: sqlite3.Connection, release: int, data: Published) -> dict[frozenset[str], int]:
    """Give each generalised item one number, regardless of the order of its members."""
    distinct = {frozenset(members): members for members in reversed(data.generalised)}
    ordered = list(reversed(distinct.values()))  # filled backwards, so that of equal sets the first stays
    labels = ((release, data.names.get(members) or format_element(members)) for members in ordered)
    numbers = insert_numbered(connection, "generalised (release, label)", labels)
    items = item_numbers(connection, [item for members in ordered for item in members])
    rows = (
        (number, position, items[item])
        for number, members in zip(numbers, ordered, strict=True)
        for position, item in enumerate(members)
    )
    insert_rows(connection, "member_of (generalised, position, item)", rows)
    return dict(zip(map(frozenset, ordered), numbers, strict=True))


def generalised_numbers(connection: sqlite3.Connection, release: int) -> dict[frozenset[str], int]:
    """Return the number of each generalised item of a release, by its members."""
    rows = connection.execute(
        "select m.generalised, i.name from generalised g join member_of m on m.generalised = g.id "
        "join item i on i.id = m.item where g.release = ? order by m.generalised",
        (release,),
    )
    return {frozenset(name for _, name in group): number for number, group in groupby(rows, key=lambda row: row[0])}


def write_tree(connection: sqlite3.Connection, parents: Mapping[str, str], leaves: Collection[str], origin: str) -> int:
    """Write a hierarchy once for the same tree: its nodes, the items of its leaves, and its edges."""
    key = digest_of(["hierarchy", origin, list(parents.items())])
    row = connection.execute("select id from hierarchy where digest = ?", (key,)).fetchone()
    if row is not None:
        return int(row[0])
    number = insert(connection, "hierarchy", digest=key, origin=origin)
    items = item_numbers(connection, leaves)
    labels = dict.fromkeys([*parents.values(), *parents])  # the root has no parent
    rows = ((number, label, items.get(label)) for label in labels)
    concepts = dict(zip(labels, insert_numbered(connection, "concept (hierarchy, label, item)", rows), strict=True))
    edges = ((concepts[child], concepts[parent]) for child, parent in parents.items())
    insert_rows(connection, "is_a (child, parent)", edges)
    return number


def mark_suppressed(connection: sqlite3.Connection, release: int, items: Iterable[str]) -> None:
    """Note the items of the original that a release shows nowhere."""
    numbers = item_numbers(connection, items)
    rows = ((release, number) for number in sorted(numbers.values()))
    insert_rows(connection, "truth_suppressed (release, item)", rows)


def mark_originals(connection: sqlite3.Connection, release: int, marked: Sequence[tuple[str, str]]) -> None:
    """Note the members that a distance table file marks as original: record label and item name."""
    if not marked:
        return
    dataset = dataset_of(connection, release)
    place = {label: place for place, label in enumerate(read_records(connection, dataset).labels)}
    items = item_numbers(connection, sorted({item for _, item in marked}))
    write_marked(connection, dataset, sorted({(place[label], items[item]) for label, item in marked}))


def write_itemset_table(
    connection: sqlite3.Connection,
    digest: str,
    table: ItemsetTable,
    method: str,
    parameters: Mapping[str, object],
    notes: Sequence[str],
    loss: Mapping[str, object],
) -> int:
    """Write `table` and return the number of its release.

    `digest` is the key of the stage. `method`, `parameters`, `notes` and `loss` describe the release.
    """
    settings = {"k": table.k, "m": table.m, **parameters}
    _, release = insert_release(connection, digest, (table.origin, str(table.form)), method, settings, notes, loss)
    items = item_numbers(connection, (item for itemset in table.itemsets for item in itemset))
    # The empty itemset is the first: its support is the number of records.
    lists = json_lists([[], *([items[item] for item in itemset] for itemset in table.itemsets)])
    rows = zip(range(len(lists)), lists, (table.records, *table.supports), strict=True)
    into = "published_itemset (release, number, items, support)"
    insert_numbered(connection, into, ((release, *row) for row in rows))
    return release


def read_stored_itemsets(connection: sqlite3.Connection, release: int) -> ItemsetTable:
    """Return the itemset table `release` as it was written."""
    origin, parameters = connection.execute(
        "select d.origin, r.parameters from release r join dataset d on d.id = r.dataset where r.id = ?", (release,)
    ).fetchone()
    rows = connection.execute(
        "select items, support from published_itemset where release = ? order by number", (release,)
    ).fetchall()
    lengths, numbers = read_lists([text for text, _ in rows], "the items of itemsets")
    names = item_names(connection)
    try:
        listed = iter([names[number] for number in numbers.tolist()])
    except KeyError:
        raise damaged("an itemset has an item that is not there") from None
    itemsets = [tuple(islice(listed, length)) for length in lengths.tolist()]
    if not itemsets or itemsets[0]:
        raise damaged(f"the itemset table {release} lacks the number of records")
    settings = json.loads(parameters)
    supports = tuple(support for _, support in rows)
    return ItemsetTable(supports[0], tuple(itemsets[1:]), supports[1:], settings.get("k"), settings.get("m"), origin)


def read_set_generalised(connection: sqlite3.Connection, release: int) -> Published:
    """Read a set-generalised release."""
    dataset, origin = connection.execute(
        "select d.id, d.origin from release r join dataset d on d.id = r.dataset where r.id = ?", (release,)
    ).fetchone()
    element: dict[int, Element] = dict(item_names(connection))
    names: dict[tuple[str, ...], str] = {}
    rows = connection.execute(
        "select m.generalised, g.label, i.name from generalised g join member_of m on m.generalised = g.id "
        "join item i on i.id = m.item where g.release = ? order by m.generalised, m.position",
        (release,),
    )
    for (number, label), group in groupby(rows, key=lambda row: row[:2]):
        members = tuple(item for _, _, item in group)
        element[-number], names[members] = members, label
    stored = read_records(connection, dataset)
    return Published(named_rows(dataset, stored.rows, element), stored.labels, origin, names)


def read_tree(connection: sqlite3.Connection, release: int) -> Hierarchy | None:
    """Return the hierarchy that a release was generalised in, or None."""
    rows = connection.execute(
        "select c.label, p.label from release r join concept c on c.hierarchy = r.hierarchy "
        "join is_a e on e.child = c.id join concept p on p.id = e.parent where r.id = ? order by c.id",
        (release,),
    ).fetchall()
    return Hierarchy.from_parents(dict(rows)) if rows else None


def knows_originals(connection: sqlite3.Connection, release: int) -> bool:
    """Return whether the evaluator knows which members were original."""
    (knows,) = connection.execute(
        "select exists (select 1 from truth_release where release = ?1) or exists (select 1 from release r "
        "join dataset d on d.id = r.dataset join truth_marked m on m.txn >= d.first and m.txn < d.first + d.records "
        "where r.id = ?1)",
        (release,),
    ).fetchone()
    return bool(knows)
