"""Construction of a corpus index: all documents are indexed, or no file is left."""

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from decloak.data.formats.lines import FilePath, location
from decloak.data.formats.writing import atomic_paths, check_new, report_write_errors
from decloak.data.text.documents import Documents
from decloak.errors import DecloakError, quote
from decloak.relate.corpus_index import INDEX_APPLICATION, INDEX_VERSION, IndexedPart, IndexFacts
from decloak.version import __version__

__all__ = ["BuildProgress", "build"]

BuildProgress = Callable[[int], None]
"""Called now and then with the number of documents so far."""

STEP = 1_000
HASH = 64 << 20
"""Bytes of postings that FTS5 collects before it writes: fewer merges, a third faster than its own default of 1 MB."""

SCHEMA = f"""
pragma journal_mode = off;
pragma page_size = 8192;
pragma application_id = {INDEX_APPLICATION};
pragma user_version = {INDEX_VERSION};
create table about (n integer, stem integer, texts text, made text, decloak text) strict;
create table part (
    number integer primary key, name text, reading text, documents integer, left_out integer, sha256 text
) strict;
"""


def build(
    sources: Sequence[Documents], out: FilePath, *, stem: bool = True, progress: BuildProgress = lambda count: None
) -> IndexFacts:
    """Index the documents of `sources` in a new file `out`, and return its facts.

    With `stem` words with the same Porter stem count as the same word. `progress` is called with the number of
    documents so far.
    """
    out = Path(out)
    for source in sources:
        source.reading.check()
    with _new_index(out) as path, closing(sqlite3.connect(path, isolation_level=None)) as index:
        index.executescript(SCHEMA)
        tokenizer = "porter unicode61" if stem else "unicode61"
        index.execute(
            f"create virtual table documents using fts5(text, content='', columnsize=0, tokenize='{tokenizer}')"
        )
        index.execute("insert into documents(documents, rank) values ('hashsize', ?)", (HASH,))
        index.execute("begin")
        # The digest of all texts names the index, so that counts from equal corpora are shared.
        seen = hashlib.sha256()
        index.executemany("insert into documents(rowid, text) values (?, ?)", _rows(sources, seen, progress))
        facts = _facts(sources, stem, seen.hexdigest())
        if not facts.n:
            raise DecloakError(
                "no documents", location(sources[0].path) if sources else None, "name files that hold text"
            )
        index.execute("insert into documents(documents) values ('optimize')")
        index.execute("insert into about values (?, ?, ?, ?, ?)", facts[:-1])
        parts = ((number, *part) for number, part in enumerate(facts.parts, 1))
        index.executemany("insert into part values (?, ?, ?, ?, ?, ?)", parts)
        index.execute("commit")
    return facts


def _rows(sources: Iterable[Documents], seen: "hashlib._Hash", progress: BuildProgress) -> Iterator[tuple[int, str]]:
    number = 0
    for source in sources:
        for text in source:
            number += 1
            seen.update(text.encode() + b"\xff")  # no UTF-8 text holds that byte
            if number % STEP == 0:
                progress(number)
            yield number, text
    progress(number)


def _facts(sources: Iterable[Documents], stem: bool, texts: str) -> IndexFacts:
    parts = tuple(map(_part, sources))
    created = datetime.now(UTC).isoformat(timespec="seconds")
    return IndexFacts(sum(part.documents for part in parts), stem, texts, created, __version__, parts)


def _part(source: Documents) -> IndexedPart:
    name = os.fsencode(source.path).decode(errors="replace")
    return IndexedPart(name, str(source.reading), source.count, source.left_out.total(), source.sha256.hexdigest())


@contextmanager
def _new_index(out: Path) -> Iterator[Path]:
    """Yield a temporary path to write to; it becomes `out` at the end, or is removed after an error."""
    check_new(out)
    try:
        with report_write_errors(out), atomic_paths(out) as (path,):
            yield path
            check_new(out)  # another build may have put its index there in the meantime
    except sqlite3.DatabaseError as error:
        raise DecloakError(f"SQLite says {quote(error)}", location(out), "make room, or write it elsewhere") from None
