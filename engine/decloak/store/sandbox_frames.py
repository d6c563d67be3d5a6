"""The messages between decloak and the process that runs untrusted SQL: JSON, and rows of a result by column.

Neither pickle nor marshal: with them, an attacker in that process could run code in this one, or crash it.
Columns of numbers are sent as bytes of memory, which takes a tenth of the time of JSON.
"""

import base64
import json
import struct
from array import array
from collections.abc import Sequence
from typing import IO, Any

from decloak.digest import JsonObject

SLACK = 2
"""Times its seconds of the processor that a statement may take in all, waiting for the disk and others included."""
OUT_OF_TIME = 75
"""The exit code of a process whose time is over where the system has no timers of its own."""

Rows = list[tuple[object, ...]]

_HEAD = struct.Struct("=cI")
_JSON, _ROWS = b"J", b"R"
_LARGEST = 1 << 30
_ARRAYS = {int: "q", float: "d"}


def read_frame(stream: IO[bytes]) -> Any:
    """Return the next message, None at the end of the stream. Rows are a list, other values are as written.

    An unreadable message is a ValueError.
    """
    head = stream.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    kind, size = _HEAD.unpack(head)
    # Checked before the read, which would reserve up to 4 GB for a hostile size.
    if kind not in (_JSON, _ROWS) or size > _LARGEST:
        raise ValueError(f"a message of the kind {kind!r} and {size} bytes")
    body = stream.read(size)
    # The process ended within the message, and its exit code says why.
    if len(body) < size:
        return None
    try:
        return _rows(body) if kind == _ROWS else _loaded(body)
    # A hostile message makes the parsers raise errors of many kinds.
    except Exception as error:
        raise ValueError("no message") from error


def write_frame(stream: IO[bytes], message: object) -> None:
    """Write `message` as a frame of JSON."""
    body = _dumped(message)
    stream.write(_HEAD.pack(_JSON, len(body)) + body)
    stream.flush()


def write_rows(stream: IO[bytes], columns: Sequence[Sequence[object]]) -> None:
    """Write rows, given by column, as a binary frame."""
    parts = [_column(column) for column in columns]
    head = _dumped([[kind, len(part)] for kind, part in parts])
    body = b"".join([struct.pack("=I", len(head)), head, *(part for _, part in parts)])
    stream.write(_HEAD.pack(_ROWS, len(body)) + body)
    stream.flush()


def _column(values: Sequence[Any]) -> tuple[str, bytes]:
    """Return a column as bytes, with its encoding: whole numbers, floats, or JSON for mixed kinds."""
    # Arrays hold one type each, and whole numbers of SQLite fit their 64 bits.
    types = set(map(type, values))
    kind = _ARRAYS.get(types.pop(), "J") if len(types) == 1 else "J"
    return kind, _dumped(values) if kind == "J" else array(kind, values).tobytes()


def _rows(body: bytes) -> Rows:
    (size,) = struct.unpack_from("=I", body)
    start = 4 + size
    columns = []
    for kind, length in _loaded(body[4:start]):
        part, start = body[start : start + length], start + length
        columns.append(_loaded(part) if kind == "J" else array(kind, part).tolist())
    return list(zip(*columns, strict=True))


def _as_text(value: object) -> dict[str, str]:
    """Bytes, which JSON has not got."""
    if not isinstance(value, bytes):
        raise TypeError(f"a value of the type {type(value).__name__}")
    return {"bytes": base64.b64encode(value).decode("ascii")}


def _as_bytes(value: JsonObject) -> Any:
    return base64.b64decode(value["bytes"]) if value.keys() == {"bytes"} else value


_ENCODER = json.JSONEncoder(default=_as_text, separators=(",", ":"))
_DECODER = json.JSONDecoder(object_hook=_as_bytes)


def _dumped(message: object) -> bytes:
    return _ENCODER.encode(message).encode("ascii")


def _loaded(body: bytes) -> Any:
    return _DECODER.decode(body.decode("ascii"))
