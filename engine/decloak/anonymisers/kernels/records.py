"""Records in the form that methods count: ascending runs of labels, equal ones merged with their summed weight.

The labels of record r are `held[start[r]:start[r + 1]]`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decloak.arrays import Ints, Mask
from decloak.data.hierarchy import Hierarchy
from decloak.data.rows import narrow
from decloak.lazy import sparse

BLOCK, ENTRIES = 1 << 18, 1 << 20
"""Number of records that are compared together, and of labels that are replaced: they bound the memory."""


class Records(NamedTuple):
    """The ascending labels of each record, and its multiplicity."""

    start: Ints
    codes: NDArray[np.int32]
    weight: NDArray[np.int32]


def coded_records(tree: Hierarchy, records: sparse.csr_array) -> Records:
    """Return `records` of leaf positions of `tree`, as `Hierarchy.code` returns them, as node numbers, without empty
    ones.
    """
    lengths = np.diff(records.indptr)
    lengths = lengths[lengths > 0]
    return Records(starts(lengths), tree.leaf.astype(np.int32)[records.indices], np.ones(len(lengths), np.int32))


def recoded(records: Records, to: Ints) -> Records:
    """Return `records` with `to[x]` for every label x; `to` must ascend, so that equal labels are neighbours."""
    label, first = to.astype(np.int32), np.ones(len(records.codes), bool)
    runs = [slice(begin, begin + ENTRIES) for begin in range(0, len(first), ENTRIES)]
    for run in runs:  # the first of a run may be like the last before it
        labels = label[records.codes[max(0, run.start - 1) : run.stop]]
        first[max(1, run.start) : run.stop] = labels[1:] != labels[:-1]
    # The first label of a record may equal the last one of the record before.
    first[records.start[:-1]] = True
    lengths = np.add.reduceat(first, records.start[:-1], dtype=np.int64)
    codes, begin = np.empty(int(lengths.sum()), np.int32), 0
    for run in runs:
        labels = label[records.codes[run][first[run]]]
        codes[begin : begin + len(labels)] = labels
        begin += len(labels)
    return Records(starts(lengths), codes, records.weight)


def holding(records: Records, columns: sparse.csc_array, begin: int, end: int) -> Records:
    """Return the `records` with one of the labels `begin` to `end` - 1; `columns` is `matrix_of` them, by columns."""
    rows = np.unique(columns.indices[columns.indptr[begin] : columns.indptr[end]])
    lengths = np.diff(records.start)[rows]
    return Records(starts(lengths), records.codes[entries_of(records.start[rows], lengths)], records.weight[rows])


def renamed(records: Records, name: Ints, labels: int) -> Records:
    """Return `records` with `name[x]` for every one of `labels` labels x, the names of each record ascending."""
    named = matrix_of(records._replace(codes=name.astype(np.int32)[records.codes]), labels)
    # Turned over twice, a matrix has its entries in order, without a comparison.
    return records._replace(codes=named.tocsc().tocsr().indices)


def matrix_of(records: Records, labels: int) -> sparse.csr_array:
    """Return a matrix of `records` × `labels`, 1 where a record has a label."""
    ones = np.ones(len(records.codes), np.int8)
    return sparse.csr_array((ones, records.codes, narrow(records.start)), (len(records.weight), labels))


def merged(records: Records, keys: NDArray[np.uint64] | None = None) -> Records:
    """Return `records` with equal ones merged. They are found by `keys`; different records of one key stay separate."""
    keys = _keys(records) if keys is None else keys
    order = np.argsort(keys, kind="stable")
    fresh = np.ones(len(order), bool)
    fresh[1:] = np.diff(keys[order]) != 0
    like = np.empty_like(order)
    like[order] = order[fresh][np.cumsum(fresh) - 1]
    like = np.where(_equal(records, like), like, np.arange(len(like)))
    weight = np.bincount(like, records.weight, len(like)).astype(np.int32)
    kept = weight > 0
    lengths = np.diff(records.start)
    return Records(starts(lengths[kept]), records.codes[np.repeat(kept, lengths)], weight[kept])


def _keys(records: Records) -> NDArray[np.uint64]:
    """Return the sum of a well-mixed number for every label."""
    # Sums of the labels themselves would be equal for many different records.
    mixed = (np.arange(records.codes.max(initial=0) + 1, dtype=np.uint64) + 1) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(32)
    parts = [np.zeros(0, np.uint64)]
    for first in range(0, len(records.weight), BLOCK):
        start = records.start[first : first + BLOCK + 1]
        parts.append(np.add.reduceat(mixed[records.codes[start[0] : start[-1]]], start[:-1] - start[0]))
    return np.concatenate(parts)


def _equal(records: Records, like: Ints) -> Mask:
    """Return a mask of the records that equal the given one."""
    lengths = np.diff(records.start)
    same: Mask = lengths == lengths[like]
    every = np.flatnonzero(same & (like != np.arange(len(like))))
    for first in range(0, len(every), BLOCK):
        doubtful = every[first : first + BLOCK]
        labels = records.codes[entries_of(records.start[doubtful], lengths[doubtful])]
        like_labels = records.codes[entries_of(records.start[like[doubtful]], lengths[doubtful])]
        same[np.repeat(doubtful, lengths[doubtful])[labels != like_labels]] = False
    return same


def starts(lengths: Ints | Mask | list[int]) -> Ints:
    """Return the starts of runs of these `lengths`, and the end of the last one."""
    start = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=start[1:])
    return start


def entries_of(start: Ints, lengths: Ints) -> Ints:
    """Return the numbers from `start` to start + length - 1 of every run, by `lengths`, one run after the other."""
    begin = starts(lengths)
    return np.arange(begin[-1]) + np.repeat(start - begin[:-1], lengths)
