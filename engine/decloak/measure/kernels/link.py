"""The link attack: what striking members from published transactions does to their k^m protection.

Somebody who knows at most m items of a person looks for the transactions that may contain them. `before` is
what each transaction may contain as published (its plain items and all members of its generalised items),
`after` the same without the members an attack struck. An itemset is protected when at least k transactions
may contain it before; of these, exposed when 1..k-1 still may after, vanished when none may. Only itemsets
with an item that was struck somewhere can change: these items are coded first (the leading ones), and only
itemsets that hold one are counted.

Several counts of an itemset are summed at once, each in its own FIELD bits of a 64-bit weight, the one that
decides what to count in the highest, so that comparing the sum compares that count.
"""

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from heapq import nsmallest
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from decloak.arrays import Ints, Mask
from decloak.checks import check_km
from decloak.counting.itemsets import ItemsetBlock, coded_items, item_sets, itemset_supports, sizes
from decloak.errors import DecloakError, shown

__all__ = ["Exposed", "Link", "link"]

FIELD = 21
MOST = (1 << FIELD) - 1
"""Transactions at most, for a count of them fills one field."""


class Exposed(NamedTuple):
    """An itemset in alphabetical order, and how many transactions may contain it before and after."""

    itemset: tuple[str, ...]
    before: int
    after: int


@dataclass(frozen=True)
class Link:
    """What a link attack finds; transactions are numbered from 0.

    `exposed` counts the itemsets that fell from at least k transactions to 1..k-1, `vanished` those that fell
    to none. `exposed_true` counts the exposed ones that a transaction still holding them truly contains; None
    when the originals are unknown. `unique` are the transactions that at most m items single out after the
    attack, `unique_before` those that as many singled out as published. `examples` are exposed
    itemsets: least support first, then the smaller, then alphabetically.
    """

    exposed: int
    exposed_true: int | None
    vanished: int
    unique: tuple[int, ...]
    unique_before: tuple[int, ...]
    examples: tuple[Exposed, ...]


class _Records(NamedTuple):
    """The same transactions in each state; a column per item, those struck somewhere (the leading) first.

    `true` is what is both left after and original. `names` are the columns' places in alphabetical order.
    """

    before: sparse.csr_array[Any]
    after: sparse.csr_array[Any]
    true: sparse.csr_array[Any]
    leading: int
    names: Ints
    items: tuple[str, ...]


def link(
    before: Iterable[Iterable[str]],
    after: Iterable[Iterable[str]],
    originals: Iterable[Iterable[str]] | None = None,
    *,
    k: int,
    m: int,
    examples: int = 10,
) -> Link:
    """Compare the k^m protection of transactions before and after an attack struck some of their items.

    `before` and `after` hold what each transaction may contain as published and as struck, `originals` what
    it does contain; `examples` is how many exposed itemsets to name at most.

    >>> found = link([["flu", "hiv"], ["flu", "hiv"]], [["flu"], ["flu", "hiv"]], k=2, m=1)
    >>> found.exposed, found.examples, found.unique
    (1, (Exposed(itemset=('hiv',), before=2, after=1),), (1,))
    """
    check_km(k, m)
    versions = (before, after) if originals is None else (before, after, originals)
    lists = [list(state) for state in versions]
    _check_lengths(*map(len, lists))
    states = [item_sets(state) for state in lists]
    _check_struck(states[0], states[1])
    records = _coded(states[0], states[1], states[-1])  # without originals all that is left passes for true
    exposed, exposed_true, vanished, least = _exposed(records, k, m, examples)
    # Of itemsets without a struck item as many may contain them after as before: they are counted once.
    spared = _singled_out(records.before[:, records.leading :], m)
    alone_before = spared | _singled_out(records.before, m, records.leading)
    alone_after = spared | _singled_out(records.after, m, records.leading)
    return Link(
        exposed=exposed,
        exposed_true=None if originals is None else exposed_true,
        vanished=vanished,
        unique=tuple(np.flatnonzero(alone_after).tolist()),
        unique_before=tuple(np.flatnonzero(alone_before).tolist()),
        examples=tuple(least),
    )


def _check_lengths(before: int, after: int, originals: int | None = None) -> None:
    if after != before or originals not in (None, before):
        counts = f"{before} transactions before, {after} after the attack"
        hint = "give the same transactions in the same order"
        raise DecloakError(counts if originals is None else f"{counts}, {originals} originals", hint=hint)
    if before > MOST:
        raise DecloakError(f"{before} transactions", hint=f"a link attack takes at most {MOST}")


def _check_struck(before: list[Set[str]], after: list[Set[str]]) -> None:
    for number, (could, can) in enumerate(zip(before, after, strict=True)):
        if not can <= could:
            message = f"transaction {number} holds {shown(min(can - could))} after the attack but not before it"
            raise DecloakError(message, hint="an attack only strikes items")


def _coded(before: list[Set[str]], after: list[Set[str]], originals: list[Set[str]]) -> _Records:
    true = [remaining & original for remaining, original in zip(after, originals, strict=True)]
    records, items = coded_items(chain(before, after, true))
    count = len(before)
    at_first, at_last, truly = (records[part * count : (part + 1) * count] for part in range(3))
    struck = at_first.sum(axis=0) > at_last.sum(axis=0)
    # Struck items first: only itemsets that hold one of the leading items are counted.
    names = np.argsort(~struck, kind="stable")
    return _Records(at_first[:, names], at_last[:, names], truly[:, names], int(struck.sum()), names, items)


def _exposed(records: _Records, k: int, m: int, most: int) -> tuple[int, int, int, list[Exposed]]:
    exposed = exposed_true = vanished = 0
    least: list[Exposed] = []
    for itemsets, total in _protected(records, k, m):
        before, after, true = total >> 2 * FIELD, total >> FIELD & MOST, total & MOST
        hit = (after > 0) & (after < k)
        exposed += int(hit.sum())
        exposed_true += int((hit & (true > 0)).sum())
        vanished += int((after == 0).sum())
        new = _least(records, itemsets[hit], before[hit], after[hit], most)
        least = nsmallest(most, chain(least, new), key=lambda example: (example.after, len(example[0]), example[0]))
    return exposed, exposed_true, vanished, least


def _protected(records: _Records, k: int, m: int) -> Iterator[ItemsetBlock]:
    """Itemsets that k transactions or more may contain before; their supports: before, after, true."""
    count = records.before.shape[0]
    if k > count:
        return
    stacked = sparse.vstack((records.before, records.after, records.true), format="csr")
    weights = np.repeat([1 << 2 * FIELD, 1 << FIELD, 1], count)
    for size in sizes(records.before, m):
        yield from itemset_supports(stacked, size, weights=weights, leading=records.leading, low=k << 2 * FIELD)


def _least(records: _Records, itemsets: Ints, before: Ints, after: Ints, most: int) -> Iterator[Exposed]:
    """The least supported of itemsets of one size, alphabetical among equals."""
    names = np.sort(records.names[itemsets], axis=1)
    for row in np.lexsort((*names.T[::-1], after))[:most]:
        yield Exposed(tuple(records.items[name] for name in names[row]), int(before[row]), int(after[row]))


def _singled_out(records: sparse.csr_array[Any], m: int, leading: int | None = None) -> Mask:
    """The records that alone hold some itemset of at most m items.

    A record weighs its number and a one in the higher field: a sum with a one there is the only holder's.
    """
    count = records.shape[0]
    unit = 1 << 2 * FIELD
    alone = np.zeros(count, bool)
    for size in sizes(records, m):
        weights = unit + np.arange(count)
        for block in itemset_supports(records, size, weights=weights, leading=leading, low=unit, high=2 * unit - 1):
            alone[block.supports - unit] = True
    return alone
