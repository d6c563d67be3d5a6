"""Ways to damage a release, so that it violates its guarantee in one respect: for `decloak.strategies`.

A function gets `choose`, which returns one of several options, a case, and a valid release of the case.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple, Protocol, TypeVar

from decloak.data.content import Chunk, Cluster
from decloak.data.disassociated import Disassociated
from decloak.data.forms import Release
from decloak.data.generalised import Generalised
from decloak.data.hierarchy import Hierarchy
from decloak.data.itemset_table import ItemsetTable
from decloak.data.published import Published

Row = TypeVar("Row")
Option = TypeVar("Option")
RARE = "rare"
"""An item that no case has."""


class Choose(Protocol):
    """A function that chooses."""

    def __call__(self, options: Sequence[Option], /) -> Option:
        """Return one of several `options`."""


class Case(NamedTuple):
    """Transactions with parameters. At least k records are not empty, or none.

    The hierarchy is over all items that are not sensitive.
    """

    transactions: list[list[str]]
    hierarchy: Hierarchy
    k: int
    m: int
    sensitive: tuple[str, ...] = ()

    @property
    def items(self) -> list[str]:
        """The items of the records, sorted."""
        return sorted({item for row in self.transactions for item in row})


Damaged = tuple[Case, Release] | None
"""A case with a release that violates its guarantee; None if the release cannot be damaged in this way."""
Damage = Callable[[Choose, Case, Any], Damaged]


def _with(rows: Sequence[Row], number: int, row: Row) -> tuple[Row, ...]:
    """Return `rows` with another `row` at a `number`."""
    return (*rows[:number], row, *rows[number + 1 :])


def show_member(choose: Choose, case: Case, release: Generalised) -> Damaged:
    """Show in one record an item in place of the label that generalises it; no other record shows the item."""
    number = choose(range(len(release.transactions)))
    shown = {label for row in release.transactions for label in row}
    hidden = {label: sorted({*release.members[label]} - shown) for label in release.transactions[number]}
    wide = [label for label, items in hidden.items() if items]
    if not wide:
        return None
    label = choose(wide)
    item = choose(hidden[label])
    row = sorted({*release.transactions[number], item} - {label})
    members = {**release.members, item: (item,)}
    return case, replace(release, transactions=_with(release.transactions, number, tuple(row)), members=members)


def show_suppressed(choose: Choose, case: Case, release: Published) -> Damaged:
    """Show in one record an item that only one record has, and that the release suppresses."""
    number = choose(range(len(release.transactions)))
    rows = _with(release.transactions, number, (*release.transactions[number], RARE))
    original = _with(case.transactions, number, [*case.transactions[number], RARE])
    return case._replace(transactions=list(original)), replace(release, transactions=rows)


def break_utility(choose: Choose, case: Case, release: Published) -> Damaged:
    """Generalise an item together with one of no utility constraint."""
    elements = [element for row in release.transactions for element in row]
    if not elements:
        return None
    narrow = choose(elements)
    wide = tuple(sorted({RARE, *((narrow,) if isinstance(narrow, str) else narrow)}))
    rows = tuple(tuple(wide if element == narrow else element for element in row) for row in release.transactions)
    return case, replace(release, transactions=rows)


def reveal_sensitive(choose: Choose, case: Case, release: Generalised) -> Damaged:
    """Add a sensitive item to all records that have some label."""
    labels = sorted({label for row in release.transactions for label in row}.difference(case.sensitive))
    if not labels:
        return None
    known, item = choose(labels), choose(case.sensitive)
    rows = tuple(tuple(sorted({*row, item})) if known in row else row for row in release.transactions)
    return case, replace(release, transactions=rows, members={**release.members, item: (item,)})


def disguise_sensitive(choose: Choose, case: Case, release: Generalised) -> Damaged:
    """Publish a sensitive item by a label with another name."""
    item = choose(case.sensitive)
    rows = tuple(tuple(sorted(RARE if label == item else label for label in row)) for row in release.transactions)
    members = {label: items for label, items in release.members.items() if label != item}
    return case, replace(release, transactions=rows, members={**members, RARE: (item,)})


def _add_cluster(choose: Choose, case: Case, release: Disassociated) -> Damaged:
    """Publish a cluster of fewer than k records."""
    small = Cluster(choose(range(1, case.k)), (), (RARE,))
    return case, replace(release, clusters=(*release.clusters, small))


def _in_cluster(edit: Callable[[Cluster, Chunk], Cluster]) -> Damage:
    """Return a function that changes a cluster with `edit`, which also gets the first chunk of the cluster."""

    def damage(choose: Choose, case: Case, release: Disassociated) -> Damaged:
        places = [number for number, cluster in enumerate(release.clusters) if cluster.record_chunks]
        if not places:
            return None
        number = choose(places)
        cluster = release.clusters[number]
        changed = edit(cluster, cluster.record_chunks[0])
        return case, replace(release, clusters=_with(release.clusters, number, changed))

    return damage


def _with_first(cluster: Cluster, subrecords: Iterable[tuple[str, ...]]) -> Cluster:
    """Return `cluster` with other `subrecords` in its first chunk."""
    chunk = replace(cluster.record_chunks[0], subrecords=tuple(subrecords))
    return replace(cluster, record_chunks=(chunk, *cluster.record_chunks[1:]))


def _show_term(cluster: Cluster, _: Chunk) -> Cluster:
    """Publish a term, or a further item, as a record chunk with one sub-record."""
    # A cluster without terms gets an item that no record has.
    term, *others = cluster.term_chunk or (RARE,)
    chunk = Chunk((term,), ((term,),))
    return replace(cluster, record_chunks=(*cluster.record_chunks, chunk), term_chunk=tuple(others))


IN_CLUSTERS: Mapping[str, Damage] = {
    "term": _in_cluster(_show_term),
    "small cluster": _add_cluster,
    "empty records": _in_cluster(
        lambda cluster, _: replace(
            # One record more than sub-records, so that one of them is empty.
            cluster,
            size=1 + sum(len(chunk.subrecords) for chunk in cluster.record_chunks),
            term_chunk=(),
        )
    ),
    "too many sub-records": _in_cluster(
        lambda cluster, chunk: _with_first(cluster, chunk.subrecords * (1 + cluster.size))
    ),
    "empty sub-record": _in_cluster(lambda cluster, chunk: _with_first(cluster, ((), *chunk.subrecords[1:]))),
    "item outside the chunk": _in_cluster(
        lambda cluster, chunk: _with_first(cluster, ((*chunk.subrecords[0], RARE), *chunk.subrecords[1:]))
    ),
    "repeated item": _in_cluster(
        lambda cluster, chunk: _with_first(cluster, (chunk.subrecords[0] * 2, *chunk.subrecords[1:]))
    ),
    "item in two chunks": _in_cluster(
        lambda cluster, chunk: replace(cluster, term_chunk=(*cluster.term_chunk, chunk.items[0]))
    ),
}


def _add_itemset(table: ItemsetTable, items: tuple[str, ...], support: int) -> ItemsetTable:
    return replace(table, itemsets=(*table.itemsets, items), supports=(*table.supports, support))


def _small_cell(choose: Choose, case: Case, table: ItemsetTable) -> Damaged:
    """Publish the support of an itemset that the table leaves out."""
    sets = [items for size in range(1, case.m + 1) for items in combinations(case.items, size)]
    left_out = [
        items
        for items in sets
        if frozenset(items) not in table.by_itemset
        # The size of a cell follows only from the supports of all subsets.
        and all(frozenset(part) in table.by_itemset for part in combinations(items, len(items) - 1))
    ]
    if not left_out:
        return None
    items = choose(left_out)
    return case, _add_itemset(table, items, sum(set(items) <= set(row) for row in case.transactions))


IN_TABLES: Mapping[str, Damage] = {
    "small cell": _small_cell,
    # If all records have the item, none is without it; with one more, it is -1 records.
    "empty cell": lambda _, case, table: (case, _add_itemset(table, (RARE,), table.records)),
    "negative cell": lambda _, case, table: (case, _add_itemset(table, (RARE,), table.records + 1)),
}
"""Damages of itemset tables."""
