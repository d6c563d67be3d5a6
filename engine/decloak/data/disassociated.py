"""Disassociated releases: clusters of records whose items are published in chunks that hide their combination.

The first record chunk of a cluster provides the anchors of the attacks.

A release file is JSON Lines: a header, one cluster a line, then one joint cluster a line.

    {"decloak": "release", "version": 1, "method": "disassociation", "k": 3, "m": 2}
    {"size": 8, "record_chunks": [{"items": ["a", "b"], "subrecords": [["a"], ["a", "b"]]}], "term_chunk": ["c"]}
    {"joint": [0, 2], "shared_chunks": [{"items": ["d"], "subrecords": [["d"], ["d"], ["d"]]}]}

A last line may give the supports of items in all records: {"totals": {"a": 12, "b": 30}}. "cover" in the header says
how cover problems were cured. Clusters are numbered from 0. k, m and cover may be left out of the header. The order of
chunks and of sub-records is kept.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any, ClassVar, Self

import numpy as np

from decloak.data.content import Chunk, Cluster, JointCluster
from decloak.data.formats.lines import FilePath, Line, json_text, json_value, location
from decloak.data.formats.release_header import LONGEST_RELEASE, STORE_REMEDY, Header, header_of, whole_number
from decloak.data.formats.writing import write_lines
from decloak.data.forms import FormName, Release, with_bounds
from decloak.data.ordering import RowIndices, SortedRelease
from decloak.data.representation import LongRows, Represented, Summary, counted, joined
from decloak.data.rows import Coding
from decloak.digest import JsonObject
from decloak.errors import DecloakError, quote, suggest

DISASSOCIATION = "disassociation"
LONGEST_NAME = 200
"""Largest number of characters of a name that are printed."""


def text_table(release: "Disassociated") -> str:
    """Return `release` as text. Sub-records on one line may belong to different records.

    >>> chunks = Chunk(("a", "b"), (("a",), ("a", "b"))), Chunk(("c",), (("c",),))
    >>> print(text_table(Disassociated((Cluster(2, chunks, ("d", "e")),))))
    cluster 0: 2 records
    C1      C2   terms
    {a}     {c}  {d, e}
    {a, b}
    """
    parts = []
    for number, cluster in enumerate(release.clusters):
        columns = [_column(f"C{place}", chunk) for place, chunk in enumerate(cluster.record_chunks, 1)]
        terms = ["terms", *([_set(cluster.term_chunk)] if cluster.term_chunk else [])]
        parts.append([f"cluster {number}: {cluster.size} records", *_join_columns([*columns, terms])])
    for joint in release.joints:
        columns = [_column(f"S{place}", chunk) for place, chunk in enumerate(joint.shared_chunks, 1)]
        parts.append([f"shared by clusters {', '.join(map(str, joint.clusters))}", *_join_columns(columns)])
    return "\n\n".join("\n".join(part) for part in parts)


def _column(name: str, chunk: Chunk) -> list[str]:
    return [name, *map(_set, chunk.subrecords)]


def _set(items: Iterable[str]) -> str:
    # Quoting escapes what would control a terminal; the quotes themselves are left out.
    return "{" + ", ".join(quote(item, LONGEST_NAME)[1:-1] for item in items) + "}"


def _join_columns(columns: Sequence[list[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in columns]
    for row in zip_longest(*columns, fillvalue=""):
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


@dataclass(frozen=True, repr=False)
class Disassociated(Represented):
    """Published clusters, and their k and m where these are stated. They do not say which record a sub-record is of.

    >>> chunk = Chunk(("a", "b"), (("a",), ("a", "b")))
    >>> release = Disassociated((Cluster(3, (chunk,), ("c",)),), k=2)
    >>> list(zip(release.ids, release.transactions))
    [('0.0', ('a',)), ('0.1', ('a', 'b')), ('0.2', ())]
    """

    form: ClassVar = FormName.DISASSOCIATED

    clusters: tuple[Cluster, ...]
    joints: tuple[JointCluster, ...] = ()
    k: int | None = None
    m: int | None = None
    cover: str | None = field(default=None, kw_only=True)
    totals: tuple[tuple[str, int], ...] = field(default=(), kw_only=True)
    origin: str = field(default="memory", compare=False)
    method: str = field(default=DISASSOCIATION, compare=False)
    parameters: Mapping[str, object] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", with_bounds(self.parameters, k=self.k, m=self.m))

    def summary(self) -> Summary:
        """Return the release in short: a row for each cluster."""
        records = sum(cluster.size for cluster in self.clusters)
        counts = f"{counted(records, 'record')}, {counted(len(self.clusters), 'cluster')}"
        line = f"Disassociated release of {counts}, k = {self.k}"
        rows = (
            (f"{number}", f"{cluster.size:,}", f"{len(cluster.record_chunks):,}", joined(cluster.items))
            for number, cluster in enumerate(self.clusters)
        )
        return Summary(line, len(self.clusters), ("cluster", "records", "record chunks", "published items"), rows)

    def long_rows(self) -> LongRows:
        """Return a row for each published item of each chunk: chunks are numbers, T for terms, S0.1 for a shared one.

        The cluster of a shared chunk and the sub-record of a term are None.
        """
        chunks: list[tuple[int | None, str, tuple[tuple[str, ...], ...]]] = []
        for number, cluster in enumerate(self.clusters):
            chunks += [(number, str(place), chunk.subrecords) for place, chunk in enumerate(cluster.record_chunks)]
            chunks.append((number, "T", ()))
        for number, joint in enumerate(self.joints):
            chunks += [
                (None, f"S{number}.{place}", chunk.subrecords) for place, chunk in enumerate(joint.shared_chunks)
            ]
        rows: list[tuple[object, ...]] = []
        for of_cluster, name, subrecords in chunks:
            parts = enumerate(subrecords) if name != "T" else ((None, self.clusters[of_cluster or 0].term_chunk),)
            rows += [(of_cluster, name, place, item) for place, items in parts for item in items]
        return LongRows(("cluster", "chunk", "subrecord", "item"), rows)

    @property
    def transactions(self) -> tuple[tuple[str, ...], ...]:
        """The anchor of every row, cluster by cluster."""
        return tuple(anchor for cluster in self.clusters for anchor in cluster.anchors)

    @property
    def ids(self) -> tuple[str, ...]:
        """Names of the rows, such as 2.0. An attacker knows no other names of the records."""
        return tuple(f"{number}.{row}" for number, cluster in enumerate(self.clusters) for row in range(cluster.size))

    @property
    def items(self) -> tuple[str, ...]:
        """Every item of the clusters, in alphabetical order."""
        return tuple(sorted({item for cluster in self.clusters for item in cluster.items}))

    def sorted_by_content(self) -> SortedRelease[Self]:
        """Return the release in an order that depends only on its content.

        Clusters, and joint clusters of one size, are sorted by what they publish. Chunks already have their order, by
        their most frequent items. Items, sub-records and rows are sorted.
        """
        # The order must not depend on numbers of clusters, which follow the records.
        shared = [(joint, [self.clusters[number] for number in joint.clusters]) for joint in self.joints]
        in_joints: list[list[Any]] = [[] for _ in self.clusters]
        for joint, members in shared:
            for number in joint.clusters:
                in_joints[number].append((_content(joint.shared_chunks), sorted(map(_sort_key, members))))
        # Where clusters publish the same, what they share with others decides.
        keys = [(_sort_key(cluster), sorted(joined)) for cluster, joined in zip(self.clusters, in_joints, strict=True)]
        order = sorted(range(len(keys)), key=keys.__getitem__)
        number_of = {place: number for number, place in enumerate(order)}
        joints = [
            replace(joint, clusters=tuple(sorted(map(number_of.__getitem__, joint.clusters)))) for joint in self.joints
        ]
        joints.sort(key=lambda joint: (len(joint.clusters), joint.clusters, _content(joint.shared_chunks)))
        arranged = replace(self, clusters=tuple(self.clusters[place] for place in order), joints=tuple(joints))
        start = np.cumsum([0, *(cluster.size for cluster in self.clusters)])
        # Rows move with their clusters.
        places = [np.arange(start[place], start[place + 1]) for place in order]
        return SortedRelease(arranged, np.concatenate([np.arange(0), *places]), arranged.equal_rows)

    @property
    def equal_rows(self) -> RowIndices:
        """A number for each row, shared by the rows of its cluster with the same anchor."""
        rows = ((number, anchor) for number, cluster in enumerate(self.clusters) for anchor in cluster.anchors)
        code = Coding[tuple[int, tuple[str, ...]]]()
        return np.array([code[row] for row in rows], np.int64)

    def renumbered(self) -> Self:
        """Return the release itself: its rows are named after their clusters."""
        return self

    @classmethod
    def of_lines(cls, lines: Sequence[Line]) -> Self:
        """Return the release that the `lines` of a release file describe. Its guarantee is not checked here."""
        reader = _Reader()
        header = header_of(lines[0], DISASSOCIATION)
        for line in lines[1:]:
            reader.add(line, json_value(line, SHAPE))
        if not reader.clusters:
            raise lines[-1].error("a release without clusters", _HINTS["cluster"])
        return cls(
            tuple(reader.clusters), tuple(reader.joints), header.k, header.m,
            cover=header.cover, totals=reader.totals, origin=location(lines[0].path),
        )  # fmt: skip

    def write(self, path: FilePath, *, ids: bool = False) -> None:
        """Write a release file to `path`; raise an error for what `of_lines` would refuse. `ids` is an error: its rows
        have only positions in their clusters.
        """
        if ids:
            raise DecloakError("a disassociated release has no ids", location(path), "write it without them")
        if not self.clusters:
            raise DecloakError("a release without clusters", location(path), "disassociate some records first")
        head, *parts = _objects(self)
        # What is written is read back by the same code, so that no file is written that cannot be read.
        reader = _Reader()
        header_of(Line(str(path), 1, json.dumps(head)), DISASSOCIATION)
        for number, add in enumerate(parts, 2):
            # An error needs the number of the line alone.
            reader.add(Line(str(path), number, ""), add)
        lines = (json_text(add) for add in (head, *parts))
        write_lines(lines, path, longest=LONGEST_RELEASE, remedy=STORE_REMEDY)

    def __str__(self) -> str:
        """Return the clusters as text tables."""
        return text_table(self)


def _content(chunks: Iterable[Chunk]) -> list[object]:
    return [(chunk.items, chunk.subrecords) for chunk in chunks]


def _sort_key(cluster: Cluster) -> tuple[Any, ...]:
    return _content(cluster.record_chunks), cluster.term_chunk, cluster.size


def as_disassociated(release: object) -> Disassociated:
    """Return `release` if it is disassociated; raise an error that names its form otherwise."""
    if not isinstance(release, Disassociated):
        form = release.form if isinstance(release, Release) else type(release).__name__
        message = f"the release is {quote(form)}, and this is about disassociated ones"
        raise DecloakError(message, hint="read one with read_release, or make one by anonymise(data, 'disassociation')")
    return release


SHAPE = "write one JSON object a line"

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
        # Each name is checked once, and all its uses share one text.
        return tuple([self.names.get(item) or self.names.setdefault(item, line.name(item)) for item in items])


def _objects(release: "Disassociated") -> Iterable[JsonObject]:
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
