"""Does a generalised release keep its constraints? Checked from what is published, whoever made it.

A record may hold every item it publishes, and every member of a generalised item it publishes. A combination of items
of a privacy constraint is broken when 1..k-1 records may hold it. Combinations that records show as a whole are the
patterns of a constraint: when all of them are in k records or more, so is every part of them; and a broken
combination lies inside a pattern that is broken as well. So looking at the patterns is enough.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from decloak.data.content import Element
from decloak.data.published import Published

__all__ = ["Broken", "broken_privacy", "broken_utility"]


class Broken(NamedTuple):
    """A combination of items of a privacy constraint that too few records may hold."""

    constraint: tuple[str, ...]
    itemset: tuple[str, ...]
    support: int


def broken_privacy(published: Published, privacy: Iterable[Sequence[str]], *, k: int) -> list[Broken]:
    """List broken combinations, none when the release keeps its promise.

    Of each broken pattern one combination is named, such that none inside it is broken.

    >>> published = Published(((("a", "b"), "c"), (("a", "b"),)), ("1", "2"))
    >>> broken_privacy(published, [["a", "b"], ["a", "c"]], k=2)
    [Broken(constraint=('a', 'c'), itemset=('c',), support=1)]
    """
    holders = _holders(published)
    broken = []
    for constraint in map(tuple, privacy):
        held = {item: holders[item] for item in constraint if item in holders}
        smallest = {_smallest(pattern, held, k) for pattern in _patterns(held) if _support(pattern, held) < k}
        broken += [Broken(constraint, itemset, _support(itemset, held)) for itemset in sorted(smallest)]
    return broken


def _holders(published: Published) -> dict[str, frozenset[int]]:
    """The records that may hold each item. Members of a generalised item share one set."""
    records: dict[Element, set[int]] = {}
    for number, transaction in enumerate(published.transactions):
        for element in transaction:
            records.setdefault(element, set()).add(number)
    holders: dict[str, frozenset[int]] = {}
    for element, numbers in ((element, frozenset(numbers)) for element, numbers in records.items()):
        for item in (element,) if isinstance(element, str) else element:
            holders[item] = holders[item] | numbers if item in holders else numbers
    return holders


def _patterns(held: dict[str, frozenset[int]]) -> Iterator[tuple[str, ...]]:
    """Every combination that is all of the items some record may hold."""
    cells: list[tuple[tuple[str, ...], frozenset[int]]] = [((), frozenset[int]().union(*held.values()))] if held else []
    for item, records in held.items():
        parts = [((*pattern, item), cell & records) for pattern, cell in cells]
        parts += [(pattern, cell - records) for pattern, cell in cells]
        cells = [(pattern, cell) for pattern, cell in parts if cell]
    return (pattern for pattern, _ in cells)


def _support(itemset: Sequence[str], held: dict[str, frozenset[int]]) -> int:
    rarest, *common = sorted((held[item] for item in itemset), key=len)  # the smallest set bounds the work
    return len(rarest.intersection(*common))


def _smallest(pattern: tuple[str, ...], held: dict[str, frozenset[int]], k: int) -> tuple[str, ...]:
    """Drop items from a broken pattern as long as it stays broken."""
    for item in pattern:
        fewer = tuple(kept for kept in pattern if kept != item)
        if fewer and _support(fewer, held) < k:
            pattern = fewer
    return pattern


def broken_utility(published: Published, utility: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    """List the generalised items that no utility constraint allows; one of a single item is always allowed.

    >>> broken_utility(Published(((("a", "b"), "c"),), ("1",)), [["a", "c"]])
    [('a', 'b')]
    """
    allowed = [frozenset(constraint) for constraint in utility]
    return [
        members
        for members in published.generalised
        if len(members) > 1 and not any(items.issuperset(members) for items in allowed)
    ]
