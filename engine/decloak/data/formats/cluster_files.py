"""Clusters of a disassociated release in Parquet files, a row for each cluster, and in pieces of files to come.

The columns are the keys of a line of a release file. A piece has the clusters of one task, by the part that they go to,
with codes in place of items.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain, islice, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from decloak.arrays import Ints
from decloak.data.content import Chunk, Cluster
from decloak.data.formats.blocks import CHUNKS, Block, arrow_and_parquet
from decloak.data.formats.lines import check_name, location
from decloak.data.formats.tables_extra import import_extra
from decloak.errors import DecloakError, at_location, quote

__all__ = ["CLUSTER", "gather_pieces", "read_clusters", "write_pieces"]

SIZE, TERMS = "size", "term_chunk"
CLUSTER = (SIZE, CHUNKS, TERMS)
"""The columns of a file of clusters."""
_ITEMS, _SUBRECORDS = "items", "subrecords"
_DICTIONARY = [f"{CHUNKS}.list.element.{_ITEMS}.list.element", f"{TERMS}.list.element",
               f"{CHUNKS}.list.element.{_SUBRECORDS}.list.element.list.element"]  # fmt: skip
REMEDY = "check the files that decloak publish wrote"


class _Columns:
    """The columns of clusters, flat: the values, and how many belong to each list."""

    def __init__(self, clusters: Iterable[Cluster], code: Mapping[str, int]) -> None:
        number = code.__getitem__
        self.sizes, self.chunks = list[int](), list[int]()
        self.items, self.item_counts = list[int](), list[int]()
        self.held, self.lengths, self.subrecords = list[int](), list[int](), list[int]()
        self.terms, self.term_counts = list[int](), list[int]()
        for cluster in clusters:
            self.sizes.append(cluster.size)
            self.chunks.append(len(cluster.record_chunks))
            self.term_counts.append(len(cluster.term_chunk))
            self.terms += map(number, cluster.term_chunk)
            for chunk in cluster.record_chunks:
                self.item_counts.append(len(chunk.items))
                self.items += map(number, chunk.items)
                self.subrecords.append(len(chunk.subrecords))
                self.lengths += map(len, chunk.subrecords)
                self.held += map(number, chain.from_iterable(chunk.subrecords))


def write_pieces(path: Path, clusters: Iterable[Cluster], code: Mapping[str, int], part: Ints, parts: int) -> None:
    """Write `clusters` to `path`: for each of so many `parts` the clusters that go there, as `part` says.

    `code` has the code of each item.
    """
    arrow, _ = arrow_and_parquet()
    import_extra("pyarrow.ipc", "Parquet")
    columns = _Columns(clusters, code)

    def lists(counts: Sequence[int], values: object) -> object:
        return arrow.ListArray.from_arrays(np.concatenate(([0], np.cumsum(counts))).astype(np.int32), values)

    items, held, terms = (arrow.array(one, arrow.int32()) for one in (columns.items, columns.held, columns.terms))
    chunks = arrow.StructArray.from_arrays(
        [lists(columns.item_counts, items), lists(columns.subrecords, lists(columns.lengths, held))],
        [_ITEMS, _SUBRECORDS],
    )
    table = arrow.table({
        SIZE: arrow.array(columns.sizes, arrow.int32()),
        CHUNKS: lists(columns.chunks, chunks),
        TERMS: lists(columns.term_counts, terms),
    })  # fmt: skip
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    with arrow.OSFile(os.fspath(beside), "wb") as file, arrow.ipc.new_file(file, table.schema) as writer:
        for number in range(parts):
            # A batch for every part, an empty one too: parts are found by their number.
            chosen = table.take(arrow.array(np.flatnonzero(part == number))).combine_chunks()
            batches = chosen.to_batches()
            writer.write_batch(batches[0] if batches else arrow.RecordBatch.from_pylist([], table.schema))
    beside.replace(path)


def gather_pieces(
    pieces: Sequence[Path], part: int, names: Sequence[str], random: "np.random.Generator", path: Path
) -> tuple[int, int]:
    """Write the clusters of `pieces` that go to the number `part` to `path`, in a `random` order, with item `names`.

    Return how many records these clusters have, and how many items they show of records and as terms.
    """
    arrow, parquet = arrow_and_parquet()
    import_extra("pyarrow.ipc", "Parquet")
    batches = []
    for piece in pieces:
        with arrow.memory_map(os.fspath(piece)) as file:
            batches.append(arrow.ipc.open_file(file).get_batch(part))
    table = arrow.Table.from_batches(batches)
    table = table.take(arrow.array(random.permutation(len(table)))).combine_chunks()
    # A part without clusters has no file.
    if not len(table):
        return 0, 0
    chunks, terms = table[CHUNKS].chunk(0), table[TERMS].chunk(0)
    items, subrecords = (chunks.values.field(name) for name in (_ITEMS, _SUBRECORDS))
    codes = [values.to_numpy() for values in (items.values, subrecords.values.values, terms.values)]
    used = np.zeros(len(names), np.bool_)
    for some in codes:
        used[some] = True
    # An item that is in none of the clusters may be suppressed, so its name stays out of the file.
    place, shown = (
        np.cumsum(used, dtype=np.int32) - np.int32(1),
        [names[code] for code in np.flatnonzero(used).tolist()],
    )

    def named(lists: object, some: NDArray[np.int32]) -> object:
        values = arrow.DictionaryArray.from_arrays(place[some], arrow.array(shown, arrow.string()))
        return arrow.ListArray.from_arrays(getattr(lists, "offsets"), values)  # noqa: B009 (pyarrow has no types)

    inner = arrow.ListArray.from_arrays(subrecords.offsets, named(subrecords.values, codes[1]))
    both = arrow.StructArray.from_arrays([named(items, codes[0]), inner], [_ITEMS, _SUBRECORDS])
    columns = {
        SIZE: table[SIZE], CHUNKS: arrow.ListArray.from_arrays(chunks.offsets, both), TERMS: named(terms, codes[2]),
    }  # fmt: skip
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    parquet.write_table(arrow.table(columns), beside, compression="zstd", row_group_size=len(table))
    beside.replace(path)
    return int(table[SIZE].to_numpy().sum()), len(codes[1]) + len(codes[2])


def read_clusters(block: Block) -> Iterator[Cluster]:
    """Yield the clusters of the row group that `block` names."""
    arrow, parquet = arrow_and_parquet()
    with at_location(location(block.path)):
        try:
            with closing(parquet.ParquetFile(block.path, memory_map=False, read_dictionary=_DICTIONARY)) as file:
                table = file.read_row_group(block.place, columns=list(CLUSTER), use_threads=False)
            # The chunks of a column may number their names differently.
            table = table.unify_dictionaries().combine_chunks()
            sizes, chunks, terms = (table[name].chunk(0) for name in CLUSTER)
            items, subrecords = (chunks.values.field(name) for name in (_ITEMS, _SUBRECORDS))
            arrays = (sizes, chunks, terms, items, subrecords, subrecords.values)
            leaves = [lists.values for lists in (items, subrecords.values, terms)]
            if any(array.null_count for array in (*arrays, *leaves, chunks.values)):
                raise DecloakError("a cluster has a missing value", hint=REMEDY)
            ends = [iter(pairwise(lists.offsets.to_pylist())) for lists in (chunks, items, subrecords, terms)]
            starts = subrecords.values.offsets.to_pylist()
            names = [_names(values) for values in leaves]
        except (arrow.lib.ArrowException, OSError, ValueError, AttributeError, KeyError, IndexError) as error:
            raise DecloakError(f"no clusters in Parquet: {quote(error)}", hint=REMEDY) from None
    of_chunk, of_items, of_subrecords, of_terms = ends
    for size, (first, last), (term, end) in zip(sizes.to_pylist(), of_chunk, of_terms, strict=True):
        made = []
        for (begin, stop), (low, high) in islice(zip(of_items, of_subrecords, strict=True), last - first):
            held = names[1][starts[low] : starts[high]]
            cuts = [start - starts[low] for start in starts[low : high + 1]]
            made.append(Chunk(tuple(names[0][begin:stop]), tuple(tuple(held[a:b]) for a, b in pairwise(cuts))))
        yield Cluster(size, tuple(made), tuple(names[2][term:end]))


def _names(values: object) -> list[str]:
    """Return the checked names of a column, as Python strings that are shared."""
    dictionary, indices = getattr(values, "dictionary"), getattr(values, "indices")  # noqa: B009
    known = np.array([check_name(name) for name in dictionary.to_pylist()] or [""], object)
    return known[indices.to_numpy()].tolist()  # type: ignore[no-any-return]
