"""Counts over one block of records: pairs of nodes of a hierarchy, and queries about a few codes.

Compiled loops count where numba is installed. Elsewhere products of matrices give the same numbers. Clusters in files
are checked some at a time.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decloak.arrays import Ints, Mask, PairTable
from decloak.checks import check_km
from decloak.compiled import try_import
from decloak.counting.guarantees import Disassociation, FirstViolations, Row
from decloak.data.disassociated import Disassociated
from decloak.data.formats.blocks import Block, Blocks, PartedData
from decloak.data.formats.cluster_files import read_arrays
from decloak.data.rows import CodedRows, narrow
from decloak.errors import DecloakError
from decloak.lazy import sparse
from decloak.parallel import Result, merge_tasks, workers

TASKS = 20
"""Tasks of a pass, about. A worker has several, so that a slow one delays little."""

NODES = 8_192
"""Items, or nodes of a hierarchy, up to which a table of pairs has 4 bytes for each pair, in each process."""
WIDE = 32_768
"""Largest number of items or nodes. Above `NODES`, a table has one byte for each pair: it counts up to 255 only."""
PIECE = 1 << 12
"""Queries that matrices answer together."""
BATCH = 1 << 16
"""Records of the clusters that are checked together."""


class Sets(NamedTuple):
    """Records as ascending codes: those of a record are `codes[start[record]:start[record + 1]]`."""

    start: Ints
    codes: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.start) - 1

    def matrix(self, columns: int) -> "sparse.csr_array":
        """Return a matrix of records × `columns`, 1 where a record has the code."""
        ones = np.ones(len(self.codes), np.int32)
        return sparse.csr_array((ones, self.codes, narrow(self.start)), (len(self), columns))


class Scanned(NamedTuple):
    """The items of all blocks with the number of records that have each, and the sizes of each block."""

    supports: dict[str, int]
    records: Ints
    elements: Ints


def split_blocks(count: int) -> list[range]:
    """Return the numbers of `count` blocks in runs, one for each task."""
    most = max(1, count // max(TASKS, 4 * workers()))
    return [range(first, min(first + most, count)) for first in range(0, count, most)]


def merge_blocks(
    function: Callable[..., Result], blocks: Blocks, settings: tuple[object, ...], merge: Callable[[Result], object]
) -> None:
    """Call `merge` once for each result of `function`, which gets `blocks`, numbers of some of them, and `settings`."""
    merge_tasks(function, [(blocks, numbers, *settings) for numbers in split_blocks(len(blocks))], merge)


def scan(data: PartedData) -> Scanned:
    """Return the items and sizes of `data`, read once."""
    if data.scanned is None:
        blocks, sizes = data.blocks, np.zeros((2, len(data.blocks)), np.int64)
        scanned = Scanned({}, *sizes)

        def merge(found: tuple[range, dict[str, int], Ints]) -> None:
            numbers, supports, sizes[:, numbers] = found
            for name, count in supports.items():
                scanned.supports[name] = scanned.supports.get(name, 0) + count

        merge_blocks(_scan, blocks, (), merge)
        # Past `__setattr__`, because the dataclass is frozen.
        data.__dict__["scanned"] = scanned
    assert isinstance(data.scanned, Scanned)
    return data.scanned


def _scan(blocks: Blocks, numbers: range) -> tuple[range, dict[str, int], Ints]:
    supports, sizes = dict[str, int](), []
    for number in numbers:
        rows = blocks.read(number)
        sets = sets_of(rows, np.arange(len(rows.names), dtype=np.int32))
        sizes.append((len(sets), len(sets.codes)))
        counts = np.bincount(sets.codes, minlength=len(rows.names)).tolist()
        for name, count in zip(rows.names, counts, strict=True):
            if count:
                supports[name] = supports.get(name, 0) + count
    return numbers, supports, np.array(sizes, np.int64).T


@try_import
def _loops() -> ModuleType:
    """Return the compiled loops."""
    from decloak.counting import block_loops

    return block_loops


def positions(names: Sequence[str], number: Mapping[str, int]) -> NDArray[np.int32]:
    """Return the `number` of each of `names`, -1 for an unknown one."""
    return np.array([number.get(name, -1) for name in names], np.int32)


def sets_of(rows: CodedRows[object], codes: NDArray[np.int32]) -> Sets:
    """Return `rows` as sets of `codes`, which has the new code of each name."""
    if (loops := _loops()) is not None:
        return Sets(*loops.ascending_sets(rows.start, rows.codes, codes))
    held = codes[rows.codes]
    ordered, first = held[np.lexsort((held, rows.row_of_code))], np.zeros(len(held), np.bool_)
    first[rows.start[:-1][rows.lengths > 0]] = True
    first[1:] |= ordered[1:] != ordered[:-1]
    return Sets(np.concatenate(([0], np.cumsum(first)))[rows.start], ordered[first])


def pair_table(nodes: int) -> PairTable:
    """Return a table of zeros for pairs of `nodes`, whose numbers go up to the largest of its type."""
    shape = (nodes, nodes)
    return np.zeros(shape, np.int32) if nodes <= NODES else np.zeros(shape, np.uint8)


def merge_pairs(table: PairTable, counts: PairTable) -> None:
    """Add `counts` to `table`, up to the largest number of its type."""
    most = np.iinfo(table.dtype).max
    # Row by row: the whole would need two more tables of this size.
    for row, more in zip(table, counts, strict=True):
        row += np.minimum(more, most - row)


def add_pairs(sets: Sets, leaf: Ints, parent: Ints, table: PairTable, supports: Ints) -> None:
    """Add to `table` the number of `sets` with each pair of nodes a <= b, up to the largest number of its type.

    `supports` gets that of each node. `leaf` has the node of each code. A set also has the nodes above, as `parent`
    says, which has -1 for a root.
    """
    if (loops := _loops()) is not None:
        loops.add_coded_pairs(sets.start, sets.codes, leaf, parent, table, supports)
        return
    code, node = [np.arange(len(leaf))], [leaf]
    while (there := parent[node[-1]] >= 0).any():
        code.append(code[-1][there])
        node.append(parent[node[-1]][there])
    at = (np.concatenate(code), np.concatenate(node))
    above = sparse.csr_array((np.ones(len(at[0]), np.int32), at), (len(leaf), len(parent)))
    held = sets.matrix(len(leaf)) @ above
    # Several items of a set below a node are one occurrence of it.
    held.data[:] = 1
    supports += held.sum(axis=0)
    pairs = sparse.triu(held.T @ held).tocoo()
    # A byte would overflow before it is compared with its largest number.
    most = np.iinfo(table.dtype).max
    table[pairs.row, pairs.col] = np.minimum(table[pairs.row, pairs.col].astype(np.int64) + pairs.data, most)


def rare_in_parts(data: PartedData, k: int, m: int, most: int) -> FirstViolations:
    """Return the first `most` sets of up to `m` items, 1 or 2, in 1 to `k` - 1 records of `data`, in the order of
    `RareSets`.
    """
    check_km(k, m)
    names = sorted(scan(data).supports)
    if not names:
        raise DecloakError("no record has any item: nothing to check", data.origin, "see `decloak look` what it holds")
    if m > 2 or not_countable(len(names), k):
        message = f"sets of {m} items" if m > 2 else f"{len(names):,} items with k = {k}: {COUNTABLE}"
        raise DecloakError(f"records in parts are not checked for {message}", hint="check the records without parts")
    table, supports = count_pairs(data.blocks, names)
    alone = np.flatnonzero((supports > 0) & (supports < k))
    pairs = _rare_pairs(table if m == 2 else table[:0], k)
    minimal = (supports[pairs] >= k).all(axis=1)
    # The diagonal of the table has the support of each item.
    sets = [(code, code) for code in alone.tolist()[:most]]
    sets += [tuple(pair) for part in (pairs[minimal], pairs[~minimal]) for pair in part[:most].tolist()]
    rows: list[tuple[object, ...]] = [
        (tuple(names[code] for code in dict.fromkeys(pair)), int(table[pair])) for pair in sets[:most]
    ]
    return FirstViolations(rows, lambda: len(alone) + len(pairs))


def _rare_pairs(table: PairTable, k: int) -> Ints:
    """Return the pairs a < b of `table` in 1 to `k` - 1 records, ascending. A row at a time takes little memory."""
    rare = [
        row + 1 + np.flatnonzero((cells[row + 1 :] > 0) & (cells[row + 1 :] < k)) for row, cells in enumerate(table)
    ]
    first = np.repeat(np.arange(len(rare)), [len(second) for second in rare])
    return np.column_stack((first, np.concatenate([first[:0], *rare])))


COUNTABLE = f"parts can have {NODES:,}, and up to {WIDE:,} with k up to 255"


def not_countable(nodes: int, k: int) -> bool:
    """Return True if no table of pairs of `nodes` shows which pairs are in `k` records."""
    return nodes > WIDE or (nodes > NODES and k > np.iinfo(np.uint8).max)


def count_pairs(blocks: Blocks, names: Sequence[str]) -> tuple[PairTable, Ints]:
    """Return the number of records of `blocks` with each pair of `names`, a <= b, and with each name."""
    table, supports = pair_table(len(names)), np.zeros(len(names), np.int64)

    def merge(counts: tuple[PairTable, Ints]) -> None:
        merge_pairs(table, counts[0])
        np.add(supports, counts[1], out=supports)

    merge_blocks(_count_pairs, blocks, (names,), merge)
    return table, supports


def _count_pairs(blocks: Blocks, numbers: range, names: Sequence[str]) -> tuple[PairTable, Ints]:
    table, supports, index = pair_table(len(names)), np.zeros(len(names), np.int64), np.arange(len(names))
    place = {name: at for at, name in enumerate(names)}
    for number in numbers:
        rows = blocks.read(number)
        sets = sets_of(rows, positions(rows.names, place))
        add_pairs(sets, index, np.full(len(names), -1), table, supports)
    return table, supports


class Queries:
    """Queries about `codes` codes. Each needs a number of records, and is settled by the first of them.

    A query is a row of `sets`: three codes, the rarest first. A record answers it if it has the first two, and has the
    third, or lacks it where `lacks` is true. `left` has the number of records that are still needed.
    """

    def __init__(self, sets: Ints, lacks: Mask, left: Ints, codes: int) -> None:
        self.sets, self.lacks, self.left, self.codes = sets, lacks, left, codes
        open_ones = np.flatnonzero(left > 0)
        # Queries with the same first code are a chain: a record looks at those of its codes alone.
        order = open_ones[np.argsort(sets[open_ones, 0], kind="stable")]
        self._following = np.full(len(sets), -1, np.int64)
        same = sets[order[1:], 0] == sets[order[:-1], 0]
        self._following[order[:-1][same]] = order[1:][same]
        self._head = np.full(codes, -1, np.int64)
        begins = np.concatenate(([True], ~same)) if len(order) else np.zeros(0, np.bool_)
        self._head[sets[order[begins], 0]] = order[begins]
        self._seen, self._records = np.full(codes, -1, np.int64), 0

    def search(self, block: Sets) -> None:
        """Search the records of `block`."""
        if (loops := _loops()) is not None:
            arrays = (self.sets, self.lacks, self.left, self._head, self._following, self._seen)
            loops.search(block.start, block.codes, *arrays, self._records)
            # Record numbers go on over all blocks, so that marks of earlier records need no reset.
            self._records += len(block)
            return
        held = block.matrix(self.codes).tocsc()
        going = np.flatnonzero(self.left > 0)
        for first in range(0, len(going), PIECE):
            some = going[first : first + PIECE]
            one, two, third = (held[:, column] for column in self.sets[some].T)
            both = one.multiply(two)
            has = np.asarray(both.multiply(third).sum(axis=0)).ravel()
            count = np.where(self.lacks[some], np.asarray(both.sum(axis=0)).ravel() - has, has)
            self.left[some] = np.maximum(self.left[some] - count, 0)


def some_clusters(block: Block) -> Iterator[Disassociated]:
    """Yield the clusters of `block`, some at a time."""
    whole = read_arrays(block, strict=False)
    for numbers in some_numbers(whole.sizes):
        yield Disassociated(tuple(whole.select(numbers).clusters()))


def some_numbers(sizes: Ints) -> Iterator[Ints]:
    """Yield the numbers of clusters with these `sizes`, some at a time."""
    # A file that others wrote may have any sizes.
    ends, first = np.cumsum(np.maximum(sizes, 0)), 0
    while first < len(sizes):
        last = int(np.searchsorted(ends, (ends[first - 1] if first else 0) + BATCH))
        yield np.arange(first, min(last + 1, len(sizes)))
        first = last + 1


def faults_in_parts(blocks: Blocks, origin: str, k: int, m: int, most: int) -> FirstViolations:
    """Return the first `most` violations of `k` and `m` by the clusters of `blocks`, which are named `origin`.

    Clusters are counted by file.
    """
    check_km(k, m)
    rows, count, first = list[Row](), 0, dict[str, int]()
    for block in blocks.blocks:
        for release in some_clusters(block):
            before = first.get(block.path, 0)
            found = list(Disassociation(k, m).violations(release))
            count += len(found)
            where = f"{Path(block.path).name}, from cluster {before} on"
            for kind, cluster, *others, message in found[: most - len(rows)]:
                assert isinstance(cluster, int)
                rows.append((kind, before + cluster, *others, f"{where}: {message}"))
            first[block.path] = before + len(release.clusters)
    if not first:
        raise DecloakError("a release without clusters", origin, "disassociate some records first")
    return FirstViolations(rows, lambda: count)
