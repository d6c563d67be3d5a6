"""A local corpus that counts terms: an index of documents in one SQLite file, opened read-only.

`documents` is a contentless FTS5 table whose rowids are 1 to N. A term is split into words as documents are; the phrase
is these words in a row, and with stemming every word matches all words with its stem. So nothing in a term is ever read
as a search operator.

Construction of a corpus index: all documents are indexed, or no file is left.
"""

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from decloak.arrays import Ints
from decloak.data.document_counter import Query, QueryPair
from decloak.data.formats.lines import FilePath, location
from decloak.data.formats.writing import atomic_paths, check_new, report_write_errors
from decloak.data.text.documents import Documents
from decloak.digest import digest
from decloak.errors import DecloakError, quote
from decloak.lazy import sparse
from decloak.relate.counting import joint_counts
from decloak.version import __version__

INDEX_APPLICATION = 0x0DEC10C0
"""`PRAGMA application_id` of an index of documents."""

INDEX_VERSION = 1

MOST_WORDS = 64
"""Words of a term, at most; a longer term has no count.

A phrase of a thousand common words takes SQLite half a minute.
"""

QUERIES = 1_000
PAIRS = 50_000
"""Answers in one batch."""

POSTINGS = 8_000_000
"""Occurrences of terms that are in memory together, about 30 bytes each."""


class IndexedPart(NamedTuple):
    """An indexed file or folder: its name, its reading options, and the sha256 of its content."""

    name: str
    reading: str
    documents: int
    left_out: int
    sha256: str


class IndexFacts(NamedTuple):
    """N of an index, True if its words are stemmed, the sha256 of all texts, its date and the version that made it."""

    n: int
    stem: bool
    texts: str
    made: str
    decloak: str
    parts: tuple[IndexedPart, ...]


class Corpus:
    """A counter of the documents of an index."""

    def __init__(self, path: Path, connection: sqlite3.Connection, facts: IndexFacts) -> None:
        self.path = path
        self.facts = facts
        self._connection = connection

    @classmethod
    @contextmanager
    def open(cls, path: FilePath) -> Iterator[Self]:
        """Open the index at `path` that `decloak corpus build` made; yield it."""
        path = Path(path)
        with closing(_connect(path)) as connection:
            with _readable(path):
                _check_kind(path, connection)
                facts = _facts(connection)
            yield cls(path, connection, facts)

    @property
    def n(self) -> int:
        return self.facts.n

    @property
    def origin(self) -> str:
        """Return the name of the counts: it is the same for every index of the same texts."""
        return f"corpus:{digest([INDEX_VERSION, self.facts.n, self.facts.stem, self.facts.texts])}"

    def single(self, queries: Sequence[Query]) -> Iterator[dict[Query, int | None]]:
        """Yield f(x) for each of `queries`, in batches; None for a query with too few or too many words."""
        distinct = list(dict.fromkeys(queries))
        for low in range(0, len(distinct), QUERIES):
            with _readable(self.path):
                matches = _matches(distinct[low : low + QUERIES])
                answers = {query: None if match is None else self._count(match) for query, match in matches.items()}
            yield answers

    def joint(self, pairs: Sequence[QueryPair]) -> Iterator[dict[QueryPair, int | None]]:
        """Yield f(x,y) for each of `pairs`, in batches; None where one of the two has no count."""
        distinct = list(dict.fromkeys(pairs))
        matches = _matches(list(dict.fromkeys(query for pair in distinct for query in pair)))
        counted = [query for query, match in matches.items() if match is not None]
        rows = dict.fromkeys(matches, -1) | {query: row for row, query in enumerate(counted)}
        ends = np.array([[rows[pair[side]] for pair in distinct] for side in (0, 1)], dtype=np.intp)
        # -1 marks pairs with an uncountable term; they become None at the end.
        counts, countable = np.full(len(distinct), -1), (ends >= 0).all(axis=0)
        with _readable(self.path):
            counts[countable] = self._joint(
                [match for match in matches.values() if match is not None], ends[:, countable]
            )
        for low in range(0, len(distinct), PAIRS):
            answers = counts[low : low + PAIRS].tolist()
            batch = zip(distinct[low : low + PAIRS], answers, strict=True)
            yield {pair: None if count < 0 else count for pair, count in batch}

    def _joint(self, matches: Sequence[str], ends: Ints) -> Ints:
        counts = np.zeros(ends.shape[1], dtype=np.int64)
        for low, high in self._blocks(matches, 0, self.n):
            counts += joint_counts(self._term_document_matrix(matches, low, high), *ends)
        return counts

    def _blocks(self, matches: Sequence[str], low: int, high: int) -> Iterator[tuple[int, int]]:
        """Yield blocks of documents, each as large as memory allows for the terms in it."""
        if high - low > 1 and sum(self._count(match, low, high) for match in matches) > POSTINGS:
            middle = (low + high) // 2
            yield from self._blocks(matches, low, middle)
            yield from self._blocks(matches, middle, high)
        else:
            yield low, high

    def _term_document_matrix(self, matches: Sequence[str], low: int, high: int) -> "sparse.csr_array[np.int32]":
        """Return terms × documents, 1 where the document contains the term."""
        postings = [self._postings(match, low, high) for match in matches]
        ends = np.cumsum([0, *map(len, postings)], dtype=np.int32)
        where = np.concatenate([np.zeros(0, dtype=np.int32), *postings])
        ones = np.ones(len(where), dtype=np.int32)
        return sparse.csr_array((ones, where, ends), shape=(len(postings), high - low))

    def _count(self, match: str, low: int = 0, high: int | None = None) -> int:
        count: int = self._query_block("count(*)", match, low, self.n if high is None else high)
        return count

    def _postings(self, match: str, low: int, high: int) -> NDArray[np.int32]:
        """Return the documents that match, counted from the first of the block."""
        # One long text is read three times as fast as one row a document.
        text = self._query_block("group_concat(rowid)", match, low, high)
        numbers = np.fromstring(text, dtype=np.int32, sep=",") if text else np.zeros(0, dtype=np.int32)
        return numbers - np.int32(low + 1)

    def _query_block(self, what: str, match: str, low: int, high: int) -> Any:
        sql = f"select {what} from documents where documents match ? and rowid > ? and rowid <= ?"
        return self._connection.execute(sql, (match, low, high)).fetchone()[0]


def _matches(queries: Sequence[Query]) -> Mapping[Query, str | None]:
    """Return queries in the language of FTS5, None for one that cannot be answered."""
    return {
        query: _match(words, query.words) if 0 < len(words) <= MOST_WORDS else None
        for query, words in zip(queries, _words([query.text for query in queries]), strict=True)
    }


def _match(words: Sequence[str], anywhere: bool) -> str:
    return " AND ".join(f'"{word}"' for word in dict.fromkeys(words)) if anywhere else f'"{" ".join(words)}"'


def _words(texts: Sequence[str]) -> list[list[str]]:
    """Return the words of texts, as FTS5 splits and folds them, before stemming."""
    words: list[list[str]] = [[] for _ in texts]
    with closing(sqlite3.connect(":memory:")) as memory:
        memory.execute("create virtual table given using fts5(text, content='', tokenize='unicode61')")
        memory.execute("create virtual table word using fts5vocab(given, instance)")
        encodable = ((row, text.encode(errors="replace").decode()) for row, text in enumerate(texts))
        memory.executemany("insert into given(rowid, text) values (?, ?)", encodable)
        for row, word in memory.execute('select doc, term from word order by doc, "offset"'):
            words[row].append(word)
    return words


def _connect(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        what = "a folder, not an index" if path.is_dir() else "no index there"
        raise DecloakError(what, location(path), "build one with `decloak corpus build`")
    with _readable(path):
        # Read-only, and without trust in the schema: the file may come from another person.
        index = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
        index.execute("pragma trusted_schema = off")
        return index


def _check_kind(path: Path, connection: sqlite3.Connection) -> None:
    (application,) = connection.execute("pragma application_id").fetchone()
    (version,) = connection.execute("pragma user_version").fetchone()
    if application != INDEX_APPLICATION:
        raise DecloakError("a SQLite database, but no index of documents", location(path), _NOT_OURS)
    if version != INDEX_VERSION:
        message = f"an index of version {version}; this decloak reads version {INDEX_VERSION}"
        raise DecloakError(message, location(path), "build it again")
    # Views and triggers could run SQL of the author of the file.
    if connection.execute("select 1 from sqlite_master where type in ('view', 'trigger')").fetchone():
        raise DecloakError("an index of documents with views or triggers, which may do harm", location(path), _NOT_OURS)
    (pages,), (size,) = (connection.execute(f"pragma {pragma}").fetchone() for pragma in ("page_count", "page_size"))
    if path.stat().st_size < pages * size:  # SQLite reads what is missing of the last page as zeros
        raise sqlite3.DatabaseError("malformed")


def _facts(connection: sqlite3.Connection) -> IndexFacts:
    row = connection.execute("select n, stem, texts, made, decloak from about").fetchone()
    if row is None or None in row:
        raise sqlite3.DatabaseError("malformed")
    n, stem, texts, created, decloak = row
    parts = connection.execute("select name, reading, documents, left_out, sha256 from part order by number")
    return IndexFacts(n, bool(stem), texts, created, decloak, tuple(IndexedPart(*row) for row in parts))


_DAMAGED = "not an index of documents, or a damaged one"
_NOT_OURS = "name another file, or build one with `decloak corpus build`"


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Convert complaints of SQLite into errors that name the file."""
    try:
        yield
    except UnicodeDecodeError:  # of a message of SQLite that quotes what is damaged
        raise DecloakError(_DAMAGED, location(path), _NOT_OURS) from None
    except sqlite3.DatabaseError as error:
        text = str(error)
        if "not a database" in text or "malformed" in text:
            raise DecloakError(_DAMAGED, location(path), _NOT_OURS) from None
        raise DecloakError(f"SQLite says {quote(text)}", location(path), "build the index again") from None


BuildProgress = Callable[[int], None]
"""Called now and then with the number of documents so far."""

STEP = 1_000
HASH = 64 << 20
"""Bytes of postings that FTS5 collects before it writes: fewer merges, a third faster than its own default of 1 MB."""

# No journal is needed: the file gets its name only when it is complete.
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
        facts = _facts_now(sources, stem, seen.hexdigest())
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


def _facts_now(sources: Iterable[Documents], stem: bool, texts: str) -> IndexFacts:
    parts = tuple(
        IndexedPart(
            # A file name may have bytes that are no text, which SQLite would refuse.
            os.fsencode(source.path).decode(errors="replace"),
            str(source.reading),
            source.count,
            source.left_out.total(),
            source.sha256.hexdigest(),
        )
        for source in sources
    )
    created = datetime.now(UTC).isoformat(timespec="seconds")
    return IndexFacts(sum(part.documents for part in parts), stem, texts, created, __version__, parts)


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
