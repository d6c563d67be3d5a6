"""A disassociated release as JSON Lines: a header, one cluster a line, then one joint cluster a line.

    {"decloak": "release", "version": 1, "method": "disassociation", "k": 3, "m": 2}
    {"size": 8, "record_chunks": [{"items": ["a", "b"], "subrecords": [["a"], ["a", "b"]]}], "term_chunk": ["c"]}
    {"joint": [0, 2], "shared_chunks": [{"items": ["d"], "subrecords": [["d"], ["d"], ["d"]]}]}

A last line may give the supports of items in all records: {"totals": {"a": 12, "b": 30}}. "cover" in the header says
how cover problems were cured. Clusters are numbered from 0. k, m and cover may be left out of the header. The order of
chunks and of sub-records is kept.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from decloak.data.content import Chunk, ChunkContent, Cluster, JointCluster
from decloak.data.formats.lines import FilePath, Line, json_text, json_value, location
from decloak.data.formats.release_header import (
    COVERS,
    LARGEST_NUMBER,
    LONGEST_RELEASE,
    STORE_REMEDY,
    Header,
    closed_object_schema,
    header_of,
    whole_number,
)
from decloak.data.formats.writing import write_lines
from decloak.digest import JsonObject
from decloak.errors import DecloakError, quote, suggest

__all__ = ["DISASSOCIATION", "disassociated_schema", "parse_chunk_content", "write_disassociated"]

SHAPE = "write one JSON object a line"
DISASSOCIATION = "disassociation"

_KEYS = {
    "cluster": ("size", "record_chunks", "term_chunk"),
    "joint cluster": ("joint", "shared_chunks"),
    "chunk": ("items", "subrecords"),
    "total": ("totals",),
}
_HINTS = {
    "cluster": 'write {"size": 8, "record_chunks": [...], "term_chunk": [...]}',
    "joint cluster": 'write {"joint": [0, 2], "shared_chunks": [...]}',
    "chunk": 'write {"items": ["a", "b"], "subrecords": [["a"], ["a", "b"]]}',
    "total": 'write {"totals": {"a": 12, "b": 30}}',
}


class _Reader:
    """A parser of the lines below the header into clusters and joint clusters. Every error names its line."""

    def __init__(self) -> None:
        self.clusters: list[Cluster] = []
        self.joints: list[JointCluster] = []
        self.totals: tuple[tuple[str, int], ...] = ()
        self.names: dict[str, str] = {}

    def add(self, line: Line, value: Any) -> None:
        """Add the cluster or joint cluster in `line`, parsed as `value`."""
        if self.totals:
            raise line.error("a line after the totals", "write the totals last")
        if isinstance(value, dict) and "totals" in value:
            self.totals = self._totals(line, _object(line, value, "total")["totals"])
        elif isinstance(value, dict) and "joint" in value:
            self.joints.append(self._joint(line, value))
        elif self.joints:
            raise line.error("a cluster after a joint cluster", "write all clusters first: joints name them by number")
        else:
            self.clusters.append(self._cluster(line, value))

    def _cluster(self, line: Line, value: Any) -> Cluster:
        fields = _object(line, value, "cluster")
        size = whole_number(line, "size", fields["size"])
        chunks = self._chunks(line, "record_chunks", fields["record_chunks"], size)
        terms = self._items(line, "term_chunk", fields["term_chunk"])
        _check_apart(line, [*(chunk.items for chunk in chunks), terms])
        return Cluster(size, chunks, terms)

    def _joint(self, line: Line, value: JsonObject) -> JointCluster:
        fields = _object(line, value, "joint cluster")
        members = _list(line, "joint", fields["joint"])
        for number in members:
            if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < len(self.clusters):
                raise line.error(f"unknown cluster {quote(number)}", f"clusters are 0 to {len(self.clusters) - 1}")
        if len(set(members)) < max(2, len(members)):
            raise line.error("a joint cluster needs two clusters or more, each once", _HINTS["joint cluster"])
        size = sum(self.clusters[number].size for number in members)
        chunks = self._chunks(line, "shared_chunks", fields["shared_chunks"], size)
        _check_apart(line, [chunk.items for chunk in chunks])
        return JointCluster(tuple(members), chunks)

    def _chunks(self, line: Line, name: str, value: Any, size: int) -> tuple[Chunk, ...]:
        chunks = enumerate(_list(line, name, value))
        return tuple(self._chunk(line, f"{name}[{number}]", chunk, size) for number, chunk in chunks)

    def _chunk(self, line: Line, name: str, value: Any, size: int) -> Chunk:
        fields = _object(line, value, "chunk", name)
        items = self._items(line, f"{name}.items", fields["items"])
        if not items:
            raise line.error(f"{name} has no items", "leave the chunk out, or write its items")
        rows = _list(line, f"{name}.subrecords", fields["subrecords"])
        if len(rows) > size:
            raise line.error(f"{name} has {len(rows)} sub-records of {size} records", "each record gives one at most")
        subrecords = tuple(self._items(line, f"{name}.subrecords[{row}]", held) for row, held in enumerate(rows))
        _check_inside(line, name, items, subrecords)
        return Chunk(items, subrecords)

    def _totals(self, line: Line, value: Any) -> tuple[tuple[str, int], ...]:
        if not isinstance(value, dict) or not value:
            raise line.error("the totals are no JSON object of items", _HINTS["total"])
        items = self._items(line, "totals", list(value))
        return tuple((item, whole_number(line, item, value[item])) for item in items)

    def _items(self, line: Line, name: str, value: Any) -> tuple[str, ...]:
        items = _list(line, name, value)
        seen: set[str] = set()
        for item in items:
            if not isinstance(item, str):
                raise line.error(f"{name} has {quote(item)}, not a string", 'write names in quotes, as "milk"')
            if item in seen:
                raise line.error(f"{name} has {quote(item)} twice", "an item stands once")
            seen.add(item)
        return tuple([self.names.get(item) or self.names.setdefault(item, line.name(item)) for item in items])


def parse_chunk_content(lines: Sequence[Line]) -> ChunkContent:
    """Return the release in `lines`. Its guarantee is not checked here."""
    # What is written is read back by the same code, so that no file is written that cannot be read.
    reader = _Reader()
    header = header_of(lines[0], DISASSOCIATION)
    for line in lines[1:]:
        reader.add(line, json_value(line, SHAPE))
    if not reader.clusters:
        raise lines[-1].error("a release without clusters", _HINTS["cluster"])
    return ChunkContent(
        tuple(reader.clusters), tuple(reader.joints), header.k, header.m, cover=header.cover, totals=reader.totals
    )


def write_disassociated(release: ChunkContent, path: FilePath) -> None:
    """Write `release` to `path` so that `parse_chunk_content` returns it. Raise an error for what the reader would
    refuse.
    """
    if not release.clusters:
        raise DecloakError("a release without clusters", location(path), "disassociate some records first")
    head, *parts = _objects(release)
    reader = _Reader()
    header_of(Line(str(path), 1, json.dumps(head)), DISASSOCIATION)
    for number, add in enumerate(parts, 2):
        reader.add(Line(str(path), number, ""), add)
    lines = (json_text(add) for add in (head, *parts))
    write_lines(lines, path, longest=LONGEST_RELEASE, remedy=STORE_REMEDY)


def _objects(release: ChunkContent) -> Iterable[JsonObject]:
    yield Header(DISASSOCIATION, release.k, release.m, release.cover).value
    for cluster in release.clusters:
        chunks = list(map(_chunk_object, cluster.record_chunks))
        yield {"size": cluster.size, "record_chunks": chunks, "term_chunk": list(cluster.term_chunk)}
    for joint in release.joints:
        yield {"joint": list(joint.clusters), "shared_chunks": list(map(_chunk_object, joint.shared_chunks))}
    if release.totals:
        yield {"totals": dict(release.totals)}


def _chunk_object(chunk: Chunk) -> JsonObject:
    return {"items": list(chunk.items), "subrecords": list(map(list, chunk.subrecords))}


def _object(line: Line, value: Any, kind: str, name: str = "") -> JsonObject:
    """Return `value` if it is an object of a kind with exactly its keys."""
    what = name or f"a {kind}"
    if not isinstance(value, dict):
        raise line.error(f"{what} is not a JSON object", _HINTS[kind])
    for key in value:
        if key not in _KEYS[kind]:
            raise line.error(f"unknown key {quote(key)} in {what}", suggest(key, _KEYS[kind]) or _HINTS[kind])
    for key in _KEYS[kind]:
        if key not in value:
            raise line.error(f"no key '{key}' in {what}", _HINTS[kind])
    return value


def _list(line: Line, name: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise line.error(f"{name} is {quote(value)}, not a list", "write [...]")
    return value


def _check_apart(line: Line, chunks: Iterable[tuple[str, ...]]) -> None:
    seen: set[str] = set()
    for items in chunks:
        for item in items:
            if item in seen:
                raise line.error(f"{quote(item)} is in two chunks", "the chunks of a cluster must not overlap")
        seen.update(items)


def _check_inside(line: Line, name: str, items: tuple[str, ...], subrecords: tuple[tuple[str, ...], ...]) -> None:
    of_chunk = set(items)
    for row, subrecord in enumerate(subrecords):
        if not subrecord:
            raise line.error(f"{name}.subrecords[{row}] is empty", "leave it out: records may give nothing to a chunk")
        for item in subrecord:
            if item not in of_chunk:
                message = f"{name}.subrecords[{row}] has {quote(item)}, which is not of the chunk's items"
                raise line.error(message, suggest(item, items) or "add it to the items of the chunk")


def disassociated_schema() -> JsonObject:
    """Return the JSON Schema of one line: a header, a cluster or a joint cluster."""
    whole = {"type": "integer", "minimum": 1, "maximum": LARGEST_NUMBER}
    items = {"type": "array", "items": {"type": "string", "minLength": 1}, "uniqueItems": True}
    subrecords = {"type": "array", "items": items | {"minItems": 1}}
    chunks = {"type": "array", "items": {"$ref": "#/$defs/chunk"}}
    members = {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 2, "uniqueItems": True}
    header = {key: {"const": value} for key, value in Header(DISASSOCIATION).value.items()}
    header |= {"k": whole, "m": whole, "cover": {"enum": list(COVERS)}}
    kinds: dict[str, JsonObject] = {
        "header": header,
        "cluster": {"size": whole, "record_chunks": chunks, "term_chunk": items},
        "joint cluster": {"joint": members, "shared_chunks": chunks},
        "totals": {"totals": {"type": "object", "minProperties": 1, "additionalProperties": whole}},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of a disassociated release",
        "oneOf": [closed_object_schema(kind, fields) for kind, fields in kinds.items()],
        "$defs": {"chunk": closed_object_schema("chunk", {"items": items | {"minItems": 1}, "subrecords": subrecords})},
    }
