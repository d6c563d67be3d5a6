"""Check of privacy constraints of a generalised release, from the published data alone.

A record may contain every item it publishes, and every member of a generalised item it publishes. A combination of
items of a privacy constraint is violated if 1 to k - 1 records may contain it. Combinations that records publish as a
whole are the patterns of a constraint. If all patterns have support k, so have all their parts; and a violated
combination is part of a violated pattern. So checking the patterns is sufficient.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from decloak.data.content import Element
from decloak.data.published import Published

__all__ = ["BrokenConstraint", "broken_privacy", "broken_utility"]


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
            _smallest(pattern, records_of, k) for pattern in _patterns(records_of) if _support(pattern, records_of) < k
        }
        broken += [BrokenConstraint(constraint, itemset, _support(itemset, records_of)) for itemset in sorted(smallest)]
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


def _patterns(records_of: dict[str, frozenset[int]]) -> Iterator[tuple[str, ...]]:
    """Yield every combination that consists of all items that some record may contain."""
    cells: list[tuple[tuple[str, ...], frozenset[int]]] = (
        [((), frozenset[int]().union(*records_of.values()))] if records_of else []
    )
    for item, records in records_of.items():
        parts = [((*pattern, item), cell & records) for pattern, cell in cells]
        parts += [(pattern, cell - records) for pattern, cell in cells]
        cells = [(pattern, cell) for pattern, cell in parts if cell]
    return (pattern for pattern, _ in cells)


def _support(itemset: Sequence[str], records_of: dict[str, frozenset[int]]) -> int:
    rarest, *common = sorted((records_of[item] for item in itemset), key=len)  # the smallest set bounds the work
    return len(rarest.intersection(*common))


def _smallest(pattern: tuple[str, ...], records_of: dict[str, frozenset[int]], k: int) -> tuple[str, ...]:
    """Return a violated part of a violated pattern: items are dropped while it stays violated."""
    for item in pattern:
        fewer = tuple(kept for kept in pattern if kept != item)
        if fewer and _support(fewer, records_of) < k:
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
