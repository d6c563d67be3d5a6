"""Set-based generalisation by a partition: each item of a set is published as the whole set.

The partition is listed, or drawn at random from a share of the items: the simplest form of COAT's privacy constraints,
without its search for the least loss. It guarantees no k; `decloak check` measures it.
"""

import random
from collections.abc import Iterable, Sequence

from decloak.data.content import Element
from decloak.data.dataset import Dataset
from decloak.data.published import Published
from decloak.errors import DecloakError, quote

__all__ = ["by_sets", "random_sets"]


def random_sets(items: Sequence[str], size: int, share: float, seed: int) -> list[tuple[str, ...]]:
    """Return sets of `size` items, drawn with `seed` from a `share` of the `items`; a single remaining item joins the
    last set.

    >>> random_sets(["a", "b", "c", "d"], 2, 1.0, seed=1)
    [('a', 'd'), ('b', 'c')]
    """
    drawn = random.Random(seed).sample(sorted(items), round(share * len(items)))
    sets = [drawn[start : start + size] for start in range(0, len(drawn), size)]
    # A set of one item would be published as the item itself.
    if len(sets) > 1 and len(sets[-1]) == 1:
        over = sets.pop()
        sets[-1] += over
    return sorted(tuple(sorted(members)) for members in sets if len(members) > 1)


def by_sets(data: Dataset, sets: Iterable[Sequence[str]]) -> Published:
    """Return `data` with every item of one of `sets` published as the set, at the position of its first member; other
    items stay plain.
    """
    generalised: dict[str, tuple[str, ...]] = {}
    for members in sets:
        for item in members:
            if item in generalised:
                raise DecloakError(f"the item {quote(item)} is in two sets", hint="sets must not overlap")
            generalised[item] = tuple(members)
    unknown = sorted(generalised.keys() - set(data.items))
    if unknown:
        hint = "check the spelling, or leave it out"
        raise DecloakError(f"the item {quote(unknown[0])} of a set is in no record", hint=hint)
    rows: list[tuple[Element, ...]] = [
        tuple(dict.fromkeys(generalised.get(item, item) for item in transaction)) for transaction in data.transactions
    ]
    return Published(tuple(rows), data.labels, f"sets of {data.origin}")
