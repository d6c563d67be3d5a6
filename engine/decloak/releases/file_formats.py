"""File formats of a release: text, release file, tables for people, and CSV for readers with statistics programs.

The header of a release file names its method. In CSV a release of labels has a row per record and label, a
disassociated one a row per sub-record and item. The codebook beside it explains the columns, and lists the items of
each label.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from decloak.data.content import Chunk, LabelContent
from decloak.data.disassociated import DISASSOCIATION, Disassociated
from decloak.data.formats.delimited import join, records
from decloak.data.formats.generalised_file import GENERALISATION, write_generalised
from decloak.data.formats.lines import LONGEST_LINE, FilePath, Line, decode_text, open_file, read_lines
from decloak.data.formats.published import write_published
from decloak.data.formats.release_header import LONGEST_RELEASE, Header, header_of
from decloak.data.formats.writing import write_lines, write_text
from decloak.data.generalised import Generalised
from decloak.data.itemset_table import ITEMSETS, ItemsetTable
from decloak.data.published import Published, read_published
from decloak.errors import DecloakError

ReleaseOfFile = Disassociated | Generalised | ItemsetTable
AnyRelease = Published | ReleaseOfFile

RELEASE_TYPES: dict[str, type[ReleaseOfFile]] = {
    DISASSOCIATION: Disassociated,
    GENERALISATION: Generalised,
    ITEMSETS: ItemsetTable,
}
"""The release in a release file, by the method that its header names."""


def read_release(path: FilePath) -> ReleaseOfFile:
    """Read the release file at `path` and return the release. Its guarantee is not checked here."""
    lines = read_lines(path, longest=LONGEST_RELEASE)
    return RELEASE_TYPES[header_of(lines[0], *RELEASE_TYPES).method].of_lines(lines)


def read_header(path: FilePath, *methods: str) -> Header:
    """Read only the first line of the release at `path`; return its header. An error if it names none of `methods`,
    where some are given.
    """
    with open_file(path, again=True) as file:
        # A header is short: a longer first line is cut here, and refused as JSON.
        data = file.readline(LONGEST_LINE).removeprefix(b"\xef\xbb\xbf")
    text = decode_text(data, path, 1, "unpack it if it is compressed, or save it as UTF-8")
    return header_of(Line(os.fspath(path), 1, text.rstrip()), *(methods or RELEASE_TYPES))


def published_items(release: AnyRelease) -> frozenset[str]:
    """Return every item that `release` shows: plain, as a member, or in a chunk."""
    if isinstance(release, Disassociated):
        shared = (chunk.items for joint in release.joints for chunk in joint.shared_chunks)
        return frozenset().union(*(cluster.items for cluster in release.clusters), *shared)
    # A label that no record shows does not publish its members.
    return frozenset(release.published.items if isinstance(release, Generalised) else release.items)


LABEL_COLUMNS = {
    "record": "the record; its number does not lead to a person",
    "label": "an item, or the label of several items of which the person has at least one; empty: nothing is published",
}
CHUNK_COLUMNS = {
    "cluster": "the number of the cluster, or the numbers of the clusters that share the chunk",
    "records": "how many records the cluster has; for the kind total, how many records have the item",
    "kind": "record: a record chunk; term: items without a number of records; shared: a chunk of several clusters; "
    "total: the number of all records with the item",
    "chunk": "the number of the chunk in the cluster",
    "row": "the number of the sub-record in the chunk; equal numbers in different chunks do not mean the same record",
    "item": "an item",
}


def codebook_path(path: Path) -> Path:
    """Return the path of the codebook beside the release at `path`.

    >>> codebook_path(Path("out/visits.csv")).name
    'visits.codebook.csv'
    """
    return path.with_name(f"{path.stem}.codebook.csv")


def write_csv(release: LabelContent | Disassociated, path: FilePath, *, ids: bool = False) -> None:
    """Write the rows of `release` to `path`, with its ids if `ids`; raise an error unless they can be read back."""
    columns, cells = (LABEL_COLUMNS, _label_rows(release, ids)) if isinstance(release, LabelContent) else (
        CHUNK_COLUMNS, _chunk_rows(release),
    )  # fmt: skip
    rows = [list(columns), *cells]
    write_lines([join(row, multiline=True) for row in rows], path)
    # A name may have what no CSV carries, and a table that says something else is worse than none.
    if [row for _, row in records(read_lines(path))] != rows:
        raise DecloakError("the table differs after it is read back", hint="write a release file (.jsonl)")


def _label_rows(release: LabelContent, ids: bool) -> Iterator[list[str]]:
    names = release.ids if ids else map(str, range(1, len(release.transactions) + 1))
    for name, labels in zip(names, release.transactions, strict=True):
        # A record that shows nothing keeps a row, so that readers count all records.
        yield from ([name, label] for label in labels or ("",))


def _chunk_rows(release: Disassociated) -> Iterator[list[str]]:
    for number, cluster in enumerate(release.clusters):
        head = [str(number), str(cluster.size)]
        # A cluster that shows nothing keeps a row with its number of records.
        if not (cluster.record_chunks or cluster.term_chunk):
            yield [*head, "", "", "", ""]
        for place, chunk in enumerate(cluster.record_chunks):
            yield from _subrecord_rows([*head, "record", str(place)], chunk)
        yield from ([*head, "term", "", "", item] for item in cluster.term_chunk)
    for joint in release.joints:
        size = sum(release.clusters[number].size for number in joint.clusters)
        head = [" ".join(map(str, joint.clusters)), str(size)]
        for place, chunk in enumerate(joint.shared_chunks):
            yield from _subrecord_rows([*head, "shared", str(place)], chunk)
    yield from (["", str(support), "total", "", "", item] for item, support in release.totals)


def _subrecord_rows(head: list[str], chunk: Chunk) -> Iterator[list[str]]:
    for row, items in enumerate(chunk.subrecords):
        yield from ([*head, str(row), item] for item in items)


def codebook_lines(release: LabelContent | Disassociated, facts: Mapping[str, object]) -> Iterable[str]:
    """Yield the lines of the codebook of `release`: columns, `facts` about the method, and the items of labels."""
    of_labels = isinstance(release, LabelContent)
    yield join(["entry", "name", "meaning"])
    for name, meaning in (LABEL_COLUMNS if of_labels else CHUNK_COLUMNS).items():
        yield join(["column", name, meaning])
    for name, value in facts.items():
        yield join(["fact", name, str(value)])
    for label, items in sorted(release.members.items()) if isinstance(release, LabelContent) else ():
        # Sorted: the order of the members could be that of the hierarchy.
        yield from (join(["label", label, item], multiline=True) for item in sorted(items))


_PACKED = frozenset(
    {".xlsx", ".xls", ".parquet", ".arrow", ".feather", ".ipc", ".gz", ".xz", ".zip", ".doc", ".docx", ".pdf"}
)
_JSON = frozenset({".json", ".jsonl", ".ndjson"})
_PLAIN = frozenset({".tsv", ".txt", ".dat"})


class ReleaseFileFormat(NamedTuple):
    """One way to write a release, and to read it as a recipient does."""

    name: str
    """Name in the manifest."""
    content: Callable[[Any], Any]
    """Returns the part of a release that the format shows."""
    write: Callable[[Any, Path, bool], None]
    """Writes it to a file, with the ids of its rows or without."""
    read: Callable[[Path, bool], Any] | None
    """Reads it; None if only people can."""
    wrong_suffixes: frozenset[str] = frozenset()
    """Endings of file names that belong to another format."""
    remedy: str = ""
    """Advice on the name of a file with one of these endings."""
    has_codebook: bool = False
    """True if a codebook beside the file explains its columns."""


TEXT = ReleaseFileFormat(
    "text: one record per line, with the members of generalised items in brackets",
    lambda release: replace(release, names={}),  # brackets show members alone
    lambda release, path, ids: write_published(release.transactions, release.labels, path, ids=ids),
    lambda path, ids: read_published(path, ids=ids),
    _PACKED | _JSON,
    "use .txt (one record per line), .csv (with a codebook), .jsonl (release file) or .db (store)",
)
LABELS = ReleaseFileFormat(
    "release file: JSON Lines with labels and their members",
    lambda release: Generalised.of(release, *release.guarantee_bounds),
    lambda release, path, ids: write_generalised(release, path, ids=ids),
    lambda path, ids: read_release(path),
)
CHUNKS = ReleaseFileFormat(
    "release file: JSON Lines, one cluster per line",
    lambda release: release,
    lambda release, path, ids: release.write(path),
    lambda path, ids: read_release(path),
    _PACKED | _PLAIN,
    "use .jsonl (release file), .csv (with a codebook) or .db (store), or --text with .txt (tables for people)",
)
ITEMSET_LINES = ReleaseFileFormat(
    "release file: JSON Lines, one itemset per line",
    lambda release: release,
    lambda release, path, ids: release.write(path),
    lambda path, ids: read_release(path),
    _PACKED | _PLAIN,
    "use .jsonl (release file) or .db (store)",
)
TABLES = ReleaseFileFormat(
    "tables for people",
    lambda release: release,
    lambda release, path, ids: write_text(f"{release}\n", path),
    None,
    _PACKED | _JSON | {".csv", ".tsv"},
    "use .txt",
)
LABELS_CSV = ReleaseFileFormat(
    "CSV: one label of a record per line, with a codebook",
    LABELS.content,
    lambda release, path, ids: write_csv(release, path, ids=ids),
    None,
    has_codebook=True,
)
CHUNKS_CSV = ReleaseFileFormat(
    "CSV: one item of a sub-record per line, with a codebook",
    lambda release: release,
    lambda release, path, ids: write_csv(release, path),
    None,
    has_codebook=True,
)
