"""k^m-anonymity by suppression alone: of whole items, or of single occurrences.

A rare set is an itemset of at most m items in 1 to k - 1 records. It is minimal if none of its proper subsets is rare.
Both searches are greedy. They publish no hierarchy and no chunks, so they are the baseline of methods that have them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from decloak.anonymisers.kernels.frequent_sets import grown_sets, select_entries
from decloak.arrays import Ints, Mask
from decloak.checks import check_km, longest
from decloak.errors import DecloakError
from decloak.lazy import sparse

MOST = 1 << 27
"""Largest number of itemsets that records of the data may hold together."""
PIECE = 1 << 21
"""Number of itemsets of records that are counted at once."""


def suppress_items(records: sparse.csr_array, k: int, m: int) -> sparse.csr_array:
    """Return `records` without the items that a greedy search suppresses, for `k` and `m`.

    The next item is that with the most minimal rare sets per occurrence lost. Of equal items it is the first.

    >>> suppress_items(sparse.csr_array([[1, 1, 0], [1, 0, 1], [1, 1, 0]]), 2, 2).toarray().tolist()
    [[1, 1, 0], [1, 0, 0], [1, 1, 0]]
    """
    check_km(k, m)
    support = np.bincount(records.indices, minlength=records.shape[1])
    sets = [grown.itemsets[grown.supports < k] for grown, _ in grown_sets(records, k, longest(records, m))]
    kept = np.ones(records.shape[1], np.bool_)
    member = np.concatenate([np.zeros(0, np.int64), *(itemsets.ravel() for itemsets in sets)])
    sizes = np.concatenate([np.zeros(0, np.int64), *(np.full(len(one), one.shape[1]) for one in sets)])
    start = np.append(0, np.cumsum(sizes))
    of_item = np.argsort(member, kind="stable")
    begin = np.searchsorted(member[of_item], np.arange(records.shape[1] + 1))
    set_of, left = np.repeat(np.arange(len(sizes)), sizes), np.ones(len(sizes), np.bool_)
    rare = np.bincount(member, minlength=records.shape[1])
    while rare.any():
        # An item without records is in no rare set, and must not divide by 0.
        item = int(np.argmax(rare / np.maximum(support, 1)))
        kept[item] = False
        gone = set_of[of_item[begin[item] : begin[item + 1]]]
        for number in gone[left[gone]].tolist():
            rare[member[start[number] : start[number + 1]]] -= 1
        left[gone] = False
    return select_entries(records, kept[records.indices])


def suppress_cells(records: sparse.csr_array, k: int, m: int) -> sparse.csr_array:
    """Return `records` without the occurrences that a greedy search suppresses, for `k` and `m`.

    A round looks at the rare sets of one size, with the supports at its start. While a record holds rare sets, it loses
    the item with the most of them, divided by the support of the item. Of equal items it is the first. Rounds of the
    sizes 1 to m go on until none changes a record.

    >>> suppress_cells(sparse.csr_array([[1, 1, 0], [1, 0, 1], [1, 1, 0]]), 2, 2).toarray().tolist()
    [[1, 1, 0], [1, 0, 0], [1, 1, 0]]
    """
    check_km(k, m)
    _check_size(records, longest(records, m))
    changed = True
    while changed:
        changed = False
        for size in range(1, longest(records, m) + 1):
            kept = _round(records, k, size)
            changed = changed or not kept.all()
            records = select_entries(records, kept)
    return records


class _RecordItemsets(NamedTuple):
    """Itemsets of one size of some records: a number for each itemset, its record, and the places of its items."""

    key: Ints
    record: Ints
    place: Ints


def _round(records: sparse.csr_array, k: int, size: int) -> Mask:
    """Return a mask of the occurrences that a round for itemsets of `size` items keeps."""
    support = np.bincount(records.indices, minlength=records.shape[1])
    keys, counts = np.zeros(0, np.int64), np.zeros(0, np.int64)
    for held in _itemsets(records, size):
        keys, inverse = np.unique(np.concatenate((keys, held.key)), return_inverse=True)
        weights = np.concatenate((counts, np.ones(len(held.key), np.int64)))
        counts = np.bincount(inverse, weights, len(keys)).astype(np.int64)
    rare = keys[counts < k]
    kept = np.ones(len(records.indices), np.bool_)
    for held in _itemsets(records, size) if len(rare) else ():
        at = np.searchsorted(rare, held.key)
        violating = np.flatnonzero(rare[np.minimum(at, len(rare) - 1)] == held.key)
        order = violating[np.argsort(held.record[violating], kind="stable")]
        for sets in np.split(held.place[order], np.flatnonzero(np.diff(held.record[order])) + 1):
            _clear(sets, records.indices, support, kept)
    return kept


def _clear(sets: Ints, item: Ints, support: Ints, kept: Mask) -> None:
    """Take items out of one record until it holds none of `sets`, which are places of its items."""
    places, member = np.unique(sets, return_inverse=True)
    # numpy 2.0 gives this array in the shape of the sets, other versions flat.
    member = member.reshape(sets.shape)
    while len(member):
        rare = np.bincount(member.ravel(), minlength=len(places))
        chosen = int(np.argmax(rare / support[item[places]]))
        kept[places[chosen]] = False
        member = member[(member != chosen).all(axis=1)]


def _check_size(records: sparse.csr_array, most: int) -> None:
    """Raise an error if the records hold too many itemsets of up to `most` items, or items too many to number them."""
    lengths = np.bincount(np.diff(records.indptr)).tolist()
    for size in range(1, most + 1):
        held = sum(comb(length, size) * count for length, count in enumerate(lengths))
        if held > MOST or records.shape[1] ** size >= 1 << 63:
            message = f"the records hold too many itemsets of {size} items ({held:,})"
            raise DecloakError(message, hint=f"use m: {size - 1}, or leave out the longest records")


def _itemsets(records: sparse.csr_array, size: int) -> Iterator[_RecordItemsets]:
    """Yield the itemsets of `size` items of all records; those of one record are in one block."""
    lengths = np.diff(records.indptr)
    powers = records.shape[1] ** np.arange(size)[::-1]
    for length in range(size, int(lengths.max(initial=0)) + 1):
        rows = np.flatnonzero(lengths == length)
        if not len(rows):
            continue
        within = np.array(list(combinations(range(length), size)), np.int64)
        step = max(1, PIECE // len(within))
        for first in range(0, len(rows), step):
            chosen = rows[first : first + step]
            place = (records.indptr[chosen][:, None, None] + within).reshape(-1, size)
            yield _RecordItemsets(
                records.indices[place].astype(np.int64) @ powers, np.repeat(chosen, len(within)), place
            )
