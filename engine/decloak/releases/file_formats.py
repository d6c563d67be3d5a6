"""File formats of a release: text, release file, tables for people."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from decloak.data.content import ChunkContent
from decloak.data.disassociated import Disassociated, read_disassociated
from decloak.data.formats.disassociated_file import write_disassociated
from decloak.data.formats.generalised_file import write_generalised
from decloak.data.formats.published import write_published
from decloak.data.formats.release_csv import write_csv
from decloak.data.formats.writing import write_text
from decloak.data.generalised import Generalised, read_generalised
from decloak.data.itemset_table import ItemsetTable, read_itemset_table
from decloak.data.published import Published, read_published

__all__ = [
    "CHUNKS",
    "CHUNKS_CSV",
    "ITEMSETS",
    "LABELS",
    "LABELS_CSV",
    "TABLES",
    "TEXT",
    "AnyRelease",
    "ReleaseFileFormat",
    "published_items",
]


AnyRelease = Published | Generalised | Disassociated | ItemsetTable


def published_items(release: AnyRelease) -> frozenset[str]:
    """Return every item that `release` shows: plain, as a member, or in a chunk."""
    if isinstance(release, ChunkContent):
        shared = (chunk.items for joint in release.joints for chunk in joint.shared_chunks)
        return frozenset().union(*(cluster.items for cluster in release.clusters), *shared)
    if isinstance(release, ItemsetTable):
        return frozenset(release.items)
    published = release.published if isinstance(release, Generalised) else release
    elements = published.rows.used_names
    return frozenset(item for element in elements for item in ((element,) if isinstance(element, str) else element))


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
    lambda release, path, ids: write_published(release, path, ids=ids),
    lambda path, ids: read_published(path, ids=ids),
    _PACKED | _JSON,
    "use .txt (one record per line), .csv (with a codebook), .jsonl (release file) or .db (store)",
)
LABELS = ReleaseFileFormat(
    "release file: JSON Lines with labels and their members",
    lambda release: Generalised.of(release, *release.guarantee_bounds),
    lambda release, path, ids: write_generalised(release, path, ids=ids),
    lambda path, ids: read_generalised(path),
)
CHUNKS = ReleaseFileFormat(
    "release file: JSON Lines, one cluster per line",
    lambda release: release,
    lambda release, path, ids: write_disassociated(release, path),
    lambda path, ids: read_disassociated(path),
    _PACKED | _PLAIN,
    "use .jsonl (release file), .csv (with a codebook) or .db (store), or --text with .txt (tables for people)",
)
ITEMSETS = ReleaseFileFormat(
    "release file: JSON Lines, one itemset per line",
    lambda release: release,
    lambda release, path, ids: release.write(path),
    lambda path, ids: read_itemset_table(path),
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
