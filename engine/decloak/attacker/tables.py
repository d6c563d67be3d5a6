"""Distance tables: the distance of each member of a generalised item to the contexts in which it is published.

There is one table per generalised item, whatever the order of its members, with a row per record that has the item
and a column per member. A cell is the mean score of the member with the context items that have a score with it. Rows
and columns without any score are left out, and so is a table with nothing left. The context is the plain items near the
generalised item; every element counts as one position.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints, Mask
from decloak.counting.blocks import NODES
from decloak.data.content import Element
from decloak.data.disassociated import Disassociated
from decloak.data.formats.blocks import Block, Blocks
from decloak.data.formats.cluster_files import read_clusters
from decloak.data.pairs import AttackTable, Context, Pair, Pairs, ScoredPairs, first_occurrences
from decloak.data.published import Published
from decloak.data.rows import CodedRows, Coding, runs
from decloak.errors import DecloakError
from decloak.parallel import gather_tasks

PAIRS = 1 << 22
"""Largest number of pairs of items of clusters in files: the store has about ten bytes for each."""
FEWER = "leave out rare items, or attack a sample without parts"


def context(transaction: Sequence[Element], position: int, n: int | None) -> tuple[str, ...]:
    """Return the `n` plain items of `transaction` nearest to `position`, the left of two at equal distance first.

    With None all plain items are returned, in the order of the record. There may be fewer than n, or none.

    >>> context(["i1", ("i2", "i3"), "i4", "i5"], 1, 2)
    ('i1', 'i4')
    """
    plain = [place for place, element in enumerate(transaction) if isinstance(element, str)]
    if n is not None:
        plain = sorted(plain, key=lambda place: abs(place - position))[:n]
    return tuple(str(transaction[place]) for place in plain)


class _Occurrences(NamedTuple):
    """Transactions in which a generalised item is published, and its contexts there."""

    members: tuple[str, ...]
    transactions: Ints
    contexts: CodedRows[str]


def _occurrences(published: Published, n: int | None) -> list[_Occurrences]:
    rows = published.rows.with_used_names
    kinds = Coding[frozenset[str]]()
    # The same members in another order are the same generalised item; -1 is a plain item.
    kind = np.array([-1 if isinstance(name, str) else kinds[frozenset(name)] for name in rows.names], np.int64)
    members = dict(zip(kind[::-1].tolist(), rows.names[::-1], strict=True))  # the first form names all of them
    where = np.flatnonzero(kind[rows.codes] >= 0)
    where = where[np.argsort(kind[rows.codes[where]], kind="stable")]
    sizes, nearest = _nearest_plain(rows, kind[rows.codes] < 0, where, n)
    names = [name if isinstance(name, str) else "" for name in rows.names]
    contexts = CodedRows(np.concatenate(([0], np.cumsum(sizes))), rows.codes[nearest], names)
    ends = np.searchsorted(kind[rows.codes[where]], np.arange(len(kinds) + 1)).tolist()
    return [
        _Occurrences(tuple(members[number]), rows.row_of_code[where[begin:end]], contexts[begin:end])
        for number, (begin, end) in enumerate(pairwise(ends))
    ]


def _nearest_plain(rows: CodedRows[Element], plain: Mask, where: Ints, n: int | None) -> tuple[Ints, Ints]:
    """Return the number of plain items in the context of every entry `where`, and their places, nearest first.

    `plain` marks the entries of `rows` that are plain items. With `n` None the places ascend.
    """
    place, row = np.flatnonzero(plain), rows.row_of_code[where]
    low, high = (np.searchsorted(place, rows.start[row + end]) for end in (0, 1))
    if n is None:
        return high - low, place[runs(low, high)[0]]
    sizes = np.minimum(high - low, n)
    right = np.searchsorted(place, where)
    left, chosen = right - 1, np.empty((len(where), int(sizes.max(initial=0))), np.int64)
    # Farther than any distance, so a side without items left is never nearer.
    beyond = 2 * len(plain) + 1
    places = np.concatenate((place, [beyond]))
    for step in range(chosen.shape[1]):
        before = np.where(left >= low, where - places[left], beyond)
        after = np.where(right < high, places[right] - where, beyond)
        is_left = before <= after
        chosen[:, step] = places[np.where(is_left, np.maximum(left, 0), right)]
        left, right = left - is_left, right + ~is_left
    return sizes, chosen[np.arange(chosen.shape[1]) < sizes[:, None]]


def needed_pairs(published: Published, n: int | None) -> Pairs:
    """Return every pair (context item, member) of `published` whose score a table needs, once, in the order of the
    tables.

    `n` is the number of items in a context, None for all.
    """
    of_tables = ((table.contexts.used_names, table.members) for table in _occurrences(published, n))
    return _pairs_of_sides(published.items, of_tables)


def anchor_pairs(release: Disassociated) -> Pairs:
    """Return every pair of an anchor's item and an item of a later chunk of the same cluster of `release`, once."""
    cuts = (
        (
            cluster.record_chunks[0].items,
            (*chain.from_iterable(chunk.items for chunk in cluster.record_chunks[1:]), *cluster.term_chunk),
        )
        for cluster in release.clusters
        if cluster.record_chunks
    )
    return _pairs_of_sides(release.items, cuts)


def anchor_pairs_in_parts(blocks: Blocks) -> Pairs:
    """Return the pairs of `anchor_pairs` of the clusters of `blocks`, the items of each in the order of names."""
    found = gather_tasks(_anchor_pairs, [(block,) for block in blocks.blocks])
    items = sorted(set(chain.from_iterable(names for names, *_ in found)))
    check_item_count(len(items))
    code, table = {name: at for at, name in enumerate(items)}, np.zeros((len(items), len(items)), np.bool_)
    for names, a, b in found:
        codes = np.array([code[name] for name in names], np.int64)
        table[codes[a], codes[b]] = True
    keys = np.flatnonzero(np.triu(table | table.T, 1))
    if len(keys) > PAIRS:
        message = f"{len(keys):,} pairs of items: relatedness of clusters in files can have {PAIRS:,}"
        raise DecloakError(message, "relate", FEWER)
    return Pairs.of_keys(items, keys)


def check_item_count(items: int) -> None:
    """Raise an error if clusters in files have too many `items` for relatedness."""
    if items > NODES:
        message = f"{items:,} items: relatedness of clusters in files can have {NODES:,}"
        raise DecloakError(message, "relate", FEWER)


def _anchor_pairs(block: Block) -> tuple[list[str], Ints, Ints]:
    """Return the items of the clusters of `block`, and the numbers of both items of each pair."""
    code, keys = dict[str, int](), list[tuple[Ints, Ints]]()
    for cluster in read_clusters(block, whole=False):
        codes = np.array([code.setdefault(item, len(code)) for item in cluster.items], np.int64)
        anchor = len(cluster.record_chunks[0].items) if cluster.record_chunks else 0
        keys.append((codes[:anchor], codes[anchor:]))
    table = np.zeros((len(code), len(code)), np.bool_)
    for anchors, others in keys:
        table[np.ix_(anchors, others)] = True
    a, b = np.nonzero(table)
    return list(code), a, b


def _pairs_of_sides(items: Sequence[str], sides: Iterable[tuple[Iterable[str], Iterable[str]]]) -> Pairs:
    """Return all pairs of the first and second of each of `sides`, which are some of `items`, each once, in order."""
    code = {item: number for number, item in enumerate(items)}

    def keys() -> Iterator[Ints]:
        for first, second in sides:
            a, b = (np.fromiter(map(code.__getitem__, dict.fromkeys(side)), np.int64) for side in (first, second))
            yield (a[:, None] * len(items) + b).ravel()

    return Pairs.of_keys(items, first_occurrences(keys()))


def tables(published: Published, score: Mapping[Pair, float | None], n: int | None) -> list[AttackTable]:
    """Return the distance table of each generalised item of `published` that has one, in order of first appearance.

    `score` has the scores of pairs, and `n` is the number of items in a context, None for all.
    """
    pairs = ScoredPairs.of(score)
    return [table for occurrence in _occurrences(published, n) if (table := _table(occurrence, pairs)) is not None]


def _table(occurrence: _Occurrences, score: ScoredPairs) -> AttackTable | None:
    d = mean_scores(occurrence.contexts, occurrence.members, score)
    scored = ~np.isnan(d)
    # Rows and columns without any score are left out: no attack could decide about them.
    rows, columns = np.flatnonzero(scored.any(axis=1)), np.flatnonzero(scored.any(axis=0))
    if not rows.size:
        return None
    return AttackTable(
        occurrence.members,
        occurrence.transactions[rows],
        tuple(occurrence.members[column] for column in columns.tolist()),
        occurrence.contexts.select(rows),
        d[np.ix_(rows, columns)],
    )


def mean_scores(contexts: Sequence[Context], members: Sequence[str], score: Mapping[Pair, float | None]) -> Floats:
    """Return the mean `score` of each of `members` (columns) with the items of each of `contexts` (rows).

    A cell is NaN where no context item has a score. Negative, infinite and NaN scores count as none.
    """
    rows = CodedRows.of(contexts).with_used_names
    scores = ScoredPairs.of(score).block(rows.names, members)
    d = np.full((len(contexts), len(members)), np.nan)
    filled = np.flatnonzero(rows.lengths)
    if not len(filled):
        return d
    scored = (scores >= 0) & (scores < np.inf)
    # reduceat cannot sum over empty runs, so that rows with an empty context are left out first.
    picked, starts = rows.codes, rows.start[filled]
    with np.errstate(over="ignore"):  # a sum of scores too large for a float is no score either
        totals = np.add.reduceat(np.where(scored, scores, 0.0)[picked], starts, axis=0)
    counts = np.add.reduceat(scored[picked].astype(float), starts, axis=0)
    d[filled] = np.divide(totals, counts, out=np.full_like(totals, np.nan), where=(counts > 0) & (totals < np.inf))
    return d
