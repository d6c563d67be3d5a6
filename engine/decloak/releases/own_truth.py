"""The original records behind the rows of a release that was made elsewhere.

The owner of the data names the record of every row in a file. The import checks that the release can be made from these
records, and finds the suppressed occurrences. Only the evaluator reads the result.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NoReturn

import numpy as np

from decloak.arrays import Ints
from decloak.data.content import Chunk
from decloak.data.dataset import Dataset
from decloak.data.disassociated import Disassociated
from decloak.data.formats.delimited import records
from decloak.data.formats.lines import FilePath, location, stream_lines
from decloak.errors import DecloakError, quote, quote_some
from decloak.lazy import sparse
from decloak.rules.reassociate.shared import shared_places

COLUMNS = ["row", "record"]
ONE_EACH = "name one record for every row, and every record once"


def read_row_origins(path: FilePath, rows: Sequence[str], original: Dataset) -> Ints:
    """Return the place in `original` of the record behind each of `rows`, as the file at `path` says.

    The file is a CSV file with the columns row and record. It has one line for every row.

    - `rows`: the names of the published rows: `2.0` is the first row of cluster 2, other releases have ids or numbers.
    - `original`: the records; a record without an id is named by its number, from 1.
    """
    place_of, row_at = ({name: at for at, name in enumerate(names)} for names in (original.labels, rows))
    # Of two records with one id only the last would be found.
    if len(place_of) < len(original.labels):
        raise DecloakError("two records have the same id", original.origin, "give every record an id of its own")
    behind = np.full(len(rows), -1, np.int64)
    taken: dict[str, str] = {}
    lines = records(stream_lines(path))
    head = next(lines, None)
    if head is None or head[1] != COLUMNS:
        raise DecloakError("the first line is not row,record", location(path), "write it above the rows")
    for line, cells in lines:
        if len(cells) != len(COLUMNS):
            raise line.error(f"{len(cells)} values instead of a row and a record", "write such as 0.0,17")
        row, record = cells
        if row not in row_at:
            raise line.error(f"the release has no row {quote(row)}", f"its rows are {quote_some(rows)}")
        if record not in place_of:
            hint = f"{quote(original.origin, 200)[1:-1]} has {quote_some(original.labels)}"
            raise line.error(f"there is no original record {quote(record)}", hint)
        if behind[row_at[row]] >= 0 or taken.setdefault(record, row) != row:
            twice = f"the row {quote(row)}" if behind[row_at[row]] >= 0 else f"the record {quote(record)}"
            raise line.error(f"{twice} is named twice", ONE_EACH)
        behind[row_at[row]] = place_of[record]
    _complete(path, rows, behind, original)
    return behind


def _complete(path: FilePath, rows: Sequence[str], behind: Ints, original: Dataset) -> None:
    """Raise an error for rows without a record, and for records without a row."""
    lacking = np.flatnonzero(behind < 0).tolist()
    if lacking:
        message = f"{len(lacking):,} of {len(rows):,} rows have no record: {quote_some([rows[at] for at in lacking])}"
        raise DecloakError(message, location(path), ONE_EACH)
    if len(behind) < len(original.labels):
        absent = np.setdiff1d(np.arange(len(original.labels)), behind).tolist()
        message = f"{len(absent):,} original records have no row: {quote_some([original.labels[at] for at in absent])}"
        raise DecloakError(message, location(path), "leave records out of the original file that were not published")


def suppressed_occurrences(
    release: Disassociated, original: Dataset, behind: Ints, path: FilePath
) -> list[tuple[int, str]]:
    """Return the occurrences that `release` suppressed, each as the place of its record and the item.

    `behind` has the place in `original` of the record of every row, from the file at `path`. Where the release leaves
    open which of several records lost an item, one possible choice is returned. A row with an item that its record does
    not have is an error.
    """
    held = [frozenset(original.transactions[place]) for place in behind.tolist()]
    cut: list[tuple[int, str]] = []
    shared_rows: dict[str, list[tuple[int, frozenset[str]]]] = defaultdict(list)
    row = 0
    for number, (cluster, shared) in enumerate(zip(release.clusters, shared_places(release), strict=True)):
        rows = range(row, row + cluster.size)
        row += cluster.size
        published = {*cluster.items, *shared}
        cut += [(at, item) for at in rows for item in sorted(held[at] - published)]
        for position, chunk in enumerate(cluster.record_chunks):
            own = [(at, held[at].intersection(chunk.items)) for at in rows]
            where = f"cluster {number}, chunk {position}"
            # The first chunk has the anchors of the rows, in the order of the rows.
            cut += _lost(own, chunk, path, where, aligned=position == 0)
        items_of: dict[str, set[str]] = defaultdict(set)
        for item, name in shared.items():
            items_of[name].add(item)
        for name, items in items_of.items():
            shared_rows[name] += [(at, held[at] & items) for at in rows]
    for number, joint in enumerate(release.joints):
        for position, chunk in enumerate(joint.shared_chunks):
            where = f"joint cluster {number}, shared chunk {position}"
            cut += _lost(shared_rows[f"S{number}.{position}"], chunk, path, where, aligned=False)
    return [(int(behind[at]), item) for at, item in cut]


def _lost(
    own: Sequence[tuple[int, frozenset[str]]], chunk: Chunk, path: FilePath, where: str, *, aligned: bool
) -> Iterator[tuple[int, str]]:
    """Yield what the rows `own` lost in `chunk`: the row, and the item.

    `own` has each row with the items of its record. Sub-records of an `aligned` chunk are those of the rows in order.
    """
    shown = [frozenset(subrecord) for subrecord in chunk.subrecords]
    if aligned:
        pairs = [*zip(own, shown, strict=False), *((entry, frozenset[str]()) for entry in own[len(shown) :])]
    else:
        pairs = list(_rows_with_subrecord(own, shown, path, where))
    for (at, items), subrecord in pairs:
        if strange := subrecord - items:
            _refuse(path, where, strange)
        for item in sorted(items - subrecord):
            yield at, item


def _rows_with_subrecord(
    own: Sequence[tuple[int, frozenset[str]]], shown: Sequence[frozenset[str]], path: FilePath, where: str
) -> Iterator[tuple[tuple[int, frozenset[str]], frozenset[str]]]:
    """Yield each row with a sub-record that it can have: an equal one if there is any, else a part of its items."""
    left: dict[frozenset[str], int] = defaultdict(int)
    for subrecord in shown:
        left[subrecord] += 1
    open_rows = []
    for entry in own:
        # Taking an equal one first loses no match: sub-records that fit this row fit the other row too.
        if left.get(entry[1], 0):
            left[entry[1]] -= 1
            yield entry, entry[1]
        elif entry[1]:
            open_rows.append(entry)
    rest = [subrecord for subrecord, count in left.items() for _ in range(count)]
    fits = [(a, b) for a, subrecord in enumerate(rest) for b, (_, items) in enumerate(open_rows) if subrecord <= items]
    # The first row that fits is not enough: it can leave a later sub-record without a row.
    chosen = _matched(fits, len(rest), len(open_rows))
    for a, subrecord in enumerate(rest):
        if a not in chosen:
            _refuse(path, where, subrecord)
        yield open_rows[chosen[a]], subrecord
    used = set(chosen.values())
    yield from ((entry, frozenset()) for b, entry in enumerate(open_rows) if b not in used)


def _matched(fits: Sequence[tuple[int, int]], rows: int, columns: int) -> dict[int, int]:
    """Return a largest matching between rows and columns that fit."""
    from scipy.sparse.csgraph import maximum_bipartite_matching

    if not fits:
        return {}
    a, b = np.array(fits, np.int64).T
    graph = sparse.csr_array((np.ones(len(a), np.int8), (a, b)), (rows, columns))
    found = maximum_bipartite_matching(graph, perm_type="column")
    return {row: int(column) for row, column in enumerate(found.tolist()) if column >= 0}


def _refuse(path: FilePath, where: str, items: frozenset[str]) -> NoReturn:
    message = f"{where}: the records of these rows cannot show {quote(', '.join(sorted(items)))}"
    raise DecloakError(message, location(path), "name the record of each row, of the file that the release was made of")
