"""Transactions from search logs: a record has the queries of one person.

A log has the form that AOL released: lines of AnonID, Query, QueryTime, ItemRank and ClickURL with tabs between them.
The last two are empty or absent without a click. Only the first two are used.
"""

import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import groupby
from pathlib import Path

from decloak.data.dataset import Dataset
from decloak.data.formats.lines import LONGEST_LINE, FilePath, Line, ReadProgress, location
from decloak.data.formats.record import Names
from decloak.data.formats.unpacked import unpacked
from decloak.data.text.phrases import Tagger, english, folded, is_content, outermost, phrases, sentences
from decloak.errors import DecloakError

SHORT = 2
"""Largest number of words of a query that becomes one item."""

LONGEST_SHORT = 20
COLUMNS = ("AnonID", "Query", "QueryTime", "ItemRank", "ClickURL")
HEADER = [column.lower() for column in COLUMNS]
KEPT = 100_000
"""Number of queries whose items are cached: popular and repeated queries are tagged once."""

_ADDRESS = re.compile(r"(?:https?://)?(?:[\w-]+\.)+[^\W\d_]{2,}(?:[/:?#].*)?")
_BEFORE = re.compile(r"(?:https?://)?(?:www\.)?")


def read_searchlog(
    paths: FilePath | Iterable[FilePath],
    *,
    short: int = SHORT,
    progress: ReadProgress | None = None,
    tagger: Tagger | None = None,
) -> Dataset:
    """Return the search logs at `paths` as records, one per person over all lines and files.

    A query of at most `short` words is an item; a longer one gives its nouns and noun phrases. People without any item
    are left out. Files are read a line at a time; .gz and .xz are unpacked. `progress` is called during reading;
    `tagger` replaces the English one.
    """
    if not 0 <= short <= LONGEST_SHORT:
        raise DecloakError(f"short queries of at most {short} words", hint=f"write 0 to {LONGEST_SHORT}")
    files = [Path(paths)] if isinstance(paths, str | os.PathLike) else [Path(path) for path in paths]
    counter = _ByteCounter(sum(file.stat().st_size for file in files if file.is_file()), progress)
    names, users = Names(), dict[str, dict[str, None]]()

    @lru_cache(KEPT)
    def items_of(query: str) -> list[str]:
        return [names[item] for item in _items(query, short, tagger)]

    for file in files:
        for user, query in _entries(file, counter):
            # A dict keeps the order of items, and each of them once.
            users.setdefault(names[user], {}).update(dict.fromkeys(items_of(query)))
    transactions = {user: outermost(items) for user, items in users.items() if items}
    if not transactions:
        raise DecloakError("no queries that make an item", ", ".join(map(location, files)) or None, "expected a log")
    return Dataset(tuple(transactions.values()), tuple(transactions), ", ".join(map(location, files)))


def _items(query: str, short: int, tagger: Tagger | None) -> Iterator[str]:
    """Yield the items of one query. An address is always an item, however long the query is."""
    words = query.lower().replace('"', ' " ').split()
    whole = [word for word in words if word != '"']
    if len(whole) <= short and not any(map(_ADDRESS.fullmatch, whole)):
        if any(map(is_content, whole)):
            yield folded(whole)
        return
    for is_address, group in groupby(words, lambda word: _ADDRESS.fullmatch(word) is not None):
        if is_address:
            yield from (_BEFORE.sub("", word, count=1).rstrip("/") for word in group)
        else:
            for sentence in sentences(" ".join(group)):
                yield from phrases((tagger or english())(sentence))


class _ByteCounter:
    """A counter of the bytes that are read. It reports the progress."""

    def __init__(self, size: int, progress: ReadProgress | None) -> None:
        self.size, self.progress, self.done = size, progress, 0

    def update(self, data: bytes, /) -> None:
        self.done += len(data)
        if self.progress is not None:
            self.progress(self.done, max(self.size, self.done))


def _entries(file: Path, counter: _ByteCounter) -> Iterator[tuple[str, str]]:
    """Yield person and query of each line."""
    for line in _lines(file, counter):
        cells = line.text.split("\t")
        if len(cells) not in (3, len(COLUMNS)):
            columns = "1 column" if len(cells) == 1 else f"{len(cells)} columns"
            raise line.error(f"{columns} between tabs", f"expected {', '.join(COLUMNS)}")
        user, query = cells[0].strip(), cells[1]
        if not user:
            raise line.error("no AnonID", "write who posed the query, or remove the line")
        if user.lower() not in HEADER or not _is_header(line, cells):
            yield user, query


def _is_header(line: Line, cells: list[str]) -> bool:
    """Return True if a line that begins like a header is one: the first must be, later ones are where logs were
    concatenated.
    """
    matches = [cell.strip().lower() for cell in cells] == HEADER[: len(cells)]
    if line.number == 1 and not matches:
        raise line.error("a header of other columns", f"expected {', '.join(COLUMNS)}")
    return matches


def _lines(file: Path, counter: _ByteCounter) -> Iterator[Line]:
    name, number = os.fspath(file), 0
    with unpacked(file, counter) as stream:
        while data := stream.readline(LONGEST_LINE + 1):
            number += 1
            line = Line(name, number, _decoded(data))
            if len(data) > LONGEST_LINE:
                raise line.error("a line that is too long", f"at most {LONGEST_LINE:,} bytes")
            if "\0" in line.text:
                raise line.error("a zero byte", "expected a text file; what is packed must end in .gz or .xz")
            if line.text.strip():
                yield line


def _decoded(data: bytes) -> str:
    """Return the text in UTF-8, or in Latin-1 if a line is not UTF-8: logs contain whatever keyboards sent."""
    data = data.removeprefix(b"\xef\xbb\xbf").removesuffix(b"\n").removesuffix(b"\r")
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")
