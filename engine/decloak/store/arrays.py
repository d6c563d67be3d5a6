"""Arrays in the store: numbers as they lie in memory, the smallest that hold them, in parts that SQLite takes.

Those of data sets are as they are in memory; all others are packed: they shrink to a third or a quarter in little time.

Every part says how it is written and bears a checksum: what was damaged is told in a line, and never makes a figure.
Each is of a data set, an attack and so on, its owner; those that link a release to its original lie in `truth_array`.
"""

import sqlite3
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from decloak.data.budget import charge
from decloak.errors import DecloakError

__all__ = [
    "damaged", "read_array", "read_compact", "read_floats", "read_numbers", "read_texts", "write_array", "write_texts",
]  # fmt: skip

PLAIN, PACKED = 1, 2
"""How parts are written: little-endian, one after the other; the same, packed by zlib."""
PART = 1 << 26
"""Bytes of a part: SQLite takes no more than a thousand million in one value."""
COPIES = 3
"""How often an array is in memory while it is read: its parts, all of them together, and in the form of numbers."""
FORMS = ("u1", "u2", "u4", "i8", "f8")
TEXT = "text"
_OWNERS = {
    "array": "dataset", "truth_array": "dataset", "attack_array": "attack", "scoring_array": "scoring",
    "relatedness_array": "relatedness",
}  # fmt: skip
"""The tables that hold arrays, and the column that says what an array is of."""

Array = NDArray[Any]


def write_array(connection: sqlite3.Connection, owner: int, name: str, values: Array, *, table: str = "array") -> None:
    """Keep an array of its owner."""
    form = _form(values)
    _write(connection, table, owner, name, form, np.asarray(values, f"<{form}").tobytes())


def write_texts(
    connection: sqlite3.Connection, owner: int, name: str, texts: Sequence[str], *, table: str = "array"
) -> None:
    """Keep names, which have no zero character."""
    content = "".join(f"{text}\0" for text in texts).encode("utf-8", "surrogatepass")
    _write(connection, table, owner, name, TEXT, content)


def _form(values: Array) -> str:
    """The smallest form that holds all values."""
    if values.dtype.kind == "f":
        return "f8"
    least, most = int(values.min(initial=0)), int(values.max(initial=0))
    return "i8" if least < 0 else next((form for form in FORMS[:3] if most <= np.iinfo(form).max), "i8")


def _write(connection: sqlite3.Connection, table: str, owner: int, name: str, form: str, content: bytes) -> None:
    version = PLAIN if _OWNERS[table] == "dataset" else PACKED
    for part, begin in enumerate(range(0, max(1, len(content)), PART)):
        piece = content[begin : begin + PART]
        piece = zlib.compress(piece, 1) if version == PACKED else piece
        connection.execute(
            f"insert into {table} ({_OWNERS[table]}, name, part, version, form, checksum, content) "
            "values (?, ?, ?, ?, ?, ?, ?)",
            (owner, name, part, version, form, zlib.crc32(piece), piece),
        )


def read_array(connection: sqlite3.Connection, owner: int, name: str, *, table: str = "array") -> Array | None:
    """An array of an owner, None where there is none of the name."""
    form, content = _read(connection, table, owner, name)
    if form is None:
        return None
    if form not in FORMS or len(content) % np.dtype(form).itemsize:
        raise damaged(owner, name, table)
    return np.frombuffer(content, f"<{form}")


def read_compact(connection: sqlite3.Connection, owner: int, name: str, table: str) -> Array:
    """An array of whole numbers from 0 that has to be there, in as few bytes as it is kept in."""
    array = read_array(connection, owner, name, table=table)
    if array is None or array.dtype.kind == "f" or (array.dtype.kind == "i" and int(array.min(initial=0)) < 0):
        raise damaged(owner, name, table)
    return array


def read_numbers(connection: sqlite3.Connection, owner: int, name: str, table: str) -> NDArray[np.int64]:
    """The same, to be reckoned with."""
    return read_compact(connection, owner, name, table).astype(np.int64)


def read_floats(connection: sqlite3.Connection, owner: int, name: str, table: str) -> NDArray[np.float64]:
    """An array of numbers of any kind that has to be there."""
    array = read_array(connection, owner, name, table=table)
    if array is None or array.dtype.kind != "f":
        raise damaged(owner, name, table)
    return array


def read_texts(
    connection: sqlite3.Connection, owner: int, name: str, *, table: str = "array"
) -> tuple[str, ...] | None:
    """Names, None where there are none of the name."""
    form, content = _read(connection, table, owner, name)
    if form is None:
        return None
    try:
        if form != TEXT or (content and not content.endswith(b"\0")):
            raise damaged(owner, name, table)
        return tuple(content.decode("utf-8", "surrogatepass").split("\0")[:-1])
    except UnicodeDecodeError:
        raise damaged(owner, name, table) from None


def _read(connection: sqlite3.Connection, table: str, owner: int, name: str) -> tuple[str | None, bytes]:
    rows = connection.execute(
        f"select part, version, form, checksum, content from {table} where {_OWNERS[table]} = ? and name = ? "
        "order by part",
        (owner, name),
    ).fetchall()
    pieces = []
    for place, (part, version, form, checksum, content) in enumerate(rows):
        whole = part == place and form == rows[0][2] and isinstance(content, bytes)
        piece = _unpacked(version, content) if whole and zlib.crc32(content) == checksum else None
        if piece is None:
            raise damaged(owner, name, table)
        charge(COPIES * len(piece))
        pieces.append(piece)
    return (rows[0][2] if rows else None), b"".join(pieces)


def _unpacked(version: int, content: bytes) -> bytes | None:
    """A part as it was before it was written, None where that cannot be; a store may be somebody else's."""
    if version == PLAIN:
        return content
    if version != PACKED:
        return None
    unpacker = zlib.decompressobj()
    try:
        piece = unpacker.decompress(content, PART)  # more than that nobody has packed
    except zlib.error:
        return None
    return piece if unpacker.eof and not unpacker.unused_data else None


def damaged(owner: int, name: str, table: str = "array") -> DecloakError:
    """The error that an array is not as it was written."""
    whose = {"dataset": "data set", "relatedness": "measure of relatedness"}.get(_OWNERS[table], _OWNERS[table])
    hint = "name another store, and run the scenario into it"
    return DecloakError(f"the array {name} of {whose} {owner} is damaged", hint=hint)
