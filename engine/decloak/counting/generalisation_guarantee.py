"""Check of a generalised release: its guarantee, and its completeness against the original.

Nothing here shares code with the methods. Labels that overlap (local recoding) are counted as published: if every set
of labels has support k, so many records may contain any set of items.

Check of privacy constraints: a record may contain every item it publishes, and every member of a generalised item it
publishes. A combination of items of a privacy constraint is violated if 1 to k - 1 records may contain it. Combinations
that records publish as a whole are the patterns of a constraint. If all patterns have support k, so have all their
parts; and a violated combination is part of a violated pattern. So checking the patterns is sufficient.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import NamedTuple

import numpy as np

from decloak.arrays import Ints
from decloak.checks import check_km
from decloak.counting.itemsets import coded_items, distinct, item_sets
from decloak.counting.violations import RareSets
from decloak.data.content import Element
from decloak.data.dataset import Dataset
from decloak.data.generalised import Generalised
from decloak.data.published import Published
from decloak.data.rows import BLOCK, CodedRows, runs
from decloak.errors import quote
from decloak.lazy import sparse

Transactions = Sequence[tuple[str, ...]]


def check_generalised(original: Dataset, release: Generalised, k: int, m: int) -> list[str]:
    """Return the faults of `release` against `original`, one sentence each; none if it is k^m-anonymous (`k`, `m`) and
    complete.
    """
    return [*check_complete(original, release), *_rare(release.rows, k, m)]


def check_alike(original: Dataset, release: Generalised, k: int) -> list[str]:
    """Return the faults of `release` against `original`; none if every non-empty record equals at least k - 1
    (`k`) others.
    """
    unlike = [f"only {alike} have just {_named(labels)}" for labels, alike in alone(release.transactions, k)]
    return [*check_complete(original, release), *unlike]


def check_diverse(
    original: Dataset,
    release: Generalised,
    sensitive: Collection[str],
    l: int,  # noqa: E741 (the word of the papers)
    m: int,
) -> list[str]:
    """Return the faults of `release` against `original`; none if no m labels (`m`) reveal a `sensitive` item with more
    certainty than 1/l (`l`).

    Sensitive items are published as they are.
    """
    hidden = frozenset(sensitive)
    return [
        *check_complete(original, release),
        *(f"{quote(label)} contains a sensitive item" for label, _ in disguised(release, hidden)),
        *(
            f"of {whole} with {_named(labels)}, {support} have {quote(item)}"
            for labels, item, support, whole in too_certain(release.transactions, hidden, l, m)
        ),
    ]


def check_complete(original: Dataset, release: Generalised) -> Iterator[str]:
    """Yield records of `original` that lack one of their items in `release`, or publish another one."""
    if release.ids != original.labels:
        yield "the release has other records than the original data"
        return
    above = _above(release)
    for block in _doubtful(original.rows, release.rows, above):
        labels = original.labels[block]
        yield from _lost_of(labels, original.rows[block], release.rows[block], above)


def _lost_of(
    names: Sequence[str], original: Transactions, release: Transactions, above: Mapping[str, frozenset[str]]
) -> Iterator[str]:
    """Yield the faults of `check_complete`, record by record."""
    nowhere = frozenset[str]()
    for name, held, published in zip(names, original, release, strict=True):
        labels = frozenset(published)
        justified: set[str] = set()
        for item in held:
            over = above.get(item, nowhere) & labels
            if len(over) != 1:
                yield f"in the transaction {quote(name)} {quote(item)} is published {len(over)} times"
            justified |= over
        if justified != labels:
            yield f"the transaction {quote(name)} held nothing that is {_named(sorted(labels - justified))}"


def _doubtful(
    original: CodedRows[str], release: CodedRows[str], above: Mapping[str, frozenset[str]]
) -> Iterator[slice]:
    """Yield blocks of records that lose or add something. Correct blocks are recognised by arrays.

    In a correct one each item has exactly one label above it in its record, and there are no other labels.
    """
    number = {label: code for code, label in enumerate(release.names)}
    over = [[number[label] for label in sorted(above.get(item, ())) if label in number] for item in original.names]
    start = np.cumsum([0, *map(len, over)])
    labels = np.array([label for codes in over for label in codes], np.int64)
    # The keys below need one number for each label.
    if len(number) < len(release.names):  # a label with two numbers
        yield slice(0, len(original))
        return
    for first in range(0, len(original), BLOCK):
        block = slice(first, first + BLOCK)
        held, published = original[block], release[block]
        there = distinct(published.row_of_code * len(number) + published.codes)
        entries, occurrence = runs(start[held.codes], start[held.codes + 1])
        over_each = held.row_of_code[occurrence] * len(number) + labels[entries]
        # A key behind the last one is compared with -1, which no key is.
        justified = np.append(there, -1)[np.searchsorted(there, over_each)] == over_each
        once = np.bincount(occurrence[justified], minlength=len(held.codes)) == 1
        if not once.all() or not np.array_equal(distinct(over_each[justified]), there):
            yield block


def _above(release: Generalised) -> dict[str, frozenset[str]]:
    """Return the labels that cover each item."""
    above: dict[str, set[str]] = {}
    for label, members in release.members.items():
        for item in members:
            above.setdefault(item, set()).add(label)
    return {item: frozenset(labels) for item, labels in above.items()}


def _rare(rows: CodedRows[str], k: int, m: int) -> Iterator[str]:
    """Yield label sets in 1 to k - 1 records."""
    rare = RareSets(rows, k, m)
    for size in rare.sizes:
        for block in rare.blocks(size):
            for itemset, support in zip(block.itemsets.tolist(), block.supports.tolist(), strict=True):
                yield f"together {_named(rare.items[code] for code in itemset)} have support {support}"


def alone(transactions: Transactions, k: int) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield the whole content of fewer than `k` of `transactions`, and their number."""
    for labels, count in Counter(map(frozenset, transactions)).items():
        # The guarantee is about records with items: an empty one publishes none.
        if labels and count < k:
            yield tuple(sorted(labels)), count


def disguised(release: Generalised, hidden: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield labels of `release` that are named like one of the items `hidden`, or cover one, although these are
    published plain.
    """
    for label, members in release.members.items():
        if members != (label,) and (items := hidden.intersection((label, *members))):
            yield label, min(items)


def too_certain(
    transactions: Transactions,
    hidden: frozenset[str],
    l: int,  # noqa: E741
    m: int,
) -> Iterator[tuple[tuple[str, ...], str, int, int]]:
    """Yield sets of at most `m` labels in `transactions` that have one of the items `hidden` more often than 1/l (`l`):
    labels, item, occurrences, records.
    """
    for labels, item, support, whole in confident_rules(transactions, hidden, m):
        if support * l > whole:
            yield labels, item, support, whole


def confident_rules(
    transactions: Transactions, sensitive: frozenset[str], size: int, *, sensitive_known: bool = False
) -> Iterator[tuple[tuple[str, ...], str, int, int]]:
    """Yield the rules from 1..`size` labels to a `sensitive` item that one of `transactions` supports.

    `sensitive_known` lets the labels be other sensitive items as well. A rule is its labels, the item, how many
    records have both, and how many have the labels.
    """
    for item in sorted(sensitive.intersection(chain.from_iterable(transactions))):
        unknown = frozenset((item,)) if sensitive_known else sensitive
        rows = [frozenset(row) - unknown for row in transactions]
        whole = _supports(rows, size)
        having = _supports((row for row, shown in zip(rows, transactions, strict=True) if item in shown), size)
        for labels, support in having.items():
            yield labels, item, support, whole[labels]


def _supports(rows: Iterable[frozenset[str]], m: int) -> Counter[tuple[str, ...]]:
    """Return the support of each set of 1 to m labels, counted one by one: the method counts by matrix products."""
    counts: Counter[tuple[str, ...]] = Counter()
    for labels, support in Counter(rows).items():
        for size in range(1, min(m, len(labels)) + 1):
            for itemset in combinations(sorted(labels), size):
                counts[itemset] += support
    return counts


def _named(labels: Iterable[str]) -> str:
    return ", ".join(map(quote, labels))


class Negative(NamedTuple):
    """The number of records with all labels of `present` and none of `absent`."""

    present: tuple[str, ...]
    absent: tuple[str, ...]
    support: int


class _Records(NamedTuple):
    """Distinct records by rows and by columns, with their multiplicities."""

    rows: sparse.csr_array
    columns: sparse.csc_array
    weights: Ints


class _Prefix(NamedTuple):
    """Some labels, and the patterns of their presence: bit i of a pattern is the i-th label.

    `pattern` is the pattern of every record, `having[p]` the number of records with pattern p, `holding[p, x]` how many
    of these have x.
    """

    labels: tuple[int, ...]
    pattern: Ints
    having: Ints
    holding: Ints


def negative_violations(
    transactions: Iterable[Iterable[str]], domain: Iterable[str], k: int, m: int
) -> Iterator[Negative]:
    """Yield common properties of 1 to k - 1 (`k`) `transactions`, for an attacker who knows the presence of up to `m`
    labels.

    Fewer labels first, then in alphabetical order. `domain` adds labels that no record has. The result may be very
    long: stop early.

    >>> list(negative_violations([["a", "b"], ["a", "b"], ["a"]], [], k=2, m=1))
    [Negative(present=(), absent=('b',), support=1)]
    """
    check_km(k, m)
    kinds = Counter(map(frozenset, item_sets(transactions)))
    # A record of weight 0 with all labels gives a column to those that no record has.
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
    """Yield the patterns over `size` labels with the given prefix that 1 to k - 1 records have."""
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
    """Return the prefix with one more label: only records with the label are counted, the others are the rest."""
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


class BrokenConstraint(NamedTuple):
    """A combination of items of a privacy constraint that too few records may contain."""

    constraint: tuple[str, ...]
    itemset: tuple[str, ...]
    support: int


def broken_privacy(published: Published, privacy: Iterable[Sequence[str]], *, k: int) -> list[BrokenConstraint]:
    """Return the combinations of `privacy` that fewer than `k` records of `published` may contain, none if the
    guarantee is met.

    For each violated pattern it returns one minimal combination.

    >>> published = Published(((("a", "b"), "c"), (("a", "b"),)), ("1", "2"))
    >>> broken_privacy(published, [["a", "b"], ["a", "c"]], k=2)
    [BrokenConstraint(constraint=('a', 'c'), itemset=('c',), support=1)]
    """
    holders = _candidate_records(published)
    broken = []
    for constraint in map(tuple, privacy):
        records_of = {item: holders[item] for item in constraint if item in holders}
        smallest = {
            _smallest(pattern, records_of, k)
            for pattern in _patterns_of(records_of)
            if _support_of(pattern, records_of) < k
        }
        broken += [
            BrokenConstraint(constraint, itemset, _support_of(itemset, records_of)) for itemset in sorted(smallest)
        ]
    return broken


def _candidate_records(published: Published) -> dict[str, frozenset[int]]:
    """Return the records that may contain each item. Members of a generalised item share one set."""
    records: dict[Element, set[int]] = {}
    for number, transaction in enumerate(published.transactions):
        for element in transaction:
            records.setdefault(element, set()).add(number)
    holders: dict[str, frozenset[int]] = {}
    for element, numbers in ((element, frozenset(numbers)) for element, numbers in records.items()):
        for item in (element,) if isinstance(element, str) else element:
            holders[item] = holders[item] | numbers if item in holders else numbers
    return holders


def _patterns_of(records_of: dict[str, frozenset[int]]) -> Iterator[tuple[str, ...]]:
    """Yield every combination that consists of all items that some record may contain."""
    cells: list[tuple[tuple[str, ...], frozenset[int]]] = (
        [((), frozenset[int]().union(*records_of.values()))] if records_of else []
    )
    for item, records in records_of.items():
        parts = [((*pattern, item), cell & records) for pattern, cell in cells]
        parts += [(pattern, cell - records) for pattern, cell in cells]
        cells = [(pattern, cell) for pattern, cell in parts if cell]
    return (pattern for pattern, _ in cells)


def _support_of(itemset: Sequence[str], records_of: dict[str, frozenset[int]]) -> int:
    rarest, *common = sorted((records_of[item] for item in itemset), key=len)  # the smallest set bounds the work
    return len(rarest.intersection(*common))


def _smallest(pattern: tuple[str, ...], records_of: dict[str, frozenset[int]], k: int) -> tuple[str, ...]:
    """Return a violated part of a violated pattern: items are dropped while it stays violated."""
    for item in pattern:
        fewer = tuple(kept for kept in pattern if kept != item)
        if fewer and _support_of(fewer, records_of) < k:
            pattern = fewer
    return pattern


def broken_utility(published: Published, utility: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    """Return the generalised items of `published` that no constraint of `utility` allows. One of a single item is
    always allowed.

    >>> broken_utility(Published(((("a", "b"), "c"),), ("1",)), [["a", "c"]])
    [('a', 'b')]
    """
    allowed = [frozenset(constraint) for constraint in utility]
    return [
        members
        for members in published.generalised
        if len(members) > 1 and not any(items.issuperset(members) for items in allowed)
    ]
