"""A k^m-anonymous cut for m = 2 of records that stay in files, which may be larger than memory.

One pass counts the records with each pair of nodes of the hierarchy: enough for every cut and every k. The cut is
searched here. A second pass recodes each block and draws a part for each record, so that no record stays with its
block. A third gathers each part in a new order, and writes it as a file. Then the written files are counted: each pair
must have the count of the table.

A task reads blocks by their numbers. It gets and returns small arrays. Its results are the same in any process.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decloak.anonymisers.kernels.building import ordered_names
from decloak.anonymisers.kernels.fast_cut import cut_by_pairs
from decloak.anonymisers.kernels.raised_cut import ncp
from decloak.arrays import Ints, PairTable
from decloak.checks import check_enough
from decloak.counting.blocks import (
    COUNTABLE,
    Sets,
    add_pairs,
    count_pairs,
    merge_blocks,
    merge_pairs,
    not_countable,
    pair_table,
    positions,
    scan,
    sets_of,
)
from decloak.counting.signatures import Signatures, mixed, signature_sums
from decloak.data.exact_ratio import ExactRatio
from decloak.data.formats.blocks import Blocks, Part, PartedData, parts_folder, write_part
from decloak.data.hierarchy import Hierarchy
from decloak.data.published import Published
from decloak.data.repeats import KINDS, REPEATS_REMEDY, WARNING, WRITTEN
from decloak.data.representation import counted as amount
from decloak.data.rows import CodedRows
from decloak.errors import DecloakError, quote
from decloak.parallel import gather_tasks

__all__ = [
    "CHANGED",
    "Counted",
    "NodeCoding",
    "PartedRelease",
    "catalogue",
    "cut_in_parts",
    "hierarchy_by",
    "in_store",
    "making_folder",
    "randomness",
    "read_counts",
    "read_rows",
    "write_rows",
]

CHANGED = "the file changed during the run, or the disk is faulty: run it again"
"""The remedy where the written files are not what the data give."""
SHUFFLED = "the records are in random order, in {}; each file has records of the whole data"


@dataclass(frozen=True, repr=False)
class PartedRelease(Published):
    """A release whose records are in files: the catalogue of the files, and none of the records."""

    parts: tuple[Part, ...] = ()

    @property
    def generalised(self) -> tuple[tuple[str, ...], ...]:
        """Every generalised item."""
        return tuple(self.names)


class Counted(NamedTuple):
    """Counts of the original records: of pairs of nodes, each node and each block, and the first sums of signatures."""

    table: PairTable
    supports: Ints
    records: Ints
    elements: Ints
    sums: Signatures


class NodeCoding(NamedTuple):
    """The items in leaf order with the node of each, and the parents of nodes, as a task needs them."""

    items: Sequence[str]
    leaf: Ints
    parent: Ints

    def read(self, blocks: Blocks, number: int) -> Sets:
        """Return the records of the block `number` of `blocks` as ascending leaf positions."""
        rows = blocks.read(number)
        codes = positions(rows.names, {item: at for at, item in enumerate(self.items)})
        strange = np.bincount(rows.codes, minlength=len(codes))[codes < 0] if len(codes) else codes
        if strange.any():
            name = next(name for name, code in zip(rows.names, codes.tolist(), strict=True) if code < 0)
            path = blocks.blocks[number].path
            raise DecloakError(f"{quote(name)} is not in the hierarchy", quote(path, 4096)[1:-1], "add it as a leaf")
        return sets_of(rows, codes)


def catalogue(data: PartedData, store: Path) -> tuple[list[Part], list[str]]:
    """Return the files of `data` as the catalogue of `store` lists them, and the items, the most frequent first."""
    scanned, of_file = scan(data), np.array([data.blocks.files.index(block.path) for block in data.blocks.blocks])
    parts = []
    for number, file in enumerate(data.blocks.files):
        here = of_file == number
        sizes = (int(here.sum()), int(scanned.records[here].sum()), int(scanned.elements[here].sum()))
        parts.append(Part.of(Path(file), store.resolve().parent, *sizes))
    return parts, sorted(scanned.supports, key=lambda name: (-scanned.supports[name], name))


def hierarchy_by(data: PartedData, by: str, fanout: int, seed: int) -> Hierarchy:
    """Return the hierarchy of groups of `fanout` items of `data` in the order `by`: names,
    popularity, or random with `seed`.
    """
    items = ordered_names(scan(data).supports, by, seed)
    return Hierarchy.balanced(items, fanout, f"{by}, fanout {fanout}")


def _count(blocks: Blocks, numbers: range, coding: NodeCoding) -> tuple[range, Counted]:
    table, supports = pair_table(len(coding.parent)), np.zeros(len(coding.parent), np.int64)
    sums, sizes = np.zeros(len(coding.items), np.uint64), []
    for number in numbers:
        sets = coding.read(blocks, number)
        sizes.append((len(sets), len(sets.codes)))
        add_pairs(sets, coding.leaf, coding.parent, table, supports)
        sums += signature_sums(sets.start, sets.codes, np.zeros(len(sums), np.uint64))
    records, elements = np.array(sizes, np.int64).T
    return numbers, Counted(table, supports, records, elements, sums)


def _counted(blocks: Blocks, coding: NodeCoding) -> Counted:
    nodes = len(coding.parent)
    counted = Counted(
        pair_table(nodes),
        np.zeros(nodes, np.int64),
        np.zeros(len(blocks), np.int64),
        np.zeros(len(blocks), np.int64),
        np.zeros((2, len(coding.items)), np.uint64),
    )

    def merge(result: tuple[range, Counted]) -> None:
        numbers, found = result
        counted.records[numbers], counted.elements[numbers] = found.records, found.elements
        merge_pairs(counted.table, found.table)
        np.add(counted.supports, found.supports, out=counted.supports)
        np.add(counted.sums[0], found.sums, out=counted.sums[0])

    merge_blocks(_count, blocks, (coding,), merge)
    return counted


def _counts_file(store: Path, original: str, tree: Hierarchy) -> Path:
    """Return the file with the counts of the data with the key `original`: beside the store, and as confidential."""
    nodes = hashlib.sha256("\0".join([original, *tree.labels]).encode() + tree.parent.tobytes()).hexdigest()
    return parts_folder(store) / f"counts-{nodes[:16]}.npz"


def read_counts(store: Path, original: str, tree: Hierarchy, *, pairs: bool = True) -> Counted | None:
    """Return the counts beside `store` of the data with the key `original` by the nodes of `tree`, None if there are
    none. Without `pairs` the table is empty.
    """
    path = _counts_file(store, original, tree)
    if not path.is_file():
        return None
    with np.load(path, allow_pickle=False) as held:
        if not {*Counted._fields} <= {*held.files}:
            return None
        return Counted(held["table"] if pairs else pair_table(0), *(held[name] for name in Counted._fields[1:]))


def _write_counts(counted: Counted, path: Path) -> None:
    beside = _swept(path.parent) / f".{os.getpid()}.{path.name}"
    np.savez(beside, **counted._asdict())
    beside.chmod(0o600)
    beside.replace(path)


def cut_in_parts(
    data: PartedData, tree: Hierarchy, k: int, store: Path, original: str, key: str, secret: str
) -> tuple[PartedRelease, dict[str, object], list[str]]:
    """Write the release of `data` for `k` and m = 2 by a cut of `tree`, as files beside `store`.

    `original` and `key` are the keys of the data and of the release. Random choices depend on `secret`, which only an
    owner of the data knows. Return the release, its loss, and notes.
    """
    if not_countable(len(tree.labels), k):
        message = f"the hierarchy has {len(tree.labels):,} nodes and k is {k}: {COUNTABLE}"
        raise DecloakError(message, hint="leave out rare items, or use parts: false if the records fit into memory")
    coding, counted = NodeCoding(tree.items, tree.leaf, tree.parent), read_counts(store, original, tree)
    if counted is None:
        counted = _counted(data.blocks, coding)
        _write_counts(counted, _counts_file(store, original, tree))
    check_enough(int(counted.supports[0]), k)
    cut = cut_by_pairs(tree, counted.table, counted.supports, k)
    # By name: the order of the leaves may come from the records, whose supports are hidden.
    used = sorted(cut[counted.supports[cut] > 0].tolist(), key=tree.labels.__getitem__)
    labels, place = [tree.labels[node] for node in used], np.full(len(tree.labels), -1, np.int32)
    place[used] = np.arange(len(used))
    of_leaf = place[tree.above(cut)]
    ascending = np.sort(used)
    together = counted.table[np.ix_(ascending, ascending)]
    order = np.searchsorted(ascending, used)
    together = np.maximum(together, together.T)[np.ix_(order, order)]
    with making_folder(store, key) as making:
        parts = _write(data.blocks, coding, of_leaf, labels, counted, making, secret)
        _recount(making, labels, np.triu(together), counted.supports[used], k)
        _write_counts(counted, _counts_file(store, original, tree))
    catalogue = in_store(parts, store, key)
    members = {tuple(sorted(tree.members(node))): tree.labels[node] for node in used}
    names = {members: label for members, label in members.items() if members != (label,)}
    supports = counted.supports[tree.leaf]
    release = PartedRelease(CodedRows.of(()), (), data.origin, names, parts=catalogue)
    loss: dict[str, object] = {"ncp": str(ExactRatio(ncp(tree, supports, cut)).exact)}
    copies = [] if data.blocks.options.repeats else _copies(counted.table, data.origin)
    return release, loss, [*copies, SHUFFLED.format(amount(len(parts), "file"))]


def _swept(folder: Path) -> Path:
    """Make the `folder` for files beside a store if it is missing, remove what killed processes left, and return it."""
    folder.mkdir(mode=0o700, exist_ok=True)
    _sweep(folder)
    return folder


@contextmanager
def making_folder(store: Path, key: str, kind: str = "release") -> Iterator[Path]:
    """Give a folder for files of the stage `key` beside `store`; it takes its name if no error is raised.

    Its name begins with `kind`.
    """
    folder = _swept(parts_folder(store))
    making = folder / f".making-{os.getpid()}-{kind}-{key[:16]}"
    making.mkdir(mode=0o700)
    try:
        yield making
        for path in making.iterdir():
            path.chmod(0o600)  # as the store
        final = folder / f"{kind}-{key[:16]}"
        shutil.rmtree(final, ignore_errors=True)
        making.replace(final)
    finally:
        shutil.rmtree(making, ignore_errors=True)


def in_store(parts: Sequence[Part], store: Path, key: str) -> tuple[Part, ...]:
    """Return the catalogue of the files `parts` of the release `key`, with paths from the folder of `store`."""
    folder = f"{parts_folder(store).name}/release-{key[:16]}"
    return tuple(part._replace(path=f"{folder}/{part.path}") for part in parts)


def _copies(table: PairTable, origin: str) -> list[str]:
    """Return a warning if records repeat as a whole: then a number above 1 divides the count of each pair."""
    most = np.iinfo(table.dtype).max
    rows = (np.gcd.reduce(row[(row > 0) & (row < most)]) for row in table)  # a row at a time, for the memory
    times = int(np.gcd.reduce(np.fromiter(rows, np.int64))) if np.count_nonzero(np.diagonal(table)) >= KINDS else 1
    said = f"{WARNING}{quote(origin, 200)[1:-1]}: {WRITTEN} {times} times: all counts of pairs of items are multiples"
    return [f"{said} of {times}; {REPEATS_REMEDY}"] if times > 1 else []


def _sweep(folder: Path) -> None:
    """Remove what processes have left that were killed while they wrote, where the system lists its processes."""
    processes = Path("/proc")
    for path in [*folder.glob(".making-*"), *folder.glob(".*.npz")]:
        written_by = re.match(r"\.(?:making-)?([0-9]{1,9})[-.]", path.name)
        if written_by is not None and processes.exists() and not (processes / written_by[1]).exists():
            shutil.rmtree(path, ignore_errors=True)
            with suppress(OSError):
                path.unlink(missing_ok=True)


def randomness(secret: str, *numbers: int) -> np.random.Generator:
    """Return random numbers that depend on `secret` and on `numbers`; no reader of the release can repeat them."""
    digest = hashlib.sha256(":".join([secret, *map(str, numbers)]).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest, "big"))


Segments = tuple[int, Ints, Ints]
"""A block, and where its records and labels of each part begin."""


def _scatter(
    blocks: Blocks, numbers: range, coding: NodeCoding, of_leaf: NDArray[np.int32], items: Signatures, making: Path,
    secret: str,
) -> tuple[list[Segments], Signatures]:  # fmt: skip
    """Write the labels of the records of each block, by a random part for each record."""
    segments = list[Segments]()
    sums: Signatures = np.zeros(len(items), np.uint64)
    for number in numbers:
        sets = coding.read(blocks, number)
        sums += signature_sums(sets.start, sets.codes, items)
        rows = CodedRows(sets.start, sets.codes, coding.items)
        labelled = sets_of(rows, of_leaf)
        part = randomness(secret, 0, number).integers(len(blocks), size=len(labelled))
        moved = CodedRows[str](labelled.start, labelled.codes, ()).select(np.argsort(part, kind="stable"))
        begins = np.searchsorted(np.sort(part), np.arange(len(blocks) + 1))
        write_rows(making, str(number), moved)
        segments.append((number, begins, moved.start[begins]))
    return segments, sums


def write_rows(folder: Path, name: str, rows: CodedRows[str], **further: Ints) -> None:
    """Write the codes and the lengths of `rows` to two files of `folder` that end in `name`, complete or not at all.

    Each of the `further` numbers of the rows is written to a file of its own.
    """
    for kind, array in {"codes": rows.codes, "lengths": rows.lengths, **further}.items():
        array = array.astype(np.int32)
        beside = folder / f".{kind}-{name}.{os.getpid()}"
        array.tofile(beside)
        beside.replace(folder / f".{kind}-{name}")


Piece = tuple[str, int, int, int, int]
"""The end of the names of two files of `write_rows`, the first record and the first code to read, and their numbers."""


def read_rows(folder: Path, pieces: Iterable[Piece], names: Sequence[str] = ()) -> CodedRows[str]:
    """Return the records of `pieces` of files in `folder`, one after the other; a number of -1 takes all that follow.

    `names` are those of the codes.
    """
    codes, lengths = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
    for name, record, code, records, entries in pieces:
        lengths.append(np.fromfile(folder / f".lengths-{name}", np.int32, records, offset=4 * record))
        codes.append(np.fromfile(folder / f".codes-{name}", np.int32, entries, offset=4 * code))
    start = np.concatenate(([0], np.cumsum(np.concatenate(lengths), dtype=np.int64)))
    return CodedRows(start, np.concatenate(codes), names)


def _gather(part: int, segments: Sequence[tuple[int, Ints, Ints]], labels: Sequence[str], making: Path, secret: str
            ) -> Part:  # fmt: skip
    """Write the records of a part in a random order; `segments` are the places of its records in each block."""
    pieces = (
        (str(number), int(records[0]), int(codes[0]), int(np.diff(records)[0]), int(np.diff(codes)[0]))
        for number, records, codes in segments
    )
    rows = read_rows(making, pieces, labels)
    shuffled = rows.select(randomness(secret, 1, part).permutation(len(rows)))
    path = making / f"part-{part:05}.parquet"
    write_part(path, shuffled)
    return Part.of(path, making, 1, len(rows), len(rows.codes))


def _write(
    blocks: Blocks, coding: NodeCoding, of_leaf: NDArray[np.int32], labels: Sequence[str], counted: Counted,
    making: Path, secret: str,
) -> list[Part]:  # fmt: skip
    """Write the files of the release into the folder `making`; add the second sums of signatures to `counted`."""
    segments: list[Segments] = []
    counted.sums[1] = 0

    def merge(result: tuple[list[Segments], Signatures]) -> None:
        segments.extend(result[0])
        np.add(counted.sums[1], result[1], out=counted.sums[1])

    merge_blocks(_scatter, blocks, (coding, of_leaf, mixed(counted.sums[0]), making, secret), merge)
    segments.sort(key=lambda segment: segment[0])
    tasks = [
        (part, [(number, records[part : part + 2], codes[part : part + 2]) for number, records, codes in segments])
        for part in range(len(blocks))
    ]
    parts = gather_tasks(partial(_gather, labels=labels, making=making, secret=secret), tasks)
    for path in making.glob(".*"):
        path.unlink()
    return [part for part in parts if part.records]


def _recount(making: Path, labels: Sequence[str], expected: PairTable, supports: Ints, k: int) -> None:
    """Raise an error unless the written files have the `expected` count of each pair of labels, none below `k`, and
    the `supports` of the labels. A count is compared up to the largest number that is expected of any pair.
    """
    table, of_label = count_pairs(Blocks.of(making, "parquet"), labels)
    rare = int(((table > 0) & (table < k)).sum())
    wrong = int((np.minimum(table, np.iinfo(expected.dtype).max) != expected).sum() + (of_label != supports).sum())
    if rare or wrong:
        message = f"the written files have {rare:,} rare pairs and {wrong:,} counts that are not those of the data"
        raise DecloakError(message, hint=CHANGED)
