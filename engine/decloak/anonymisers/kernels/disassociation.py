"""Disassociation (Terrovitis, Liagouris, Mamoulis, Skiadopoulos 2012): items stay, their links are hidden.

D are the records, and a cluster is some of them, published as chunks. HORPART makes the clusters. VERPART makes the
record chunks C1, C2, ... and the term chunk of each. REFINE makes chunks that several clusters share. Items are coded
by number in code point order, so that ascending codes are ascending names and a tuple of codes sorts as its names.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from decloak.anonymisers.kernels.cure import cured
from decloak.anonymisers.kernels.horpart import divided, horizontal, pooled_parts
from decloak.anonymisers.kernels.refine import Leaf, Shared, refined
from decloak.anonymisers.kernels.verpart import held_rows, vertical
from decloak.arrays import Ints
from decloak.checks import check_whole
from decloak.data.assignment import RowLists
from decloak.data.content import Chunk, Cluster, JointCluster
from decloak.data.dataset import Dataset
from decloak.data.disassociated import Disassociated
from decloak.data.formats.cluster_files import ClusterArrays
from decloak.data.ordering import rank_rows
from decloak.data.rows import CodedRows, Codes
from decloak.errors import DecloakError, quote

LARGEST = 1_000
"""Largest default size of a cluster."""
LARGE = 1 << 21
"""Occurrences of items from which importing compiled loops is worthwhile."""

Record = tuple[int, ...]
CoverCure = Literal["cure", "suppress"]
"""The cure of cover problems: with items moved to term chunks, or by suppression alone."""


class DisassociationResult(NamedTuple):
    """A release, its secret, and the cost of its cure: single occurrences (record number and item), and moved items.

    `truth[c]` has the record number of each anchor row of cluster c. The anchor rows are the sub-records of the first
    record chunk as published, then the records without one. Equal rows are in the order of the records.
    """

    release: Disassociated
    truth: tuple[tuple[int, ...], ...]
    cut: tuple[tuple[int, str], ...]
    moved: int


def disassociate(
    data: Dataset | Iterable[Iterable[str]],
    *,
    k: int,
    m: int,
    max_cluster: int | None = None,
    refine: bool = False,
    strict: bool = False,
    cover: CoverCure | None = None,
    totals: bool = False,
) -> DisassociationResult:
    """Publish the records of `data` in clusters and chunks so that no `m` items of a record point to fewer than `k`.

    `max_cluster` bounds the clusters before small ones are merged, see `default_max_cluster`; `strict` also splits one
    of exactly that size. `refine` adds shared chunks, `cover` cures cover problems, and `totals` publishes the supports
    of items in k or more records. Return the release, its ground truth, and the cost of the cure.

    >>> release, truth, *_ = disassociate([["milk", "tea"], ["milk", "salt"], ["milk"]], k=2, m=2, max_cluster=4)
    >>> release.clusters[0].record_chunks, release.clusters[0].term_chunk
    ((Chunk(items=('milk',), subrecords=(('milk',), ('milk',), ('milk',))),), ('salt', 'tea'))
    >>> truth
    ((0, 1, 2),)
    """
    data = Dataset.of(data)
    check_whole(2, k=k)
    max_cluster = default_max_cluster(len(data.transactions), k) if max_cluster is None else max_cluster
    _check_parameters(k, m, max_cluster)
    _check_cover(cover, refine)
    check_records(data, k)
    names, start, codes = _coded(data.rows.with_used_names)
    held = codes.tolist()
    records = [tuple(held[begin:end]) for begin, end in pairwise(start.tolist())]
    if len(codes) < LARGE or strict:
        parts: Iterable[list[int]] = horizontal(records, max_cluster, strict)
    else:
        order, ends = divided(start, codes, len(names), max_cluster)
        parts = (part.tolist() for part in np.split(order, ends[:-1]))
    clusters = pooled_parts(parts, k)
    leaves, cut, moved = make_leaves(records, clusters, k, m, cover, names)
    joints = refined(leaves, k, m) if refine else []
    truth = tuple(_anchor_order(leaf, ids) for leaf, ids in zip(leaves, clusters, strict=True))
    published = tuple(published_cluster(leaf, names) for leaf in leaves)
    shared = tuple(_joint(joint, leaves, names) for joint in joints)
    release = Disassociated(
        published, shared, k, m, data.origin, parameters={"max_cluster": max_cluster}, cover=cover,
        totals=_totals(names, records, leaves, k) if totals else (),
    )  # fmt: skip
    return DisassociationResult(release, truth, cut, moved)


def default_max_cluster(records: int, k: int) -> int:
    """Return the default cluster size for a number of `records` and `k`: a quarter of the records, at most 1,000 and at
    least k.

    In a large cluster a person is one of many, so large clusters expose fewer people than small ones. A quarter leaves
    several clusters, which keep together the records that have much in common.
    """
    return max(min(records // 4, LARGEST), k)


def check_records(data: Dataset, k: int) -> None:
    """Raise an error if `data` have fewer than `k` records, or an empty one: every row of a cluster has an item."""
    if len(data.transactions) < k:
        count = len(data.transactions)
        message = f"{count} record{'s' * (count != 1)} cannot hide among k = {k}"
        raise DecloakError(message, hint="add records or lower k")
    for label, record in zip(data.labels, data.transactions, strict=True):
        if not record:
            hint = "disassociation takes no empty ones: leave it out"
            raise DecloakError(f"record {label if label.isdecimal() else quote(label)} has no items", hint=hint)


def _check_parameters(k: int, m: int, max_cluster: int) -> None:
    check_whole(1, m=m)
    check_whole(2, max_cluster=max_cluster)
    if max_cluster < k:
        raise DecloakError(f"max_cluster is {max_cluster} and k is {k}", hint="give a max_cluster of at least k")


def _check_cover(cover: object, refine: bool) -> None:
    if cover not in (None, "cure", "suppress"):
        raise DecloakError(f"unknown cover {quote(cover)}", hint="give cure or suppress")
    if cover is not None and refine:
        hint = "leave one of them out: shared chunks could bring cover problems back"
        raise DecloakError("refine: true cannot be combined with cover", hint=hint)


def _coded(rows: CodedRows[str]) -> tuple[list[str], Ints, Codes]:
    """Return the names of the items in order, and every record as ascending codes: where it begins, and all codes."""
    names = sorted(rows.names)
    code = {name: number for number, name in enumerate(names)}
    number = np.array([code[name] for name in rows.names], np.int64)
    held = np.sort(rows.row_of_code * len(names) + number[rows.codes])
    row, codes = np.divmod(held[np.diff(held, prepend=-1) > 0], len(names))
    return names, np.append(0, np.cumsum(np.bincount(row, minlength=len(rows)))), codes.astype(np.int32)


def _leaf(records: Sequence[Record], k: int, m: int) -> Leaf:
    item_rows = held_rows(records)
    return Leaf(records, item_rows, *vertical(item_rows, len(records), k, m))


def make_leaves(
    records: Sequence[Record],
    clusters: Sequence[Sequence[int]],
    k: int,
    m: int,
    cover: CoverCure | None,
    names: Sequence[str],
) -> tuple[list[Leaf], tuple[tuple[int, str], ...], int]:
    """Split each of `clusters`, numbers of `records`, into chunks for `k` and `m`, and cure them as `cover` says.

    Return the clusters, the suppressed occurrences by the `names` of their items, and the number of moved items.
    """
    leaves = [_leaf([records[number] for number in ids], k, m) for ids in clusters]
    return leaves, *_cured(leaves, clusters, k, m, cover, names)


def _cured(
    leaves: list[Leaf], clusters: Sequence[Sequence[int]], k: int, m: int, cover: CoverCure | None, names: Sequence[str]
) -> tuple[tuple[tuple[int, str], ...], int]:
    """Cure every leaf in place; return the suppressed occurrences, and the number of moved items."""
    cut: list[tuple[int, str]] = []
    moved = 0
    for number, (leaf, ids) in enumerate(zip(leaves, clusters, strict=True) if cover else ()):
        healthy = cured(leaf.chunks, leaf.terms, leaf.item_rows, len(ids), k, m, moves=cover == "cure")
        rows: list[Record] = []
        for row, record in enumerate(leaf.records):
            kept = tuple(item for item in record if item in healthy.terms or healthy.shown.get(item, 0) >> row & 1)
            cut += [(ids[row], names[item]) for item in record if item not in kept]
            rows.append(kept)
        leaves[number] = Leaf(rows, held_rows(rows), healthy.chunks, healthy.terms)
        moved += healthy.moved
    return tuple(cut), moved


def _totals(names: list[str], records: Sequence[Record], leaves: Sequence[Leaf], k: int) -> tuple[tuple[str, int], ...]:
    """Return the supports of the published items in k or more records."""
    supports = Counter(item for record in records for item in record)
    shown_items = {item for leaf in leaves for item in leaf.item_rows}
    return tuple((names[item], supports[item]) for item in sorted(shown_items) if supports[item] >= k)


def _anchor_order(leaf: Leaf, ids: list[int]) -> tuple[int, ...]:
    anchor = frozenset(leaf.chunks[0] if leaf.chunks else ())
    rows = [tuple(item for item in record if item in anchor) for record in leaf.records]
    ranked = sorted((not row, row, number) for row, number in zip(rows, ids, strict=True))
    return tuple(number for _, _, number in ranked)


def published_cluster(leaf: Leaf, names: Sequence[str]) -> Cluster:
    """Return the cluster that publishes `leaf`, with the `names` of its items."""
    chunk_of = {item: number for number, chunk in enumerate(leaf.chunks) for item in chunk}
    subrecords: list[list[tuple[str, ...]]] = [[] for _ in leaf.chunks]
    for record in leaf.records:
        parts: dict[int, list[str]] = {}
        for item in record:
            if item in chunk_of:
                parts.setdefault(chunk_of[item], []).append(names[item])
        for number, part in parts.items():
            subrecords[number].append(tuple(part))
    chunks = tuple(_chunk(*both, names) for both in zip(leaf.chunks, subrecords, strict=True))
    return Cluster(len(leaf.records), chunks, tuple(names[item] for item in sorted(leaf.terms)))


def published_arrays(leaves: Sequence[Leaf], rows: CodedRows[str]) -> ClusterArrays:
    """Return what `published_cluster` returns of each of `leaves`, as arrays of codes.

    `rows` are the records of all leaves, one after the other. Their codes ascend, and so do the names of these.
    """
    sizes, chunks = (np.array([len(one) for one in lists], np.int64) for lists in (
        [leaf.records for leaf in leaves], [leaf.chunks for leaf in leaves]
    ))  # fmt: skip
    lists = RowLists.of([sorted(chunk) for leaf in leaves for chunk in leaf.chunks])
    terms = RowLists.of([sorted(leaf.terms) for leaf in leaves])
    each, items = np.arange(len(leaves)), max(1, len(rows.names))
    key = np.repeat(each, chunks)[lists.list_of_row] * items + lists.rows
    order = np.argsort(key)
    ascending = np.append(key[order], -1)  # a value beyond the last one finds the -1, which equals none
    value = np.repeat(each, sizes)[rows.row_of_code] * items + rows.codes
    place = np.searchsorted(ascending[:-1], value)
    shown = ascending[place] == value
    chunk, row, code = lists.list_of_row[order][place[shown]], rows.row_of_code[shown], rows.codes[shown]
    order = np.lexsort((row, chunk))
    chunk, row, code = chunk[order], row[order], code[order]
    begins = np.flatnonzero((np.diff(chunk, prepend=-1) != 0) | (np.diff(row, prepend=-1) != 0))
    subrecords, of_chunk = CodedRows(np.append(begins, len(code)), code, rows.names), chunk[begins]
    # In lexicographic order: the order of the records must not be visible.
    ordered = subrecords.select(np.lexsort((rank_rows(subrecords), of_chunk)))
    subs = np.searchsorted(of_chunk, np.arange(len(lists.start)))
    return ClusterArrays(
        [], sizes, np.append(0, np.cumsum(chunks)), lists.start, lists.rows.astype(np.int32), subs, ordered.start,
        ordered.codes, terms.start, terms.rows.astype(np.int32),
    )  # fmt: skip


def _joint(joint: Shared, leaves: list[Leaf], names: list[str]) -> JointCluster:
    chunks = []
    for items in joint.chunks:
        rows = joint.contributions(leaves, items)
        chunks.append(_chunk(items, [tuple(names[item] for item in row) for row in rows if row], names))
    return JointCluster(joint.leaves, tuple(chunks))


def _chunk(items: Iterable[int], subrecords: list[tuple[str, ...]], names: Sequence[str]) -> Chunk:
    """Return a chunk in lexicographic order: the order of the records must not be visible."""
    return Chunk(tuple(names[item] for item in sorted(items)), tuple(sorted(subrecords)))
