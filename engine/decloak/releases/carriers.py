"""What a release can be handed out as: text, a release file, tables for people, a store."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from decloak.data.disassociated import read_disassociated
from decloak.data.formats.disassociated_file import write_disassociated
from decloak.data.formats.generalised_file import write_generalised
from decloak.data.formats.published import write_published
from decloak.data.formats.writing import write_text
from decloak.data.generalised import Generalised, read_generalised
from decloak.data.published import read_published

__all__ = ["CHUNKS", "LABELS", "TABLES", "TEXT", "Carrier"]


_PACKED = frozenset({".xlsx", ".xls", ".parquet", ".arrow", ".feather", ".ipc", ".gz", ".xz", ".zip"})
_JSON = frozenset({".json", ".jsonl", ".ndjson"})
_PLAIN = frozenset({".csv", ".tsv", ".txt", ".dat"})


class Carrier(NamedTuple):
    """One way to write a release, and to read it as somebody does who gets it."""

    name: str
    """As a manifest calls it."""
    shaped: Callable[[Any], Any]
    """What of a release it shows."""
    write: Callable[[Any, Path, bool], None]
    """Write it to a file, with the ids of its rows or without."""
    read: Callable[[Path, bool], Any] | None
    """Read it; None where only people can."""
    unfit: frozenset[str] = frozenset()
    """The endings of names that promise another format."""
    remedy: str = ""
    """What to call a file that has one of these."""


TEXT = Carrier(
    "text: a transaction a line, generalised items as their members in brackets",
    lambda release: replace(release, names={}),  # brackets show members alone
    lambda release, path, ids: write_published(release, path, ids=ids),
    lambda path, ids: read_published(path, ids=ids),
    _PACKED | _JSON,
    "end it in .txt, or in .jsonl for a release file",
)
LABELS = Carrier(
    "release file: JSON Lines, generalised items as labels, with what they stand for",
    lambda release: Generalised.of(release, *release.promised),
    lambda release, path, ids: write_generalised(release, path, ids=ids),
    lambda path, ids: read_generalised(path),
)
CHUNKS = Carrier(
    "release file: JSON Lines, a cluster a line",
    lambda release: release,
    lambda release, path, ids: write_disassociated(release, path),
    lambda path, ids: read_disassociated(path),
    _PACKED | _PLAIN,
    "end it in .jsonl, or give --text for tables that people read",
)
TABLES = Carrier(
    "tables for people",
    lambda release: release,
    lambda release, path, ids: write_text(f"{release}\n", path),
    None,
    _PACKED | _JSON | {".csv", ".tsv"},
    "end it in .txt",
)
