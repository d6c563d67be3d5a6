"""Blocks of the records of files that stay on disk: row groups of Parquet, or runs of whole lines of a text.

A block is read by itself, in any process, so no more than one block of each process is in memory. Its names are those
that the reader of whole files gives. Ids of records are left out.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO, FileIO
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np

from decloak.data.dataset import Dataset
from decloak.data.formats.lines import (
    FilePath,
    Line,
    ReadFile,
    check_name,
    decode_text,
    location,
    open_file,
    stream_lines,
)
from decloak.data.formats.manifest_file import digest_of_file
from decloak.data.formats.plain_files import find_format
from decloak.data.formats.record import Options, Record, as_dataset
from decloak.data.formats.tables_extra import import_extra
from decloak.data.frames import cell_name
from decloak.data.rows import CodedRows, RowLabels
from decloak.errors import DecloakError, at_location, quote

BLOCKED = ("parquet", "basket", "jsonl", "spmf")
"""Formats with whole records in each row group, or in each line."""
BYTES = 1 << 25
"""Bytes of a block of text, about."""
LARGEST = 1 << 30
"""Largest number of bytes of a row group after unpacking."""
ITEMS = "items"
"""The column of a written file."""
CHUNKS = "record_chunks"
"""The column of record chunks in a file of clusters."""
ROW_GROUP = "write the file again with row groups of a million records"


class Block(NamedTuple):
    """A part of a file: the row group `place`, or the `size` bytes from `place` that begin in line `line`."""

    path: str
    place: int
    size: int = 0
    line: int = 1


class Part(NamedTuple):
    """A file of records in the catalogue of the store; `path` is relative to the folder of the store."""

    path: str
    row_groups: int
    records: int
    elements: int
    bytes: int
    digest: str

    @classmethod
    def of(cls, path: Path, folder: Path, row_groups: int, records: int, elements: int) -> "Part":
        """Return the catalogue row of the file at `path` for a store in `folder`.

        The file has `row_groups` blocks, and `records` with so many `elements`.
        """
        relative = os.path.relpath(path.resolve(), folder.resolve())
        return cls(relative, row_groups, records, elements, path.stat().st_size, digest_of_file(path))


class Blocks(NamedTuple):
    """Blocks of files of one format. A worker receives it and a number, and reads the block itself.

    `column` has the lists of a Parquet file. `head` has the lines of a text that each block needs, which name columns
    or items.
    """

    blocks: tuple[Block, ...]
    format: str
    options: Options = Options()
    column: str = ""
    head: tuple[Line, ...] = ()

    @classmethod
    def of(cls, path: FilePath, form: str, options: Options = Options()) -> "Blocks":  # noqa: B008 (a named tuple)
        """Return the blocks of the file at `path` in the format `form` with `options`; a folder has Parquet files."""
        entry = find_format(form, options)
        if form not in BLOCKED or (entry.parse is None and form != "parquet"):
            hint = f"write it as {' or '.join(BLOCKED)}, or read it whole: parts: false"
            raise DecloakError(f"the format {form} is not read in parts", location(path), hint)
        if form == "parquet":
            found = _of_parquet(Path(path), options)
            if found.column == CHUNKS:
                message = "the file has the clusters of a release, and no records"
                raise DecloakError(message, location(path), "name a file of records, or use decloak check --parts")
            return found
        return _of_text(Path(path), form, options)

    @classmethod
    def of_clusters(cls, path: FilePath) -> "Blocks | None":
        """Return the blocks of clusters in the Parquet file or folder at `path`, None if it has something else."""
        found = _of_parquet(Path(path), Options(item=CHUNKS))
        return found if found.column == CHUNKS else None

    @classmethod
    def of_parts(cls, folder: Path, inside: Path, parts: Sequence[Part]) -> "Blocks":
        """Return the blocks of the files of a release: `parts` in the catalogue of a store in `folder`.

        The files must be `inside` this folder, whatever a foreign store says.
        """
        blocks: list[Block] = []
        for part in parts:
            path = (folder / part.path).resolve()
            if not path.is_relative_to(inside.resolve()) or not path.is_file() or path.stat().st_size != part.bytes:
                hint = f"move {inside.name} together with the store, or run the scenario into another store"
                raise DecloakError("a file of the release is not there, or has changed", location(part.path), hint)
            blocks += [Block(os.fspath(path), group) for group in range(part.row_groups)]
        return cls(tuple(blocks), "parquet", column=ITEMS)

    def __len__(self) -> int:
        return len(self.blocks)

    @property
    def files(self) -> tuple[str, ...]:
        """The paths of the files, each once."""
        return tuple(dict.fromkeys(block.path for block in self.blocks))

    def read(self, number: int) -> CodedRows[str]:
        """Return the records of the block `number`; items may repeat within a record of Parquet."""
        block = self.blocks[number]
        if self.format == "parquet":
            with at_location(location(block.path)):
                return _read_group(block, self.column)
        return as_dataset(self._records(block), location(block.path), repeats=True).rows

    def _records(self, block: Block) -> Iterable[Record]:
        with open_file(block.path) as file:
            file.seek(block.place)
            data = file.read(block.size)
        content = ReadFile(block.path, data)
        lines: Iterator[Line] = (line._replace(number=line.number + block.line - 1) for line in stream_lines(content))
        parse = find_format(self.format, self.options).parse
        assert parse is not None
        if self.format == "spmf":
            lines = map(_without_name, lines)
        return parse(chain(self.head, lines), self.options)


class PartedData(Dataset):
    """Original records that stay in files: here are their blocks, and none of the records."""

    blocks: Blocks
    scanned: object
    """What `decloak.counting.blocks.scan` found, None before."""

    @classmethod
    def of_blocks(cls, blocks: Blocks, origin: str) -> "PartedData":
        """Return the records in `blocks`, which are named `origin`."""
        data = cls(CodedRows(np.zeros(1, np.int64), np.zeros(0, np.int32), ()), RowLabels(0), origin)
        # Past `__setattr__`, because the dataclass is frozen.
        data.__dict__.update(blocks=blocks, scanned=None)
        return data


def parts_folder(store: Path) -> Path:
    """Return the folder for the files that belong to `store`."""
    return store.with_name(f"{store.name}.parts")


def _of_text(path: Path, form: str, options: Options) -> Blocks:
    with open_file(path, again=True) as file:
        for _ in range(options.header_row - 1):
            file.readline()
        head, begin = list[Line](), file.tell()
        while _is_head(data := file.readline(), form, options, len(head)):
            number = options.header_row + len(head)
            text = decode_text(data.removeprefix(b"\xef\xbb\xbf"), path, number, "save it as UTF-8")
            head.append(Line(os.fspath(path), number, text.rstrip("\r\n")))
            begin = file.tell()
        file.seek(begin)
        blocks = tuple(_text_blocks(file, path, options.header_row + len(head)))
    if not blocks:
        raise DecloakError("no transactions in the file", location(path), f"expected the format {form}")
    return Blocks(blocks, form, options, head=tuple(head))


def _is_head(line: bytes, form: str, options: Options, number: int) -> bool:
    """Return True if each block needs this line above the records: the names of columns, or the names of items."""
    if form == "spmf":
        return line.removeprefix(b"\xef\xbb\xbf").startswith((b"@", b"%", b"#"))
    return options.header and number == 0 and bool(line)


def _without_name(line: Line) -> Line:
    """Return `line` of a block; raise an error if it names an item, which other blocks would not know."""
    if line.text.startswith("@ITEM="):
        raise line.error(
            "the name of an item below a record", "write all names first, or read the file whole: parts: false"
        )
    return line


def _text_blocks(file: FileIO | BytesIO, path: Path, line: int) -> Iterator[Block]:
    """Yield blocks of `file` from its position, which is in `line`.

    They end behind a line which is not blank: the reader accepts blank lines at an end only.
    """
    begin = file.tell()
    while data := file.read(BYTES):
        # A block ends with a whole line.
        data += file.readline()
        while not data[data.rfind(b"\n", 0, -1) + 1 :].strip() and (further := file.readline()):
            data += further
        # Blank lines at the end of the file are no block: their reader would miss a record.
        if data.strip():
            yield Block(os.fspath(path), begin, len(data), line)
        begin, line = begin + len(data), line + data.count(b"\n")


def arrow_and_parquet() -> tuple[ModuleType, ModuleType]:
    """Import the modules of Arrow and of Parquet, and return them."""
    return import_extra("pyarrow", "Parquet"), import_extra("pyarrow.parquet", "Parquet")


def _of_parquet(path: Path, options: Options) -> Blocks:
    arrow, parquet = arrow_and_parquet()
    kinds = arrow.types
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not files:
        raise DecloakError("no Parquet file in this folder", location(path), "name a file")
    blocks: list[Block] = []
    columns = set()
    for file in files:
        try:
            with open_file(file, again=True) as opened:
                read = parquet.ParquetFile(opened)
                metadata, schema = read.metadata, read.schema_arrow
        except (arrow.lib.ArrowException, OSError, ValueError) as error:
            raise DecloakError(f"not Parquet: {quote(error)}", location(file), "write the file again") from None
        with at_location(location(file)):
            lists = [field.name for field in schema if kinds.is_list(field.type) or kinds.is_large_list(field.type)]
            columns.add(_list_column(lists, options))
            for group in range(metadata.num_row_groups):
                if metadata.row_group(group).total_byte_size > LARGEST:
                    size = metadata.row_group(group).total_byte_size
                    raise DecloakError(f"the row group {group} has {size:,} bytes", hint=ROW_GROUP)
                blocks.append(Block(os.fspath(file), group))
    if len(columns) > 1:
        raise DecloakError("the files name their column of lists differently", location(path), "give it one name")
    if not blocks:
        raise DecloakError("no transactions in the file", location(path), "expected the format parquet")
    return Blocks(tuple(blocks), "parquet", options, columns.pop())


def _list_column(lists: list[str], options: Options) -> str:
    """Return the one of `lists`, columns of lists, that has the items of each record, or the chunks of each cluster."""
    chosen = next((name for name in (CHUNKS, options.item) if name in lists), None)
    lists = [chosen] if chosen is not None else lists
    if len(lists) != 1:
        message = f"{len(lists)} columns have a list for each record, and parts need one"
        raise DecloakError(message, hint="write one list of items a row, or read the file whole: parts: false")
    return lists[0]


def _read_group(block: Block, column: str) -> CodedRows[str]:
    arrow, parquet = arrow_and_parquet()
    try:
        file = parquet.ParquetFile(block.path, memory_map=False, read_dictionary=[f"{column}.list.element"])
        # One thread, because other processes read other blocks.
        lists = file.read_row_group(block.place, columns=[column], use_threads=False).column(0)
        lists = lists.chunk(0) if lists.num_chunks == 1 else arrow.concat_arrays(lists.chunks)
        values = lists.flatten()  # leaves out what missing lists have beneath
        lengths = lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
        coded = values if hasattr(values, "dictionary") else values.dictionary_encode()
    except (arrow.lib.ArrowException, OSError, ValueError) as error:
        raise DecloakError(f"not Parquet: {quote(error)}", hint="write the file again") from None
    if values.null_count:
        raise DecloakError("a record has a missing item", hint="remove it from the list")
    names = [check_name(cell_name(value, number)) for number, value in enumerate(coded.dictionary.to_pylist())]
    return CodedRows(np.concatenate(([0], np.cumsum(lengths))), coded.indices.to_numpy(), names)


def write_part(path: Path, rows: CodedRows[str]) -> None:
    """Write `rows` to `path` as Parquet with a list of names for each record, complete or not at all."""
    arrow, _ = arrow_and_parquet()
    names = arrow.DictionaryArray.from_arrays(arrow.array(rows.codes), arrow.array(rows.names, arrow.string()))
    lists = arrow.ListArray.from_arrays(arrow.array(rows.start.astype(np.int32)), names)
    write_table(arrow.table({ITEMS: lists}), path)


def write_table(table: object, path: Path) -> None:
    """Write `table` to the Parquet file at `path` as one row group, completely or not at all."""
    _, parquet = arrow_and_parquet()
    # A name of its own: another process may write the same file.
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    parquet.write_table(table, temporary, compression="zstd", row_group_size=max(1, len(table)))  # type: ignore[arg-type]
    temporary.replace(path)
