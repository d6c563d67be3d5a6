"""Marking of generalised items in releases that do not mark them: the items that an attacker takes for generalised.

An item in at least k records is a member of a generalised item, any other is context (Ong 2015, 3.5.2). There is
one generalised item per record, or one per utility set if these are known. Items of different utility sets, and
items outside them, are never generalised together.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from decloak.data.content import Element
from decloak.data.published import Published
from decloak.errors import DecloakError, quote

__all__ = ["mark"]


def mark(
    transactions: Iterable[Iterable[str]],
    labels: Sequence[str] | None = None,
    *,
    k: int = 2,
    utility: Collection[Collection[str]] | None = None,
) -> Published:
    """Combine the items in `k` or more `transactions` into generalised items, at the position of their first member.

    `labels` name the records; without them decloak numbers them from 1. `utility` lists the utility sets, if they
    are known. Return the marked release.

    >>> mark([["knee", "icd", "limbs"], ["icd", "limbs"]]).transactions
    (('knee', ('icd', 'limbs')), (('icd', 'limbs'),))
    """
    if k < 1:
        raise DecloakError(f"k is {k}", hint="k counts records: 1 or more")
    sets = [tuple(dict.fromkeys(items)) for items in transactions]
    # Without labels records are called by their number, from 1, as everywhere.
    names = tuple(str(number) for number in range(1, len(sets) + 1)) if labels is None else tuple(labels)
    if len(names) != len(sets):
        raise DecloakError(f"{len(names)} labels for {len(sets)} records", hint="give one each")
    support = Counter(item for items in sets for item in items)
    frequent = [item for item, count in support.items() if count >= k]
    # Without utility sets all frequent items form one group: an attacker cannot divide them.
    group = dict.fromkeys(frequent, 0) if utility is None else _groups(frequent, utility)
    return Published(tuple(_group_items(items, group) for items in sets), names)


def _groups(frequent: Iterable[str], utility: Collection[Collection[str]]) -> dict[str, int]:
    """Return the number of the utility set of each frequent item; an item of none has a number of its own."""
    sets: dict[str, int] = {}
    for number, items in enumerate(utility):
        for item in set(items):
            if sets.setdefault(item, number) != number:
                raise DecloakError(f"{quote(item)} is in two utility sets", hint="utility sets are disjoint")
    return {item: sets.get(item, len(utility) + place) for place, item in enumerate(frequent)}


def _group_items(items: Sequence[str], group: Mapping[str, int]) -> tuple[Element, ...]:
    """Return one element per plain item and per group, in the order of their first items."""
    gathered: dict[str | int, list[str]] = {}
    for item in items:
        gathered.setdefault(group.get(item, item), []).append(item)
    return tuple(tuple(members) if isinstance(key, int) else key for key, members in gathered.items())
