"""Cure the cover problems of one cluster: suppress single occurrences, or move items to the term chunk.

A set of rows is the bits of one integer, as in VERPART. s(y): the rows that publish item y in its chunk. A problem (x,
l): x is an item of a chunk after chunk l. The items I of chunk l with s(y) >= s(x) are not empty. Equally many rows
have all of I and the least frequent item of I. F: the rows that have all of I.

A cure has a price: the number of occurrences that it suppresses, or the price of a move to the term chunk. Each step
takes the cheapest cure of the first problem. Every step lowers the number of occurrences in record chunks, so that the
steps end.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import combinations
from operator import and_
from typing import NamedTuple

from decloak.anonymisers.kernels.verpart import no_empty_record

MOST_STEPS = 400
"""The steps in one cluster after which only whole items leave their chunks."""
SUPPORTS_TRIED = 3
"""The supports of an earlier chunk that an item is lowered to, at most."""

Rows = dict[int, int]
"""The rows that publish each item."""


class Cured(NamedTuple):
    """Chunks, terms, the rows that publish each item of a chunk, and what it took: moves and suppressed occurrences."""

    chunks: list[list[int]]
    terms: list[int]
    shown: Rows
    moved: int
    suppressed: int


class _Problem(NamedTuple):
    item: int
    chunk: int
    earlier: int


class _Level(NamedTuple):
    """The items of a chunk down to a support: the rows that have all of them, and the number of items."""

    support: int
    rows: int
    items: int

    @property
    def covers(self) -> bool:
        return self.rows.bit_count() == self.support


class _Change(NamedTuple):
    """A cure: the rows that some items of a chunk keep; None: the item leaves its chunk."""

    price: int
    keeps: Rows | None
    to_terms: bool = False


def cured(
    chunks: Sequence[Sequence[int]],
    terms: Sequence[int],
    item_rows: Rows,
    size: int,
    k: int,
    m: int,
    *,
    moves: bool = True,
    term_price: int | None = None,
) -> Cured:
    """Return the chunks of a cluster of `size` records without cover problems, for `k` and `m`.

    `chunks` and `terms` are the items of the record chunks and of the term chunk, `item_rows` the rows of each item.
    With `moves`, an item may move to the term chunk for `term_price`, by default k.
    """
    cluster = _Cluster(chunks, terms, item_rows, k, m)
    price = (k if term_price is None else term_price) if moves else None
    # A bound, which no cluster reaches: each step takes at least one occurrence out of the record chunks.
    for step in range(sum(map(len, chunks)) * (size + 1) + 1):
        cluster.tidy()
        problem = cluster.first_problem()
        if problem is not None:
            cluster.apply(problem, _cheapest(cluster, problem, price, whole=step >= MOST_STEPS))
        elif cluster.terms or no_empty_record(cluster.chunks, cluster.shown, size, k, m):
            break
        else:
            # A term may be in any record, so that none need be empty: the rarest item becomes one.
            cluster.leave(cluster.ordered([item for chunk in cluster.chunks for item in chunk])[-1], to_terms=True)
    return Cured(cluster.chunks, cluster.terms, cluster.shown, cluster.moved, cluster.suppressed)


class _Cluster:
    """The chunks of a cluster while they are cured."""

    def __init__(self, chunks: Sequence[Sequence[int]], terms: Sequence[int], item_rows: Rows, k: int, m: int) -> None:
        self.chunks = [list(chunk) for chunk in chunks]
        self.terms = list(terms)
        self.shown = {item: item_rows[item] for chunk in chunks for item in chunk}
        self.k, self.m = k, m
        self.moved = self.suppressed = 0

    def s(self, item: int) -> int:
        return self.shown[item].bit_count()

    def ordered(self, items: Sequence[int]) -> list[int]:
        """Sort `items` by support, the largest first, then by name."""
        return sorted(items, key=lambda item: (-self.s(item), item))

    def tidy(self) -> None:
        """Drop items without rows and empty chunks; sort the chunks by their largest support, as readers do."""
        chunks = [[item for item in chunk if self.shown.get(item)] for chunk in self.chunks]
        self.chunks = sorted(filter(None, chunks), key=lambda chunk: -max(map(self.s, chunk)))

    def first_problem(self) -> _Problem | None:
        levels: list[list[_Level]] = []
        for j, chunk in enumerate(self.chunks):
            for item in chunk:
                support = self.s(item)
                for earlier, of_chunk in enumerate(levels):
                    at = bisect_left(of_chunk, (support,))
                    if at < len(of_chunk) and of_chunk[at].covers:
                        return _Problem(item, j, earlier)
            levels.append(self.levels(chunk))
        return None

    def levels(self, chunk: Sequence[int]) -> list[_Level]:
        """Return the levels of `chunk` by ascending support."""
        levels: dict[int, _Level] = {}
        # All bits of -1 are set, so that the first item keeps its own rows.
        rows = -1
        for number, item in enumerate(self.ordered(chunk), 1):
            rows &= self.shown[item]
            levels[self.s(item)] = _Level(self.s(item), rows, number)
        return list(levels.values())[::-1]

    def covering(self, problem: _Problem, keeps: Rows) -> tuple[list[int], int]:
        """Return I, ordered, and F, where some items keep only some rows."""
        rows = {item: keeps.get(item, self.shown[item]) for item in self.chunks[problem.earlier]}
        least = keeps.get(problem.item, self.shown[problem.item]).bit_count()
        items = [item for item in self.ordered(list(rows)) if rows[item].bit_count() >= max(1, least)]
        return items, reduce(and_, (rows[item] for item in items), -1) if items else 0

    def fine(self, problem: _Problem, chunk: int, keeps: Rows) -> bool:
        """Check that changed items of a chunk stay k^m-anonymous, and that the problem is gone."""
        if not all(self._anonymous(item, chunk, keeps) for item in keeps):
            return False
        items, together = self.covering(problem, keeps)
        least = min((keeps.get(item, self.shown[item]).bit_count() for item in items), default=-1)
        return together.bit_count() != least

    def _anonymous(self, item: int, chunk: int, keeps: Rows) -> bool:
        others = [keeps.get(other, self.shown[other]) for other in self.chunks[chunk] if other != item]
        return _all_frequent(keeps[item], others, 0, self.m, self.k)

    def apply(self, problem: _Problem, change: _Change) -> None:
        if change.keeps is None:
            self.leave(problem.item, to_terms=change.to_terms)
        else:
            self.suppressed += sum(self.s(item) - rows.bit_count() for item, rows in change.keeps.items())
            self.shown |= change.keeps

    def leave(self, item: int, *, to_terms: bool) -> None:
        """Take an item out of its chunk."""
        for chunk in self.chunks:
            if item in chunk:
                chunk.remove(item)
        rows = self.shown.pop(item)
        if to_terms:
            self.terms.append(item)
            self.moved += 1
        else:
            self.suppressed += rows.bit_count()


def _all_frequent(rows: int, others: Sequence[int], first: int, m: int, k: int) -> bool:
    """Check that rows, and what they share with up to m - 1 others, are none or at least k."""
    if not rows:
        return True
    if rows.bit_count() < k:
        return False
    further = range(first, len(others)) if m > 1 else ()
    return all(_all_frequent(rows & others[at], others, at + 1, m - 1, k) for at in further)


def _cheapest(cluster: _Cluster, problem: _Problem, price: int | None, *, whole: bool) -> _Change:
    """Return the cure of least price, the earlier kind where prices are equal."""
    moves = [] if price is None else [_Change(price, None, to_terms=True)]
    found = [] if whole else list(_suppressing(cluster, problem))
    last = _Change(cluster.s(problem.item), None)
    return min([*found, *moves] or [last], key=lambda change: change.price)


def _suppressing(cluster: _Cluster, problem: _Problem) -> Iterator[_Change]:
    """Yield the cures that suppress single occurrences; dear ones only where none costs one occurrence."""
    items, together = cluster.covering(problem, {})
    earlier, k = problem.earlier, cluster.k
    # An item in just k rows would become rare.
    spare = [item for item in items if cluster.s(item) > k]
    first, second = _lowest(together, 1), _lowest(together, 2)
    singles = ({y: cluster.shown[y] & ~first} for y in spare)
    if (keeps := _first_fine(cluster, problem, earlier, singles)) is not None:
        yield _Change(1, keeps)
        return
    pairs = (
        {y: cluster.shown[y] & ~first, z: cluster.shown[z] & ~(second & ~first)} for y, z in combinations(spare, 2)
    )
    if (keeps := _first_fine(cluster, problem, earlier, pairs)) is not None:
        yield _Change(2, keeps)
    x, s = problem.item, cluster.s(problem.item)
    supports = sorted({t for y in cluster.chunks[earlier] if k <= (t := cluster.s(y)) < s}, reverse=True)[
        :SUPPORTS_TRIED
    ]
    lower = ({x: cluster.shown[x] & ~_lowest(cluster.shown[x], s - t)} for t in supports)
    if (keeps := _first_fine(cluster, problem, problem.chunk, lower)) is not None:
        yield _Change(s - keeps[x].bit_count(), keeps)
    if s > k:
        keeps = {y: cluster.shown[y] & ~_lowest(cluster.shown[y], cluster.s(y) - s + 1) for y in items}
        if cluster.fine(problem, earlier, keeps):
            yield _Change(sum(cluster.s(y) - s + 1 for y in items), keeps)


def _first_fine(cluster: _Cluster, problem: _Problem, chunk: int, changes: Iterator[Rows]) -> Rows | None:
    return next((keeps for keeps in changes if cluster.fine(problem, chunk, keeps)), None)


def _lowest(rows: int, count: int) -> int:
    """Return the first rows, so many.

    >>> bin(_lowest(0b11010, 2))
    '0b1010'
    """
    first = 0
    for _ in range(count):
        lowest = rows & -rows
        first, rows = first | lowest, rows & ~lowest
    return first
