"""An itemset table in the store: its itemsets with their supports."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from itertools import islice

from decloak.data.itemset_table import ItemsetTable
from decloak.store.inserting import insert, insert_numbered, item_numbers
from decloak.store.lists import damaged, json_lists, read_lists

__all__ = ["read_itemset_table", "write_itemset_table"]


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
    dataset = insert(
        connection, "dataset", digest=digest, kind="published", origin=table.origin, format=str(table.form)
    )
    settings = {"k": table.k, "m": table.m, **parameters}
    release = insert(
        connection, "release",
        digest=digest, dataset=dataset, method=method, parameters=json.dumps(settings), notes=json.dumps(list(notes)),
        loss=json.dumps(dict(loss)),
    )  # fmt: skip
    items = item_numbers(connection, (item for itemset in table.itemsets for item in itemset))
    lists = json_lists([[], *([items[item] for item in itemset] for itemset in table.itemsets)])
    rows = zip(range(len(lists)), lists, (table.records, *table.supports), strict=True)
    into = "published_itemset (release, number, items, support)"
    insert_numbered(connection, into, ((release, *row) for row in rows))
    return release


def read_itemset_table(connection: sqlite3.Connection, release: int) -> ItemsetTable:
    """Return the itemset table `release` as it was written."""
    origin, parameters = connection.execute(
        "select d.origin, r.parameters from release r join dataset d on d.id = r.dataset where r.id = ?", (release,)
    ).fetchone()
    rows = connection.execute(
        "select items, support from published_itemset where release = ? order by number", (release,)
    ).fetchall()
    lengths, numbers = read_lists([text for text, _ in rows], "the items of itemsets")
    names = dict(connection.execute("select id, name from item"))
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
