"""Attacker models: the itemsets that an attacker knows, each a tuple of items in code point order.

The strong attacker of Barakat et al. knows every pair and is written None. The models strong_pairs and moderate draw
their knowledge from the original records. The model weak draws it from items and foreign words, or from itemsets that
are frequent in other data. The model explicit reads it from a file.
"""

import math
import random
from collections.abc import Collection, Iterable, Sequence
from itertools import combinations

from decloak.checks import check_km
from decloak.counting.itemsets import coded_items, itemset_supports
from decloak.data.formats.lines import FilePath, location
from decloak.data.formats.plain_files import read
from decloak.errors import DecloakError, quote

Itemset = tuple[str, ...]

FEW = 10
"""Largest number of names in an error."""

WORDS = 10
"""Number of items, and of foreign words, that a weak attacker combines into itemsets."""
MOST_ITEMSETS = 20_000_000
"""Itemsets of a strong attacker, at most, before duplicates are removed: more do not fit in memory."""


def strong_pairs(records: Iterable[Collection[str]], m: int) -> list[Itemset]:
    """Return every itemset of `m` items of each of `records`, without duplicates.

    >>> strong_pairs([["b", "a"], ["a", "b", "c"]], 2)
    [('a', 'b'), ('a', 'c'), ('b', 'c')]
    """
    check_km(1, m)
    sets = [frozenset(record) for record in records]
    count = sum(math.comb(len(record), m) for record in sets)
    if count > MOST_ITEMSETS:
        hint = "lower m, or let the attacker be strong or moderate"
        raise DecloakError(f"the records have {count:,} itemsets of {m} items", hint=hint)
    return sorted({itemset for record in sets for itemset in combinations(sorted(record), m)})


def moderate(records: Sequence[Collection[str]], m: int, share: float = 0.5, seed: int = 0) -> list[Itemset]:
    """Return a random itemset of `m` items from each record in a random `share` of `records`, drawn with `seed`.

    Records with fewer than `m` items give none.

    >>> moderate([["a", "b"], ["a", "b"]], 2)
    [('a', 'b')]
    """
    check_km(1, m)
    if not 0 < share < 1:
        raise DecloakError(f"the share of records known is {quote(share)}", hint="give a number between 0 and 1")
    rng = random.Random(seed)
    # A little more than the share, for 0.29 of 100 records are 29; and never all: that is the strong attacker.
    count = min(math.floor(share * len(records) + 1e-9), len(records) - 1)
    chosen = [sorted(set(records[number])) for number in rng.sample(range(len(records)), max(0, count))]
    return [tuple(sorted(rng.sample(record, m))) for record in chosen if len(record) >= m]


def weak(items: Iterable[str], foreign: Iterable[str], m: int, seed: int = 0) -> list[Itemset]:
    """Return every itemset of `m` words among WORDS random `items` and the same number of `foreign` words, drawn with
    `seed`.

    >>> len(weak(map(str, range(40)), map(chr, range(97, 123)), 2))
    190
    """
    check_km(1, m)
    item_names = sorted(set(items))
    foreign_words = sorted(set(foreign).difference(item_names))
    if len(foreign_words) < WORDS:
        hint = f"give a list of at least {WORDS}"
        raise DecloakError(f"{len(foreign_words)} foreign words that are no items of the data", hint=hint)
    rng = random.Random(seed)
    words = rng.sample(item_names, min(WORDS, len(item_names))) + rng.sample(foreign_words, WORDS)
    return list(combinations(sorted(words), m))


def frequent_itemsets(
    records: Sequence[Collection[str]], m: int, *, support: float, count: int, seed: int = 0
) -> list[Itemset]:
    """Return `count` random itemsets of `m` items that at least a share of `support` of `records` contain, or all of
    them.

    `seed` decides the draw.

    >>> frequent_itemsets([["a", "b"], ["a", "b", "c"], ["c"]], 2, support=0.5, count=10)
    [('a', 'b')]
    """
    check_km(1, m)
    matrix, items = coded_items(records)
    low = max(1, math.ceil(support * len(records) - 1e-9))  # a little less, for 0.07 of 100 records are 7
    found = (itemset for block in itemset_supports(matrix, m, low=low) for itemset in block.itemsets.tolist())
    there = sorted(tuple(items[column] for column in itemset) for itemset in found)
    return sorted(random.Random(seed).sample(there, min(count, len(there))))


def explicit(path: FilePath, items: Collection[str]) -> list[Itemset]:
    """Read the itemsets of the file at `path`, one per line with commas between items, and return them.

    Raise an error that names the items which are not among `items`.
    """
    listed = read(path, "basket")
    there = frozenset(items)
    lines: dict[str, int] = {}
    for number, itemset in enumerate(listed.transactions, 1):
        for item in itemset:
            # An itemset with an unknown item could never be found: the item is probably misspelt.
            if item not in there:
                lines.setdefault(item, number)
    if lines:
        names = [f"{quote(item)} (line {line})" for item, line in list(lines.items())[:FEW]]
        rest = f" and {len(lines) - FEW} more" if len(lines) > FEW else ""
        message = f"known items that the data do not have: {', '.join(names)}{rest}"
        raise DecloakError(message, location(path, min(lines.values())), "remove them, or write them as the data do")
    return [tuple(sorted(itemset)) for itemset in listed.transactions]
