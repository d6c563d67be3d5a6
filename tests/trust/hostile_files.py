"""Small files that claim to be large: one maker for each way that a format has of saying little and meaning much."""

import gzip
import io
import lzma
import random
import sqlite3
import zipfile
import zlib
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import decloak
from stores import old_store

__all__ = ["MAKERS", "made"]

SHEET = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>%b</sheetData></worksheet>'


def _arrow(*modules):
    return [pytest.importorskip(name, reason="pyarrow is not installed") for name in ("pyarrow", *modules)]


def _ipc(path, columns, compression=None):
    arrow, ipc = _arrow("pyarrow.ipc")
    table = arrow.table(columns)
    with ipc.new_file(str(path), table.schema, options=ipc.IpcWriteOptions(compression=compression)) as file:
        file.write_table(table)


def word(path, rng, size):
    """A dictionary of one long word, for many rows."""
    arrow, parquet = _arrow("pyarrow.parquet")
    rows, letters = 1000 * size, rng.choice((30_000_000, 2_000_000, 300_000))
    words = arrow.DictionaryArray.from_arrays(arrow.array(np.zeros(rows, np.int32)), arrow.array(["x" * letters]))
    parquet.write_table(arrow.table({"tid": np.arange(rows) // 5, "item": words}), path, compression="zstd")


def words_of_shared_beginnings(path, rng, size):
    """Long words that differ in nothing but their ends, each written as its end."""
    arrow, parquet = _arrow("pyarrow.parquet")
    words = ["z" * 500_000 + str(number) for number in range(3 * size)]
    table = arrow.table({"tid": range(len(words)), "item": words})
    encodings = {"item": "DELTA_BYTE_ARRAY"}
    parquet.write_table(table, path, use_dictionary=False, column_encoding=encodings, compression="zstd")


def flags(path, rng, size):
    """Columns of booleans that are all the same."""
    arrow, parquet = _arrow("pyarrow.parquet")
    rows = 10_000 * size
    table = {f"c{number}": arrow.array(np.ones(rows, bool)) for number in range(90)}
    parquet.write_table(arrow.table(table), path, compression="zstd")


def lists(path, rng, size):
    """Rows of long lists that are all the same."""
    arrow, parquet = _arrow("pyarrow.parquet")
    values = arrow.array(np.zeros(300_000 * size, np.int8))
    row = arrow.ListArray.from_arrays(arrow.array([0, len(values)], arrow.int32()), values)
    parquet.write_table(arrow.table({"items": row}), path, compression="zstd")


def runs(path, rng, size):
    """One value for thousands of millions of rows."""
    arrow, _ = _arrow("pyarrow.ipc")
    ends = arrow.array([rng.choice((2**31 - 2, 10**8, 10**6 * size))], arrow.int32())
    _ipc(path, {"item": arrow.chunked_array([arrow.RunEndEncodedArray.from_arrays(ends, arrow.array(["a"]))])})


def nothings(path, rng, size):
    """Lists of nothing, as long as a number can say."""
    arrow, _ = _arrow("pyarrow.ipc")
    count = rng.choice((2**31 - 2, 10**9))
    _ipc(path, {"items": arrow.FixedSizeListArray.from_arrays(arrow.nulls(count), count)})


def zeros(path, rng, size):
    """A column of zeros, packed."""
    _ipc(path, {"tid": np.zeros(4_000_000 * size, np.int8)}, rng.choice(("zstd", "lz4")))


def _sheet(path, rows):
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    content, book = io.BytesIO(), openpyxl.Workbook()
    book.active.append(["a", "b"])
    book.save(content)
    with zipfile.ZipFile(content) as made, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in made.namelist():
            packed.writestr(name, SHEET % rows if name.endswith("sheet1.xml") else made.read(name))


def far_row(path, rng, size):
    """A row whose number says that hundreds of millions of empty ones stand before it."""
    cell = b'<row r="%d"><c r="A%d" t="inlineStr"><is><t>a</t></is></c></row>'
    far = rng.choice((300_000_000, 2_000_000_000))
    _sheet(path, cell % (1, 1) + cell % (far, far))


def far_columns(path, rng, size):
    """Rows of one cell each, in the last column there is."""
    count = 200 * size
    _sheet(path, b"".join(b'<row><c r="XFD%d"><v>1</v></c></row>' % (number,) for number in range(1, count)))


def empty_cells(path, rng, size):
    """Rows or cells with nothing in them."""
    many = b"<c/>" * (100_000 * size)
    _sheet(path, rng.choice((b"<row>" + many + b"</row>", b"<row/>" * (100_000 * size))))


def shared_texts(path, rng, size):
    """A workbook whose texts are many and empty."""
    _sheet(path, b'<row r="1"><c r="A1" t="s"><v>0</v></c></row>')
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as packed:
        name = b'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
        packed.writestr("xl/sharedStrings.xml", b"<sst %b>" % name + b"<si/>" * (150_000 * size) + b"</sst>")


def packed_lines(path, rng, size):
    """Text of millions of lines, packed."""
    line = rng.choice(
        (b"a\n", b"\n", b" \n", b"[]\n", b'"a"\n', b"a,b\n", b"1 2\n", b"tid,item\n", b"((((\n", b"____ \n")
    )
    pack = rng.choice((gzip.compress, lzma.compress))
    path.write_bytes(pack(line * (900_000 * size // len(line))))


def wide_line(path, rng, size):
    """Lines of hundreds of thousands of names each, or of one name that is as long."""
    line = rng.choice((b"a," * 499_000 + b"a", b"a" * 999_000, b"_" * 999_000, b"a b " * 240_000, b'""' * 400_000))
    path.write_bytes(gzip.compress((line + b"\n") * max(1, size)))


def deep_json(path, rng, size):
    """A value in a value in a value."""
    mark, end = rng.choice(((b"[", b"]"), (b'{"items":', b"}")))
    path.write_bytes(b"\n".join([mark * 5000 * size + end * 5000 * size] * 3)[:900_000])


def store(path, rng, size):
    """A store of one release: of an older version with arrays that unpack to much, or with lists that make no sense."""
    from decloak.releases.public_store import STORE

    release = decloak.anonymise([["a", "b"], ["a"], ["a", "b"]] * 5, "sets", sets=[["a", "b"]])
    new = path.with_name("new.db")
    for file in (path, new):
        file.unlink(missing_ok=True)
    STORE.write(release, new, False)
    if rng.random() > 0.5:
        new.replace(path)
        length = min(20_000 * size, 2_000_000)
        text = rng.choice(("[" * length, f"[{'9,' * length}9]", f"[{1 << 62},{-(1 << 62)}]"))
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("update record set elements = ? where id = 1", (text,))
        return
    old_store(new, path, 8)
    new.unlink()
    part = zlib.compress(bytes(1 << 26), 9)
    row = "insert into array (dataset, name, part, version, form, checksum, content) values (1, ?, ?, 2, 'u1', ?, ?)"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("insert into extent values (1, 1, 15, 15, 'not there yet')")
        for name in ("lengths", "codes", "elements"):
            parts = range(max(1, size // 6))
            connection.executemany(row, [(name, number, zlib.crc32(part), part) for number in parts])


MAKERS = {
    "parquet": (word, words_of_shared_beginnings, flags, lists),
    "arrow": (runs, nothings, zeros),
    "xlsx": (far_row, far_columns, empty_cells, shared_texts),
    "text": (packed_lines, wide_line, deep_json),
    "store": (store,),
}


def made(path: Path, rng: random.Random, maker, size: int) -> Path:
    """A file of this maker; a size of 100 is as hostile as the packing lets it be."""
    maker(path, rng, size)
    return path
