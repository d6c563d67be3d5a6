"""The relations a rule may read, their columns and keys.

`store/attackers_database.py` fills them for one release. No relation shows a truth_ table or an original data set.
"""

from typing import NamedTuple

SqlValue = None | int | float | str | bytes
"""A value of a relation, as SQLite has it."""
Row = tuple[SqlValue, ...]
"""A row of a relation."""


class Relation(NamedTuple):
    """A relation: its columns, the columns that identify a row, and its meaning."""

    columns: tuple[str, ...]
    key: tuple[str, ...]
    meaning: str
    quick: tuple[str, ...] = ()
    """Additional columns of an index, after the key."""


class Derives(NamedTuple):
    """The relation a rule gives to others."""

    name: str
    columns: tuple[str, ...]


ELIMINATION_COLUMNS = frozenset({"txn", "generalised", "item"})
"""The columns of a relation whose facts say that an item is an added member of a generalised item in a record."""
NODES = {"item": "name", "txn": "label", "generalised": "label"}
"""The kinds of nodes that columns hold the numbers of, and the column that names a node of each kind."""

COVER_COLUMNS = frozenset({"cluster", "chunk", "item", "earlier", "covered", "size", "support"})
"""Columns of a relation of cover problems: `covered` holds items, as `item` does."""


class Scope(NamedTuple):
    """The input that a rule may read: numbers of rows in the store."""

    release: int
    dataset: int
    scoring: int | None = None
    attacker: int | None = None
    auxiliary: int | None = None
    """The data set that the attacker has in addition to the release."""
    relatedness: int | None = None
    """The measure that the scoring uses."""


RELATIONS: dict[str, Relation] = {
    "distance": Relation(
        ("item_group", "row", "col", "d"),
        ("item_group", "row", "col"),
        "cells of the distance tables; d is null where there is no score",
    ),
    "distance_row": Relation(
        ("item_group", "row", "txn"),
        ("item_group", "row"),
        "the record of each row of a distance table",
        ("txn",),
    ),
    "distance_col": Relation(
        ("item_group", "col", "item"),
        ("item_group", "col"),
        "the member of each column of a distance table",
        ("item",),
    ),
    "context": Relation(
        ("item_group", "row", "item"),
        ("item_group", "row", "item"),
        "the context items of each row of a distance table",
        ("item",),
    ),
    "related": Relation(
        ("a", "b", "score"),
        ("a", "b"),
        "how far apart two items are; null where the source gives no score",
    ),
    "item": Relation(
        ("item", "name"),
        ("item",),
        "the names of the items that the release shows",
    ),
    "txn": Relation(
        ("txn", "position", "label"),
        ("txn",),
        "the published transactions",
        ("position",),
    ),
    "contains": Relation(
        ("txn", "position", "item"),
        ("txn", "position"),
        "the plain items of the published transactions",
        ("item",),
    ),
    "published_as": Relation(
        ("txn", "position", "generalised"),
        ("txn", "position"),
        "the generalised items of the published transactions",
        ("generalised",),
    ),
    "shown": Relation(
        ("txn", "position", "label"),
        ("txn", "position"),
        "the items and generalised items of the published records, by name",
    ),
    "component": Relation(
        ("txn", "component"),
        ("txn",),
        "the connected component of each published record: records with a common item or generalised item",
    ),
    "k_core": Relation(
        ("item", "core"),
        ("item",),
        "the core number of each plain item, in the graph of plain items that share a published record",
    ),
    "matching": Relation(
        ("item_group", "row", "col"),
        ("item_group", "row"),
        "a largest matching of the records and members of each distance table, one of least total distance",
    ),
    "member_of": Relation(
        ("generalised", "position", "item"),
        ("generalised", "position"),
        "the members of the generalised items",
        ("item",),
    ),
    "auxiliary": Relation(
        ("line", "label", "position", "item"),
        ("line", "position"),
        "the items of the auxiliary file, with records in the order of the file",
        ("item",),
    ),
    "cluster": Relation(
        ("cluster", "size"),
        ("cluster",),
        "the clusters of a disassociated release",
    ),
    "subrecord_item": Relation(
        ("cluster", "chunk", "subrecord", "item"),
        ("cluster", "chunk", "subrecord", "item"),
        "the items of the sub-records of the record chunks of a disassociated release",
        ("item",),
    ),
    "term": Relation(
        ("cluster", "item"),
        ("cluster", "item"),
        "the items of the term chunks of a disassociated release",
    ),
    "stated": Relation(
        ("k", "m"),
        (),
        "the k and m that the release or its manifest states, one row; null for one that neither states",
    ),
    "published_itemset": Relation(
        ("itemset", "size", "support"),
        ("itemset",),
        "the itemsets of an itemset table; the one of size 0 is in every record",
    ),
    "published_itemset_item": Relation(
        ("itemset", "item"),
        ("itemset", "item"),
        "the items of the itemsets of an itemset table",
        ("item",),
    ),
    "knows": Relation(
        ("itemset", "item"),
        ("itemset", "item"),
        "the itemsets that an attacker knows. The strong attacker knows every pair and has none",
        ("item",),
    ),
    "attacker": Relation(
        ("model",),
        (),
        "the model of the attacker of disassociated data, one row",
    ),
}
"""By name."""

_PREFIXES = ("truth_", "sqlite_", "pragma_")


def taken(name: str) -> str | None:
    """Return why a relation of a rule or a step may not have this name, or None."""
    from decloak.store.documentation import schema_tables  # reads a file, which only rules with such names need

    name = name.lower()
    if name in RELATIONS:
        return "is a relation of the store"
    kind = next((table.kind for table in schema_tables() if table.name == name), None)
    if kind is not None:
        return f"is a {kind} of the store"
    prefix = next((prefix for prefix in _PREFIXES if name.startswith(prefix)), None)
    return None if prefix is None else f"begins like names of the store: {prefix}"
