"""Disassociation of records that stay in files, which may be larger than memory.

A node of HORPART is split by the supports of its items alone. So nodes larger than memory are split on disk, one item
after the other: each block of a node becomes a block of the records with the item, and one of the others. A small node
goes on in memory, by the code for data in memory. Its small clusters wait for those of other nodes, in the order of the
recursion. So the clusters are those of the whole data.

Each cluster goes to a random part, and the clusters of a part are in random order. The records behind its rows go to
files of truth in another folder, which only measures read. Then the written files are checked: the guarantee holds, and
each item has the occurrences of the data.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, islice, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from decloak.anonymisers.kernels.disassociation import CoverCure, default_max_cluster, make_leaves, published_arrays
from decloak.anonymisers.kernels.horpart import divided, pooled_parts
from decloak.anonymisers.parts import CHANGED, in_store, making_folder, randomness, read_rows, write_rows
from decloak.arrays import Ints
from decloak.counting.blocks import merge_blocks, positions, scan, sets_of, some_numbers
from decloak.counting.disassociation_guarantee import check_release
from decloak.counting.itemsets import among
from decloak.data.disassociated import Disassociated
from decloak.data.formats.blocks import Block, Blocks, Part, PartedData
from decloak.data.formats.cluster_files import Truth, gather_pieces, read_arrays, write_pieces
from decloak.data.representation import counted as amount
from decloak.data.rows import CodedRows
from decloak.errors import DecloakError, quote
from decloak.parallel import gather_tasks, merge_tasks

__all__ = ["PartedClusters", "disassociate_in_parts"]

NODE = 1 << 18
"""Records of a node that one process holds in memory, as tuples."""
BATCH = 1 << 16
"""Records of the waiting clusters that one task makes, about."""
SHUFFLED = "{} in random order, in {}; each file has clusters of the whole data"


@dataclass(frozen=True, repr=False)
class PartedClusters(Disassociated):
    """A disassociated release whose clusters are in files: the catalogue of the files, and none of the clusters."""

    parts: tuple[Part, ...] = ()


class _Settings(NamedTuple):
    """The settings of all tasks: the folders of the release and of its truth, the names of the items, the bounds, the
    number of parts, the secret.
    """

    making: Path
    truth: Path
    names: Sequence[str]
    k: int
    m: int
    max_cluster: int
    cover: CoverCure | None
    parts: int
    secret: str


class _Node(NamedTuple):
    """A node of HORPART: its files with the records of each, and the supports of the items."""

    files: tuple[tuple[str, int], ...]
    supports: Ints

    @property
    def records(self) -> int:
        """The number of its records."""
        return sum(count for _, count in self.files)


class _TaskCounts(NamedTuple):
    """The result of a task: sizes of the clusters that wait, occurrences in term chunks and suppressed ones by item,
    and the numbers of clusters and of moved items.
    """

    waiting: list[int]
    terms: Ints
    cut: Ints
    clusters: int
    moved: int


def disassociate_in_parts(
    data: PartedData, k: int, m: int, max_cluster: int | None, cover: CoverCure | None, store: Path, key: str,
    secret: str,
) -> tuple[PartedClusters, dict[str, object], list[str]]:  # fmt: skip
    """Write the disassociated release of `data` for `k` and `m` as files beside `store`.

    `max_cluster` and `cover` are as in `disassociate`, `key` is the key of the release. Random choices depend on
    `secret`, which only an owner of the data knows. Return the release, its loss, and notes.
    """
    scanned = scan(data)
    records, names = int(scanned.records.sum()), sorted(scanned.supports)
    if records < k:
        message = f"{amount(records, 'record')} cannot hide among k = {k}"
        raise DecloakError(message, hint="add records or lower k")
    max_cluster = default_max_cluster(records, k) if max_cluster is None else max_cluster
    supports = np.array([scanned.supports[name] for name in names], np.int64)
    with making_folder(store, key) as making, making_folder(store, key, "truth") as truth:
        settings = _Settings(making, truth, names, k, m, max_cluster, cover, len(data.blocks), secret)
        first = np.cumsum(scanned.records) - scanned.records
        merge_blocks(_code, data.blocks, (first, settings), lambda _: None)
        files = tuple((f"0-{number}", int(count)) for number, count in enumerate(scanned.records) if count)
        made = _clustered(_Node(files, supports), settings)
        parts = _write_parts(made, settings)
        # Terms and suppressed occurrences are in no record chunk.
        hidden = np.sum([one.terms + one.cut for one in made], axis=0)
        _recount(parts, supports - hidden, records, settings)
        # Files whose names begin with a dot were for the work, and show records.
        for path in making.glob(".*"):
            path.unlink()
    cut = sum(int(one.cut.sum()) for one in made)
    loss = {"cut": cut / int(supports.sum()), "moved": sum(one.moved for one in made)} if cover else {}
    parameters = {"max_cluster": max_cluster}
    release = PartedClusters(
        (), k=k, m=m, origin=data.origin, parameters=parameters, cover=cover, parts=in_store(parts, store, key)
    )
    clusters = amount(sum(one.clusters for one in made), "cluster")
    return release, dict(loss), [SHUFFLED.format(clusters, amount(len(parts), "file"))]


def _code(blocks: Blocks, numbers: range, first: Ints, settings: _Settings) -> None:
    """Write the records of some blocks as ascending codes in the order of names, with their places among all records.

    `first` has the first place of each block.
    """
    code = {name: at for at, name in enumerate(settings.names)}
    for number in numbers:
        rows = blocks.read(number)
        sets = sets_of(rows, positions(rows.names, code))
        if (empty := np.flatnonzero(np.diff(sets.start) == 0)).size:
            path = quote(blocks.blocks[number].path, 4096)[1:-1]
            message = f"record {empty[0] + 1:,} of block {number + 1} has no items"
            raise DecloakError(message, path, "disassociation takes no empty ones: leave it out")
        places = first[number] + np.arange(len(sets))
        write_rows(settings.making, f"0-{number}", CodedRows(sets.start, sets.codes, ()), places=places)


def _read(making: Path, names: Sequence[str]) -> tuple[CodedRows[str], Ints]:
    """Return the records of the files `names`, one after the other, and their places among all records."""
    places = [np.fromfile(making / f".places-{name}", np.int32) for name in names]
    return read_rows(making, ((name, 0, 0, -1, -1) for name in names)), np.concatenate([np.zeros(0, np.int64), *places])


def _split(
    at: int, file: str, item: int, into: tuple[str, str], making: Path, items: int
) -> tuple[int, int, Ints]:  # fmt: skip
    """Write the records of `file` with `item` to the first of two files, and those without to the second.

    Return `at`, the number of the records with the item, and the supports of so many `items` among them.
    """
    rows, places = _read(making, [file])
    has = np.logical_or.reduceat(rows.codes == item, rows.start[:-1])
    for name, chosen in zip(into, (has, ~has), strict=True):
        lengths = rows.lengths[chosen]
        codes = rows.codes[np.repeat(chosen, rows.lengths)]
        start = np.concatenate(([0], np.cumsum(lengths)))
        write_rows(making, name, CodedRows(start, codes, ()), places=places[chosen])
    return at, int(has.sum()), np.bincount(rows.codes[np.repeat(has, rows.lengths)], minlength=items)


def _small_nodes(root: _Node, settings: _Settings) -> Iterator[_Node]:
    """Yield the nodes that fit into memory, in the order of the recursion."""
    stack, number = [root], 0
    while stack:
        node = stack.pop()
        # An item of all records separates none of them.
        separating = np.where(node.supports < node.records, node.supports, 0)
        item = int(separating.argmax())
        if node.records <= max(NODE, settings.max_cluster) or separating[item] == 0:
            # All nodes are listed before the tasks start, and their supports would fill memory.
            yield node._replace(supports=np.zeros(0, np.int64))
        else:
            number += 1
            stack += _halves(node, item, number, settings)


def _halves(node: _Node, item: int, number: int, settings: _Settings) -> list[_Node]:
    """Split `node` by `item` on disk, for the time of this `number`: the records without it, and those with it."""
    into = [(f"{number}-{at}-with", f"{number}-{at}-without") for at in range(len(node.files))]
    held, supports = [0] * len(node.files), np.zeros_like(node.supports)

    def merge(result: tuple[int, int, Ints]) -> None:
        held[result[0]] = result[1]
        np.add(supports, result[2], out=supports)

    of_all = (settings.making, len(settings.names))
    merge_tasks(_split, [(at, file, item, into[at], *of_all) for at, (file, _) in enumerate(node.files)], merge)
    # Each level would otherwise leave a copy of the records on disk.
    for file, _ in node.files:
        for kind in ("codes", "lengths", "places"):
            (settings.making / f".{kind}-{file}").unlink()
    split = [(*names, count, taken) for names, (_, count), taken in zip(into, node.files, held, strict=True)]
    without = tuple((name, count - taken) for _, name, count, taken in split if count > taken)
    having = tuple((name, taken) for name, _, _, taken in split if taken)
    # The last one is taken first: the recursion begins with the records that have the item.
    return [_Node(without, node.supports - supports), _Node(having, supports)]


def _clustered(root: _Node, settings: _Settings) -> list[_TaskCounts]:
    """Write the clusters of all nodes in pieces, and return what the tasks made."""
    nodes = list(_small_nodes(root, settings))
    tasks = [(number, [name for name, _ in node.files], settings) for number, node in enumerate(nodes)]
    made = gather_tasks(_cluster_node, tasks)
    # The clusters that wait are joined in the order of all nodes; each node has held back its last large one as well.
    ends = list(accumulate((size for one in made for size in one.waiting), initial=0))
    pooled = pooled_parts((list(range(*pair)) for pair in pairwise(ends)), settings.k)
    first = np.cumsum([0, *(sum(one.waiting) for one in made)])
    batches: list[tuple[object, ...]] = []
    begin, number = 0, len(nodes)
    while begin < len(pooled):
        end, count = begin, 0
        while end < len(pooled) and count < BATCH:
            count += len(pooled[end])
            end += 1
        where = np.concatenate([np.array(ids) for ids in pooled[begin:end]])
        sizes = [len(ids) for ids in pooled[begin:end]]
        low, high = np.searchsorted(first, (where.min(), where.max()), "right") - 1
        files = [f"waiting-{node}" for node in range(low, high + 1)]
        batches.append((number, files, where - first[low], sizes, settings))
        begin, number = end, number + 1
    return made + gather_tasks(_cluster_waiting, batches)


def _cluster_node(number: int, files: Sequence[str], settings: _Settings) -> _TaskCounts:
    """Write the clusters of a node; small ones, and the last large one, wait."""
    rows, origin = _read(settings.making, files)
    order, ends = divided(rows.start, rows.codes, len(settings.names), settings.max_cluster)
    rows, origin = rows.select(order), origin[order]
    clusters = [range(*pair) for pair in pairwise([0, *ends.tolist()])]
    last = max((at for at, ids in enumerate(clusters) if len(ids) >= settings.k), default=-1)
    waits = [at == last or len(ids) < settings.k for at, ids in enumerate(clusters)]
    waiting = [ids for ids, wait in zip(clusters, waits, strict=True) if wait]
    places = np.array([place for ids in waiting for place in ids], np.int64)
    write_rows(settings.making, f"waiting-{number}", rows.select(places), places=origin[places])
    ready = [ids for ids, wait in zip(clusters, waits, strict=True) if not wait]
    return _write_clusters(number, rows, origin, ready, [len(ids) for ids in waiting], settings)


def _tuples(rows: CodedRows[str]) -> list[tuple[int, ...]]:
    """Return the codes of each record. Equal codes are one object, for very many take memory."""
    codes = np.arange(int(rows.codes.max(initial=0)) + 1).astype(object)[rows.codes].tolist()
    return [tuple(codes[begin:end]) for begin, end in pairwise(rows.start.tolist())]


def _cluster_waiting(
    number: int, files: Sequence[str], where: Ints, sizes: Sequence[int], settings: _Settings
) -> _TaskCounts:  # fmt: skip
    """Write clusters of so many records each, which are at the places `where` of some files."""
    rows, origin = _read(settings.making, files)
    clusters = [range(*pair) for pair in pairwise(accumulate(sizes, initial=0))]
    return _write_clusters(number, rows.select(where), origin[where], clusters, [], settings)


def _write_clusters(
    number: int, rows: CodedRows[str], origin: Ints, clusters: Sequence[Sequence[int]], waiting: list[int],
    settings: _Settings,
) -> _TaskCounts:  # fmt: skip
    """Write the published form of `clusters` of `rows`, whose places are `origin`, as the piece `number`."""
    names, k, m = settings.names, settings.k, settings.m
    leaves, cut, moved = make_leaves(_tuples(rows), clusters, k, m, settings.cover, names)
    code = {name: at for at, name in enumerate(names)}
    part = randomness(settings.secret, 2, number).integers(settings.parts, size=len(clusters))
    suppressed = np.sort(np.array([row * len(names) + code[name] for row, name in cut], np.int64))
    kept = ~among(rows.row_of_code * len(names) + rows.codes, suppressed)
    start = np.concatenate(([0], np.cumsum(kept)))[rows.start]
    anchors = [leaf.chunks[0] if leaf.chunks else [] for leaf in leaves]
    # An empty end, because all clusters may wait, and nothing cannot be joined.
    ids = np.concatenate([np.array(places, np.int64) for places in (*clusters, ())])
    held = CodedRows(start, rows.codes[kept], names).select(ids)
    truth = _truth(held, list(map(len, clusters)), anchors, origin[ids])
    write_pieces(settings.making / f".piece-{number}", published_arrays(leaves, held), truth, part, settings.parts)
    terms, gone = np.zeros(len(names), np.int64), np.zeros(len(names), np.int64)
    for leaf in leaves:
        for item in leaf.terms:
            terms[item] += leaf.item_rows[item].bit_count()
    for _, name in cut:
        gone[code[name]] += 1
    return _TaskCounts(waiting, terms, gone, len(clusters), moved)


def _truth(held: CodedRows[str], sizes: Sequence[int], anchors: Sequence[Sequence[int]], places: Ints) -> Truth:
    """Return the records behind the published rows of clusters with these `sizes`.

    `held` are the records of the clusters, and `places` theirs. `anchors` has the codes in the first record chunk of
    each cluster. Published rows are in the order of their anchors, empty ones last, and equal ones in the order of the
    places.
    """
    cluster, items = np.repeat(np.arange(len(sizes)), sizes), len(held.names)
    keys = [at * items + np.sort(np.array(codes, np.int64)) for at, codes in enumerate(anchors)]
    shown = among(cluster[held.row_of_code] * items + held.codes, np.concatenate([places[:0], *keys]))
    row = held.row_of_code[shown]
    lengths = np.bincount(row, minlength=len(held))
    anchor = np.full((int(lengths.max(initial=0)), len(held)), -1, np.int32)
    anchor[np.arange(len(row)) - (np.cumsum(lengths) - lengths)[row], row] = held.codes[shown]
    order = np.lexsort((places, *anchor[::-1], lengths == 0, cluster))
    return Truth(places[order], held.select(order))


def _write_parts(made: Sequence[_TaskCounts], settings: _Settings) -> list[Part]:
    """Write the files of the release, and return those that have clusters."""
    pieces = [settings.making / f".piece-{number}" for number in range(len(made))]
    tasks = [(part,) for part in range(settings.parts)]
    parts = gather_tasks(partial(_gather, pieces=pieces, settings=settings), tasks)
    return [part for part in parts if part is not None]


def _gather(part: int, pieces: Sequence[Path], settings: _Settings) -> Part | None:
    path = settings.making / f"part-{part:05}.parquet"
    random = randomness(settings.secret, 3, part)
    records, elements = gather_pieces(pieces, part, settings.names, random, path, settings.truth / path.name)
    return Part.of(path, settings.making, 1, records, elements) if records else None


def _recount(parts: Sequence[Part], expected: Ints, records: int, settings: _Settings) -> None:
    """Raise an error unless the written files meet the guarantee, and have all `records`.

    Record chunks must also have the `expected` occurrences of each item.
    """
    shown, total = np.zeros(len(expected), np.int64), [0]

    def merge(result: tuple[int, Ints]) -> None:
        total[0] += result[0]
        np.add(shown, result[1], out=shown)

    merge_tasks(_check, [(part.path, settings) for part in parts], merge)
    wrong = int((shown != expected).sum())
    if wrong or total[0] != records:
        message = f"{wrong:,} counts that are not those of the data"
        message = f"the written files have {total[0]:,} of {records:,} records, and {message}"
        raise DecloakError(message, hint=CHANGED)


def _check(path: str, settings: _Settings) -> tuple[int, Ints]:
    """Return the records of a written file, and the occurrences of items that it shows of records."""
    some, shown = read_arrays(Block(str(settings.making / path), 0)), np.zeros(len(settings.names), np.int64)
    for numbers in some_numbers(some.sizes):
        release = Disassociated(tuple(some.select(numbers).clusters()))
        for fault in islice(check_release(release, k=settings.k, m=settings.m), 1):
            raise AssertionError(f"disassociation broke its own guarantee: {fault.message}")
    code = {name: at for at, name in enumerate(settings.names)}
    of_name = np.bincount(some.held, minlength=len(some.names))
    shown[[code[name] for name in some.names]] = of_name
    return int(some.sizes.sum()), shown
