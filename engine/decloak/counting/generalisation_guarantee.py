"""Whether a generalised release keeps what it promises, and whether it lost anything.

Nothing is counted here by the code that the release was made with. Labels that overlap (local recoding) are counted as
they stand: when every set of labels is in k transactions, so many may hold any set of items that some may hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import Any, NamedTuple

import numpy as np

from decloak.arrays import Ints
from decloak.checks import check_km
from decloak.counting.ascending import distinct
from decloak.counting.guarantees import RareSets
from decloak.counting.itemsets import coded_items, item_sets
from decloak.data.dataset import Dataset
from decloak.data.generalised import Generalised
from decloak.data.rows import BLOCK, CodedRows
from decloak.errors import shown
from decloak.lazy import sparse

__all__ = [
    "Negative", "alone", "check_alike", "check_diverse", "check_generalised", "disguised", "negative_violations",
    "too_certain",
]  # fmt: skip

Transactions = Sequence[tuple[str, ...]]


def check_generalised(original: Dataset, release: Generalised, k: int, m: int) -> list[str]:
    """What is wrong, a sentence each; nothing when the release is k^m-anonymous and holds every occurrence."""
    return [*_lost(original, release), *_rare(release.rows, k, m)]


def check_alike(original: Dataset, release: Generalised, k: int) -> list[str]:
    """What is wrong; nothing when every transaction with labels is published like k - 1 others or more."""
    unlike = [f"only {alike} have just {_named(labels)}" for labels, alike in alone(release.transactions, k)]
    return [*_lost(original, release), *unlike]


def check_diverse(
    original: Dataset,
    release: Generalised,
    sensitive: Collection[str],
    l: int,  # noqa: E741 (the word of the papers)
    m: int,
) -> list[str]:
    """What is wrong; nothing when no m labels tell a sensitive item with more certainty than one in l.

    Sensitive items are published as they are.
    """
    hidden = frozenset(sensitive)
    return [
        *_lost(original, release),
        *(f"{shown(label)} is a sensitive item, or stands for one" for label, _ in disguised(release, hidden)),
        *(
            f"of {whole} with {_named(labels)}, {support} have {shown(item)}"
            for labels, item, support, whole in too_certain(release.transactions, hidden, l, m)
        ),
    ]


def _lost(original: Dataset, release: Generalised) -> Iterator[str]:
    """Transactions that do not show all they held, or show what they did not hold."""
    if release.ids != original.labels:
        yield "the transactions are not those of the original"
        return
    above = _above(release)
    for block in _doubtful(original.rows, release.rows, above):
        labels = original.labels[block]
        yield from _lost_of(labels, original.rows[block], release.rows[block], above)


def _lost_of(
    names: Sequence[str], original: Transactions, release: Transactions, above: Mapping[str, frozenset[str]]
) -> Iterator[str]:
    """The same, transaction by transaction."""
    nowhere = frozenset[str]()
    for name, held, published in zip(names, original, release, strict=True):
        labels = frozenset(published)
        justified: set[str] = set()
        for item in held:
            over = above.get(item, nowhere) & labels
            if len(over) != 1:
                yield f"in the transaction {shown(name)} {shown(item)} is published {len(over)} times"
            justified |= over
        if justified != labels:
            yield f"the transaction {shown(name)} held nothing that is {_named(sorted(labels - justified))}"


def _doubtful(
    original: CodedRows[str], release: CodedRows[str], above: Mapping[str, frozenset[str]]
) -> Iterator[slice]:
    """Blocks of transactions in which something is lost or invented: those that are in order are told by arrays.

    They are where each item has one label above it that its transaction shows, and there are no labels but those.
    """
    number = {label: code for code, label in enumerate(release.names)}
    over = [[number[label] for label in sorted(above.get(item, ())) if label in number] for item in original.names]
    start = np.cumsum([0, *map(len, over)])
    labels = np.array([label for codes in over for label in codes], np.int64)
    if len(number) < len(release.names):  # a label with two numbers
        yield slice(0, len(original))
        return
    for first in range(0, len(original), BLOCK):
        block = slice(first, first + BLOCK)
        held, published = original[block], release[block]
        there = distinct(published.row * len(number) + published.codes)
        counts = np.diff(start)[held.codes]
        occurrence = np.repeat(np.arange(len(held.codes)), counts)
        place = np.arange(len(occurrence)) - np.repeat(np.cumsum(counts) - counts, counts)
        over_each = held.row[occurrence] * len(number) + labels[start[held.codes[occurrence]] + place]
        justified = np.append(there, -1)[np.searchsorted(there, over_each)] == over_each
        once = np.bincount(occurrence[justified], minlength=len(held.codes)) == 1
        if not once.all() or not np.array_equal(distinct(over_each[justified]), there):
            yield block


def _above(release: Generalised) -> dict[str, frozenset[str]]:
    """The labels that stand for each item."""
    above: dict[str, set[str]] = {}
    for label, members in release.members.items():
        for item in members:
            above.setdefault(item, set()).add(label)
    return {item: frozenset(labels) for item, labels in above.items()}


def _rare(rows: CodedRows[str], k: int, m: int) -> Iterator[str]:
    """Label sets that 1..k-1 transactions hold."""
    rare = RareSets(rows, k, m)
    for size in rare.sizes:
        for block in rare.blocks(size):
            for itemset, support in zip(block.itemsets.tolist(), block.supports.tolist(), strict=True):
                yield f"together {_named(rare.items[code] for code in itemset)} have support {support}"


def alone(transactions: Transactions, k: int) -> Iterator[tuple[tuple[str, ...], int]]:
    """What fewer than k transactions show, and nothing beside it; with how many do."""
    for labels, count in Counter(map(frozenset, transactions)).items():
        if labels and count < k:
            yield tuple(sorted(labels)), count


def disguised(release: Generalised, hidden: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Labels that are called like a sensitive item, or stand for one, though these are published as they are."""
    for label, members in release.members.items():
        if members != (label,) and (items := hidden.intersection((label, *members))):
            yield label, min(items)


def too_certain(
    transactions: Transactions,
    hidden: frozenset[str],
    l: int,  # noqa: E741
    m: int,
) -> Iterator[tuple[tuple[str, ...], str, int, int]]:
    """Label sets whose transactions hold a sensitive item more often than one in l times: how many do, of how many."""
    plain = [frozenset(row) - hidden for row in transactions]
    whole = _supports(plain, m)
    for item in sorted(hidden.intersection(chain.from_iterable(transactions))):
        having = _supports((row for row, published in zip(plain, transactions, strict=True) if item in published), m)
        for labels, support in having.items():
            if support * l > whole[labels]:
                yield labels, item, support, whole[labels]


def _supports(rows: Iterable[frozenset[str]], m: int) -> Counter[tuple[str, ...]]:
    """How many rows hold each set of 1..m labels, one by one: the search for a diverse cut counts by products."""
    counts: Counter[tuple[str, ...]] = Counter()
    for labels, support in Counter(rows).items():
        for size in range(1, min(m, len(labels)) + 1):
            for itemset in combinations(sorted(labels), size):
                counts[itemset] += support
    return counts


def _named(labels: Iterable[str]) -> str:
    return ", ".join(map(shown, labels))


class Negative(NamedTuple):
    """So many transactions have all labels of `present` and none of `absent`."""

    present: tuple[str, ...]
    absent: tuple[str, ...]
    support: int


class _Records(NamedTuple):
    """Records by rows and by columns; those that are alike are one, with a weight."""

    rows: sparse.csr_array[Any]
    columns: sparse.csc_array[Any]
    weights: Ints


class _Prefix(NamedTuple):
    """Some labels, and the patterns of having them or not: bit i of a pattern is the i-th label.

    `pattern` is that of every record, `having[p]` how many have pattern p, `holding[p, x]` how many of these hold x.
    """

    labels: tuple[int, ...]
    pattern: Ints
    having: Ints
    holding: Ints


def negative_violations(
    transactions: Iterable[Iterable[str]], domain: Iterable[str], k: int, m: int
) -> Iterator[Negative]:
    """Yield what 1..k-1 transactions have in common for somebody who knows of up to m labels whether they are there.

    Fewer labels first, then in alphabetical order. `domain` adds labels that no transaction has. They may be very
    many: stop when there are enough.

    >>> list(negative_violations([["a", "b"], ["a", "b"], ["a"]], [], k=2, m=1))
    [Negative(present=(), absent=('b',), support=1)]
    """
    check_km(k, m)
    kinds = Counter(map(frozenset, item_sets(transactions)))
    # A record of weight 0 with all labels gives a column to those that no transaction has.
    matrix, labels = coded_items([*kinds, frozenset(domain).union(*kinds)])
    weights = np.array([*kinds.values(), 0], np.int64)
    records = _Records(matrix, sparse.csc_array(matrix), weights)
    nothing = _Prefix((), np.zeros(len(weights), np.int64), weights.sum(keepdims=True), (weights @ matrix)[None])
    for size in range(1, min(m, len(labels)) + 1):
        for codes, pattern, support in _patterns(records, nothing, size, k):
            present, absent = (
                tuple(labels[code] for bit, code in enumerate(codes) if pattern >> bit & 1 == there) for there in (1, 0)
            )
            yield Negative(present, absent, support)


def _patterns(records: _Records, prefix: _Prefix, size: int, k: int) -> Iterator[tuple[tuple[int, ...], int, int]]:
    """The patterns over `size` labels, beginning with those of a prefix, that 1..k-1 records have."""
    after = prefix.labels[-1] + 1 if prefix.labels else 0
    if len(prefix.labels) + 1 == size:
        there = prefix.holding[:, after:]
        counts = np.concatenate((prefix.having[:, None] - there, there))
        for label, pattern in np.argwhere(((counts > 0) & (counts < k)).T).tolist():
            yield (*prefix.labels, after + label), pattern, int(counts[pattern, label])
    else:
        for label in range(after, records.rows.shape[1]):
            yield from _patterns(records, _extended(records, prefix, label), size, k)


def _extended(records: _Records, prefix: _Prefix, label: int) -> _Prefix:
    """The prefix and one label more: only what holds the label is counted, the others are the rest."""
    start, end = records.columns.indptr[[label, label + 1]]
    rows = records.columns.indices[start:end]
    patterns = len(prefix.having)
    shape = (patterns, len(records.weights))
    among = sparse.csr_array((records.weights[rows], (prefix.pattern[rows], rows)), shape)
    there = (among @ records.rows).toarray()
    pattern = prefix.pattern.copy()
    pattern[rows] += patterns
    having = np.concatenate((prefix.having - there[:, label], there[:, label]))
    holding = np.concatenate((prefix.holding - there, there))
    return _Prefix((*prefix.labels, label), pattern, having, holding)
