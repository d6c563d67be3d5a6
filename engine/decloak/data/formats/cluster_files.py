"""Clusters of a disassociated release in Parquet files, a row for each cluster, and in pieces of files to come.

The columns are the keys of a line of a release file. A piece has the clusters of one task, by the part that they go to,
with codes in place of items. A file of truth has a row for each cluster of a file: the records behind its rows, in
their order, and the place of each record among the original ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from decloak.arrays import Ints
from decloak.data.assignment import AssignmentArrays, RowLists
from decloak.data.content import Chunk, Cluster
from decloak.data.formats.blocks import CHUNKS, Block, arrow_and_parquet, write_table
from decloak.data.formats.lines import FilePath, check_name, location
from decloak.data.formats.tables_extra import import_extra
from decloak.data.rows import CodedRows
from decloak.errors import DecloakError, at_location, quote

SIZE, TERMS = "size", "term_chunk"
CLUSTER = (SIZE, CHUNKS, TERMS)
"""The columns of a file of clusters."""
PLACES, RECORDS = "places", "records"
"""The columns of a file of truth."""
_ITEMS, _SUBRECORDS = "items", "subrecords"
_DICTIONARY = [f"{CHUNKS}.list.element.{_ITEMS}.list.element", f"{TERMS}.list.element",
               f"{CHUNKS}.list.element.{_SUBRECORDS}.list.element.list.element"]  # fmt: skip
_HELD = [f"{RECORDS}.list.element.list.element"]
REMEDY = "check the files that decloak publish wrote"


class Truth(NamedTuple):
    """The records behind the rows of clusters, cluster after cluster, and their places among the original records."""

    places: Ints
    records: CodedRows[str]


class ClusterArrays(NamedTuple):
    """The clusters of a file as arrays of codes of `names`.

    `chunks` has the first record chunk of each cluster, `subs` the first sub-record of each chunk, and `entries` the
    first of the codes `held` of each sub-record. `lists` has the first of the `items` of each chunk, and `terms` the
    first `term` of each cluster.
    """

    names: list[str]
    sizes: Ints
    chunks: Ints
    lists: Ints
    items: NDArray[np.int32]
    subs: Ints
    entries: Ints
    held: NDArray[np.int32]
    terms: Ints
    term: NDArray[np.int32]

    def select(self, numbers: Ints) -> ClusterArrays:
        """Return the clusters with these `numbers`, in that order."""
        chunks = RowLists(self.chunks, np.arange(len(self.lists) - 1)).select(numbers)
        subs = RowLists(self.subs, np.arange(len(self.entries) - 1)).select(chunks.rows)
        lists, entries = RowLists(self.lists, self.items).select(chunks.rows), RowLists(self.entries, self.held)
        entries, terms = entries.select(subs.rows), RowLists(self.terms, self.term).select(numbers)
        items, held, term = (one.rows.astype(np.int32, copy=False) for one in (lists, entries, terms))
        starts = chunks.start, lists.start, subs.start, entries.start, terms.start
        return ClusterArrays(
            self.names, self.sizes[numbers], *starts[:2], items, *starts[2:4], held, starts[4], term
        )  # fmt: skip

    def clusters(self) -> Iterator[Cluster]:
        """Yield the clusters by name."""
        names = np.array(self.names, object)
        items, held, terms = (names[codes].tolist() for codes in (self.items, self.held, self.term))
        starts, of_items, of_subs = self.entries.tolist(), pairwise(self.lists.tolist()), pairwise(self.subs.tolist())
        of_clusters = zip(
            self.sizes.tolist(), np.diff(self.chunks).tolist(), pairwise(self.terms.tolist()), strict=True
        )
        for size, count, (term, end) in of_clusters:
            made = []
            for (begin, stop), (low, high) in islice(zip(of_items, of_subs, strict=True), count):
                subrecords = tuple(tuple(held[a:b]) for a, b in pairwise(starts[low : high + 1]))
                made.append(Chunk(tuple(items[begin:stop]), subrecords))
            yield Cluster(size, tuple(made), tuple(terms[term:end]))

    def fits_assignments(self, assigned: AssignmentArrays) -> bool:
        """Say whether `assigned` names clusters, chunks, rows and items that are here: compiled loops check no bounds.

        No unit may go to more rows than there are.
        """
        of, rows = assigned.cluster, assigned.given
        if len(of) and not 0 <= of[0] <= of[-1] < len(self.sizes):
            return False
        in_order, chunks, sizes = (np.diff(of) >= 0).all(), np.diff(self.chunks)[of], self.sizes[of]
        there = (assigned.chunk >= -1) & (assigned.chunk < chunks) & (assigned.items.lengths > 0)
        there &= (assigned.chunk >= 0) | (np.diff(self.terms)[of] > 0)
        fitting = (rows.rows >= 0) & (rows.rows < np.repeat(sizes, rows.lengths))
        enough = (rows.lengths <= sizes).all()
        return bool(in_order and there.all() and fitting.all() and enough and {*assigned.names} <= {*self.names})


def write_pieces(path: Path, some: ClusterArrays, truth: Truth, part: Ints, parts: int) -> None:
    """Write clusters with codes in place of names, and their `truth`, to `path`.

    `part` has the part of each cluster, below `parts`; those of a part are together.
    """
    arrow, _ = arrow_and_parquet()
    import_extra("pyarrow.ipc", "Parquet")

    def lists(start: Ints, values: object) -> object:
        return arrow.ListArray.from_arrays(start.astype(np.int32), values)

    items, held, terms = (arrow.array(one, arrow.int32()) for one in (some.items, some.held, some.term))
    chunks = arrow.StructArray.from_arrays(
        [lists(some.lists, items), lists(some.subs, lists(some.entries, held))], [_ITEMS, _SUBRECORDS]
    )
    rows, records = np.append(0, np.cumsum(some.sizes)), truth.records
    table = arrow.table({
        SIZE: arrow.array(some.sizes.astype(np.int32)),
        CHUNKS: lists(some.chunks, chunks),
        TERMS: lists(some.terms, terms),
        PLACES: lists(rows, arrow.array(truth.places.astype(np.int32))),
        RECORDS: lists(rows, lists(records.start, arrow.array(records.codes.astype(np.int32)))),
    })  # fmt: skip
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    with arrow.OSFile(os.fspath(temporary), "wb") as file, arrow.ipc.new_file(file, table.schema) as writer:
        for number in range(parts):
            # A batch for every part, an empty one too: parts are found by their number.
            chosen = table.take(arrow.array(np.flatnonzero(part == number))).combine_chunks()
            batches = chosen.to_batches()
            writer.write_batch(batches[0] if batches else arrow.RecordBatch.from_pylist([], table.schema))
    temporary.replace(path)


def gather_pieces(
    pieces: Sequence[Path], part: int, names: Sequence[str], random: np.random.Generator, path: Path, truth: Path
) -> tuple[int, int]:
    """Write the clusters of `pieces` that go to the number `part` to `path`, in a `random` order, with item `names`.

    Write the records behind their rows to `truth`. Return the number of records, and how many items the clusters show
    of records and as terms.
    """
    arrow, _ = arrow_and_parquet()
    import_extra("pyarrow.ipc", "Parquet")
    batches = []
    for piece in pieces:
        with arrow.memory_map(os.fspath(piece)) as file:
            batches.append(arrow.ipc.open_file(file).get_batch(part))
    table = arrow.Table.from_batches(batches)
    # In the order of pieces, neighbours would show which node of the partition they are from.
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
    records = table[RECORDS].chunk(0)
    held = named(records.values, records.values.values.to_numpy())
    truth_columns = {PLACES: table[PLACES], RECORDS: arrow.ListArray.from_arrays(records.offsets, held)}
    for file, lists in ((path, columns), (truth, truth_columns)):
        write_table(arrow.table(lists), file)
    return int(table[SIZE].to_numpy().sum()), len(codes[1]) + len(codes[2])


def write_assignments(path: Path, assigned: AssignmentArrays) -> None:
    """Write the assignments to the file at `path`, completely or not at all."""
    arrow, _ = arrow_and_parquet()
    names, rows = arrow.array(assigned.names, arrow.string()), assigned.given
    units = arrow.DictionaryArray.from_arrays(arrow.array(assigned.items.rows.astype(np.int32)), names)
    write_table(arrow.table({
        "cluster": assigned.cluster.astype(np.int32), "chunk": assigned.chunk.astype(np.int32),
        "items": arrow.ListArray.from_arrays(assigned.items.start.astype(np.int32), units),
        "rows": arrow.ListArray.from_arrays(rows.start.astype(np.int32), rows.rows.astype(np.int32)),
    }), path)  # fmt: skip


@contextmanager
def _reading(path: FilePath, refused: str, hint: str) -> Iterator[None]:
    """Raise errors of reading the file at `path` as one that begins with `refused` and has this `hint`."""
    arrow, _ = arrow_and_parquet()
    with at_location(location(path)):
        try:
            yield
        except (arrow.lib.ArrowException, OSError, ValueError, AttributeError, KeyError, IndexError) as error:
            raise DecloakError(f"{refused}: {quote(error)}", hint=hint) from None


def _reading_beside(path: Path, lost: str) -> AbstractContextManager[None]:
    """Raise errors of reading a file beside the store, which has what is `lost`."""
    return _reading(path, f"{lost} are gone or damaged", "run the scenario into another store")


@contextmanager
def _reading_clusters(block: Block, columns: Sequence[str]) -> Iterator[Any]:
    """Give these `columns` of the row group that `block` names; errors inside say that it has no clusters."""
    _, parquet = arrow_and_parquet()
    with _reading(block.path, "no clusters in Parquet", REMEDY):
        with closing(parquet.ParquetFile(block.path, memory_map=False, read_dictionary=_DICTIONARY)) as file:
            table = file.read_row_group(block.place, columns=list(columns), use_threads=False)
        # The chunks of a column may number their names differently.
        yield table.unify_dictionaries().combine_chunks()


def read_assignments(path: Path, some: ClusterArrays) -> AssignmentArrays:
    """Return the assignments to the clusters `some` in the file at `path`."""
    _, parquet = arrow_and_parquet()
    with _reading_beside(path, "the findings of the attack"):
        held = ["items.list.element"]
        table = parquet.read_table(path, memory_map=False, read_dictionary=held, use_threads=False)
        cluster, chunk, items, rows = (column.combine_chunks() for column in table.unify_dictionaries().itercolumns())
        lists = [
            RowLists(one.offsets.to_numpy().astype(np.int64), values.to_numpy().astype(np.int64))
            for one, values in ((items, items.values.indices), (rows, rows.values))
        ]
        names = items.values.dictionary.to_pylist()
        numbers = [column.to_numpy().astype(np.int64) for column in (cluster, chunk)]
        found = AssignmentArrays(names, *numbers, *lists)
        if not some.fits_assignments(found):
            raise ValueError("they do not fit the clusters")
    return found


def read_truth(path: Path, some: ClusterArrays) -> Truth:
    """Return the truth of all clusters of the file at `path`, which are `some`, one after the other."""
    _, parquet = arrow_and_parquet()
    with _reading_beside(path, "the records behind the clusters"):
        file = parquet.read_table(path, memory_map=False, read_dictionary=_HELD, use_threads=False)
        places, records = (file[name].combine_chunks() for name in (PLACES, RECORDS))
        held = records.values.values
        codes, names = held.indices.to_numpy(), held.dictionary.to_pylist()
        start, place = records.values.offsets.to_numpy(), places.values.to_numpy()
        if not len(place) == len(start) - 1 == some.sizes.sum() or not {*names} <= {*some.names}:
            raise ValueError("they do not fit the clusters")
    return Truth(place.astype(np.int64), CodedRows(start, codes, names))


def read_clusters(block: Block, *, whole: bool = True) -> Iterator[Cluster]:
    """Yield the clusters of the row group that `block` names; those that are not `whole` have no sub-records."""
    if not whole:
        yield from _read_items(block)
        return
    yield from read_arrays(block, strict=False).clusters()


def read_arrays(block: Block, *, strict: bool = True) -> ClusterArrays:
    """Return the clusters of the row group that `block` names as arrays.

    A `strict` reader refuses more sub-records than rows, because compiled loops check no bounds.
    """
    with _reading_clusters(block, CLUSTER) as table:
        sizes, chunks, terms = (table[name].chunk(0) for name in CLUSTER)
        items, subrecords = (chunks.values.field(name) for name in (_ITEMS, _SUBRECORDS))
        leaves = [lists.values for lists in (items, subrecords.values, terms)]
        parts = (sizes, chunks, terms, items, subrecords, subrecords.values, *leaves, chunks.values)
        if any(array.null_count for array in parts):
            raise DecloakError("a cluster has a missing value", hint=REMEDY)
        code = dict[str, int]()
        codes = [_coded(values, code) for values in leaves]
        starts = [lists.offsets.to_numpy().astype(np.int64)
                  for lists in (chunks, items, subrecords, subrecords.values, terms)]  # fmt: skip
        # Refuses what is no size: parts of a record, and more records than a file may have.
        size = sizes.cast("int32").to_numpy().astype(np.int64)
        if strict and ((size < 1).any() or (np.diff(starts[2]) > np.repeat(size, np.diff(starts[0]))).any()):
            raise ValueError("a cluster has more sub-records than rows")
    of_cluster, of_chunk, of_subrecords, of_entries, of_terms = starts
    return ClusterArrays(
        list(code), size, of_cluster, of_chunk, codes[0], of_subrecords, of_entries, codes[1], of_terms, codes[2]
    )


def _coded(values: object, code: dict[str, int]) -> NDArray[np.int32]:
    """Return the values of a column as codes, new names numbered in turn."""
    dictionary, indices = getattr(values, "dictionary"), getattr(values, "indices")  # noqa: B009
    known = [code.setdefault(check_name(name), len(code)) for name in dictionary.to_pylist()]
    coded: NDArray[np.int32] = np.array(known or [0], np.int32)[indices.to_numpy()]
    return coded


def _read_items(block: Block) -> Iterator[Cluster]:
    """Yield the clusters of `block` without their sub-records."""
    with _reading_clusters(block, [SIZE, f"{CHUNKS}.list.element.{_ITEMS}", TERMS]) as table:
        sizes, chunks, terms = (table[name].chunk(0) for name in CLUSTER)
        items = chunks.values.field(_ITEMS)
        names = [_names(lists.values) for lists in (items, terms)]
    of_items, of_terms = (pairwise(lists.offsets.to_pylist()) for lists in (items, terms))
    counts = np.diff(chunks.offsets.to_numpy()).tolist()
    for size, count, (term, end) in zip(sizes.to_pylist(), counts, of_terms, strict=True):
        made = tuple(Chunk(tuple(names[0][begin:stop]), ()) for begin, stop in islice(of_items, count))
        yield Cluster(size, made, tuple(names[1][term:end]))


def _names(values: object) -> list[str]:
    """Return the checked names of a column, as Python strings that are shared."""
    dictionary, indices = getattr(values, "dictionary"), getattr(values, "indices")  # noqa: B009
    known = np.array([check_name(name) for name in dictionary.to_pylist()] or [""], object)
    return known[indices.to_numpy()].tolist()  # type: ignore[no-any-return]
