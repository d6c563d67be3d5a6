"""Published transactions whose generalised items are not marked: which items an attacker takes for generalised.

An item in at least k transactions is a member of a generalised item, any other is context (Ong 2015, 3.5.2).
There is one generalised item a transaction, or one per utility set where these are known: items of different
utility sets, and items of none, are never generalised together.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from decloak.data.content import Element
from decloak.data.published import Published
from decloak.errors import DecloakError, shown

__all__ = ["mark"]


def mark(
    transactions: Iterable[Iterable[str]],
    labels: Sequence[str] | None = None,
    *,
    k: int = 2,
    utility: Collection[Collection[str]] | None = None,
) -> Published:
    """Gather the items in k transactions or more into generalised items, each where its first member stood.

    >>> mark([["knee", "icd", "limbs"], ["icd", "limbs"]]).transactions
    (('knee', ('icd', 'limbs')), (('icd', 'limbs'),))
    """
    if k < 1:
        raise DecloakError(f"k is {k}", hint="k counts transactions: 1 or more")
    sets = [tuple(dict.fromkeys(items)) for items in transactions]
    # Without labels transactions are called by their number, from 1, as everywhere.
    names = tuple(str(number) for number in range(1, len(sets) + 1)) if labels is None else tuple(labels)
    if len(names) != len(sets):
        raise DecloakError(f"{len(names)} labels for {len(sets)} transactions", hint="give one each")
    support = Counter(item for items in sets for item in items)
    frequent = [item for item, count in support.items() if count >= k]
    group = dict.fromkeys(frequent, 0) if utility is None else _groups(frequent, utility)
    return Published(tuple(_marked(items, group) for items in sets), names)


def _groups(frequent: Iterable[str], utility: Collection[Collection[str]]) -> dict[str, int]:
    """The number of each frequent item's utility set; an item of none has a number of its own."""
    sets: dict[str, int] = {}
    for number, items in enumerate(utility):
        for item in set(items):
            if sets.setdefault(item, number) != number:
                raise DecloakError(f"{shown(item)} is in two utility sets", hint="utility sets are disjoint")
    return {item: sets.get(item, len(utility) + place) for place, item in enumerate(frequent)}


def _marked(items: Sequence[str], group: Mapping[str, int]) -> tuple[Element, ...]:
    """One element per plain item and per group, in the order of their first items."""
    gathered: dict[str | int, list[str]] = {}
    for item in items:
        gathered.setdefault(group.get(item, item), []).append(item)
    return tuple(tuple(members) if isinstance(key, int) else key for key, members in gathered.items())
