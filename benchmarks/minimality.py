"""Minimality: what an attacker learns who knows the method, its settings and its ties.

A release shows what it publishes, and also that the method published no more and no less. The attacker lists every
original that the labels or chunks allow, and keeps those that the method turns into exactly this release. An item of a
record is fixed if all of these originals agree on it. The list grows exponentially, so only small releases have one.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, combinations, permutations, product
from math import comb, factorial, prod
from typing import Any, NamedTuple

from decloak.anonymisers.kernels.coat import Coat
from decloak.anonymisers.registry import METHODS, anonymise
from decloak.data.content import Chunk, Cluster
from decloak.data.disassociated import Disassociated
from decloak.data.generalised import Generalised
from decloak.data.published import Published
from decloak.digest import Config
from decloak.errors import DecloakError, quote

__all__ = ["Minimality", "minimality"]

Row = frozenset[str]
Original = tuple[Row, ...]
"""The items of the record behind each row of a release."""


class Minimality(NamedTuple):
    """The result of the attack.

    `possible` originals fit the release, and the method turns `consistent` of them into it. `hidden` are the pairs of a
    row and an item on which the possible originals differ. `present` and `absent` are the hidden pairs on which all
    consistent originals agree.
    """

    possible: int
    consistent: int
    hidden: frozenset[tuple[int, str]]
    present: frozenset[tuple[int, str]]
    absent: frozenset[tuple[int, str]]


def minimality(
    release: Published | Generalised | Coat | Disassociated, method: str, *, most: int = 50_000, **options: Any
) -> Minimality:
    """Return which hidden items of `release` an attacker fixes who knows the `method` and its `options`.

    Raise an error if more than `most` originals are possible. Occurrences that `method` suppressed are not considered.

    >>> from decloak.data.hierarchy import Hierarchy
    >>> from decloak.anonymisers.registry import anonymise
    >>> tree = Hierarchy.from_parents({"a": "A", "b": "A", "A": "*", "c": "*"})
    >>> release = anonymise([["a"], ["a"], ["b"]], "cut", k=2, m=1, hierarchy=tree)
    >>> found = minimality(release, "cut", k=2, m=1, hierarchy=tree)
    >>> found.possible, found.consistent
    (27, 12)
    """
    if method not in METHODS:
        raise DecloakError(f"unknown method {quote(method)}", hint=f"methods are {', '.join(METHODS)}")
    choices = _choices(release)
    possible = prod(len(options) for options in choices)
    if possible > most:
        message = f"{possible:,} originals are possible, more than {most:,}"
        raise DecloakError(message, hint="attack a smaller release, or raise most")
    every, consistent = _Agreement(), _Agreement()
    shown, known = _content(release), dict[tuple[tuple[str, ...], ...], bool]()
    for chosen in product(*choices):
        original = tuple(frozenset(chain.from_iterable(parts)) for parts in zip(*chosen, strict=True))
        every.add(original)
        # Methods take records in an order of their own, so equal records in another order give the same release.
        records = tuple(sorted(tuple(sorted(row)) for row in original))
        if records not in known:
            known[records] = _publishes(records, method, options, shown)
        if known[records]:
            consistent.add(original)
    hidden = every.some - every.all
    if not consistent.count:
        return Minimality(possible, 0, hidden, frozenset(), frozenset())
    return Minimality(possible, consistent.count, hidden, hidden & consistent.all, hidden - consistent.some)


class _Agreement:
    """The pairs of a row and an item in all of some originals, and in some of them."""

    def __init__(self) -> None:
        self.count = 0
        self.all: frozenset[tuple[int, str]] = frozenset()
        self.some: frozenset[tuple[int, str]] = frozenset()

    def add(self, original: Original) -> None:
        """Add an `original`."""
        pairs = _pairs(original)
        self.all = self.all & pairs if self.count else pairs
        self.some |= pairs
        self.count += 1


def _pairs(original: Original) -> frozenset[tuple[int, str]]:
    return frozenset((row, item) for row, items in enumerate(original) for item in items)


def _publishes(records: Sequence[tuple[str, ...]], method: str, options: Config, shown: object) -> bool:
    """Return True if `method` publishes exactly what is `shown` of original `records`."""
    try:
        return _content(anonymise(records, method, **options)) == shown
    except DecloakError:  # such as too few records that are not empty
        return False


def _content(release: Any) -> object:
    """Return the published content of a release in an order that depends on the content alone."""
    arranged = release.sorted_by_content().release
    if isinstance(arranged, Disassociated):
        return arranged.clusters, arranged.joints, arranged.totals
    published = arranged.published if isinstance(arranged, Generalised | Coat) else arranged
    rows = (
        frozenset(frozenset([one]) if isinstance(one, str) else frozenset(one) for one in row)
        for row in published.transactions
    )
    return sorted(rows, key=lambda row: sorted(map(sorted, row)))


def _choices(release: Published | Generalised | Coat | Disassociated) -> list[list[tuple[Row, ...]]]:
    """Return the independent choices of an original; an option has the items of every row."""
    if isinstance(release, Disassociated):
        return list(_of_clusters(release))
    published = release.published if isinstance(release, Generalised | Coat) else release
    size = len(published.transactions)
    found = []
    for row, elements in enumerate(published.transactions):
        for element in elements:
            members = (element,) if isinstance(element, str) else element
            found.append([_in_row(row, items, size) for items in _nonempty(members)])
    return found or [[(frozenset(),) * size]]


def _in_row(row: int, items: Row, size: int) -> tuple[Row, ...]:
    return tuple(items if place == row else frozenset() for place in range(size))


def _nonempty(members: Sequence[Any]) -> Iterator[frozenset[Any]]:
    for size in range(1, len(members) + 1):
        yield from map(frozenset, combinations(members, size))


def _of_clusters(release: Disassociated) -> Iterator[list[tuple[Row, ...]]]:
    """Yield the choices of each cluster: the rows of its sub-records, and the rows that have each of its terms."""
    if release.joints:
        raise DecloakError("the release has shared chunks", hint="attack a release without refine")
    rows = sum(cluster.size for cluster in release.clusters)
    begin = 0
    for cluster in release.clusters:
        for place, chunk in enumerate(cluster.record_chunks):
            yield _subrecord_orders(chunk, cluster, begin, rows, anchored=place == 0)
        for term in cluster.term_chunk:
            held = _nonempty(range(begin, begin + cluster.size))
            yield [tuple(frozenset([term]) if row in chosen else frozenset() for row in range(rows)) for chosen in held]
        begin += cluster.size


def _subrecord_orders(
    chunk: Chunk, cluster: Cluster, begin: int, rows: int, *, anchored: bool
) -> list[tuple[Row, ...]]:
    """Return the ways to give the sub-records of a chunk to the rows of its cluster; anchors have their places."""
    parts = [*map(frozenset, chunk.subrecords), *[frozenset[str]()] * (cluster.size - len(chunk.subrecords))]
    if not anchored and factorial(cluster.size) > comb(20, 10):
        raise DecloakError(f"a cluster of {cluster.size} records has too many orders", hint="attack a smaller release")
    orders = (
        [tuple(parts)]
        if anchored
        else sorted(set(permutations(parts)), key=lambda order: [sorted(one) for one in order])
    )
    before, after = (frozenset[str](),) * begin, (frozenset[str](),) * (rows - begin - cluster.size)
    return [(*before, *order, *after) for order in orders]
