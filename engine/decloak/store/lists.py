"""Lists of numbers in the store: JSON text in the row of their node.

    list          the numbers of one node, such as the elements of a record: [4,17,-2]
    reference     a number in a list that stands for a row of the table `number`: its distance from the first row that
                  belongs to the owner of the list; null stands for no number

Floating-point numbers are references: the table keeps their 64 bits, so that reading parses no decimal text. Many cells
share a few thousand numbers, and the most frequent ones get the shortest references.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat
from typing import Any

import numpy as np

from decloak.arrays import Floats, Ints, NumberArray
from decloak.data.read_budget import charge
from decloak.errors import DecloakError
from decloak.store.inserting import insert_rows

_SEPARATORS = (",", ":")
_ROWS = 1 << 16
"""Number of lists that are parsed together: Python's own lists take ten times the memory of arrays."""


def damaged(what: str) -> DecloakError:
    """Return the error that `what` of a store is not as decloak writes it."""
    return DecloakError(f"the store is damaged: {what}", hint="name another store, and run the scenario into it")


def json_lists(lists: Sequence[Sequence[int | None]]) -> list[str]:
    """Return the JSON text of each of `lists`.

    >>> json_lists([[4, 17], [], [None]])
    ['[4,17]', '[]', '[null]']
    """
    if not lists:
        return []
    # One text for all lists, cut where they end, takes a third of the time of a text for each.
    return [f"[{text}]" for text in json.dumps(lists, separators=_SEPARATORS)[2:-2].split("],[")]


def json_references(references: Ints) -> list[int | None]:
    """Return `references` for a list: None for the negative ones, which replace an absent number."""
    values: list[int | None] = references.tolist()
    if len(references) and int(references.min()) < 0:
        values = [None if value is not None and value < 0 else value for value in values]
    return values


def reference_lists(references: Ints, starts: Ints) -> Iterator[str]:
    """Yield the JSON text of each list of `references`, null for a negative one. `starts` has the place of the first
    reference of each list.
    """
    ends = np.append(starts, len(references))[1:]
    # A block at a time: as Python's numbers all of them would take ten times the memory.
    for block in np.split(np.column_stack((starts, ends)), np.flatnonzero(np.diff(starts // _ROWS)) + 1):
        begin, end = block.min(initial=len(references)), block.max(initial=0)
        listed = json_references(references[begin:end])
        yield from json_lists([listed[low:high] for low, high in (block - begin).tolist()])


MOST = 32
"""Most findings of a list: to find the number of each, a view reads the whole list."""


def finding_lists(first: int, owner: Ints, *columns: Ints | None) -> Iterator[tuple[int | str | None, ...]]:
    """Yield a row for each list of findings: the number of its first finding, its owner, and a text for each column.

    The findings begin with the number `first`. Those of a list have one `owner`, and follow each other. A text is a
    list of the numbers in one of `columns`, null for a negative one. It is None for a column that is None.
    """
    of_owner = np.flatnonzero(np.diff(owner, prepend=-1))
    place = np.arange(len(owner)) - np.repeat(of_owner, np.diff(np.append(of_owner, len(owner))))
    starts = np.flatnonzero(place % MOST == 0)
    texts = (repeat(None) if column is None else reference_lists(column, starts) for column in columns)
    return zip((first + starts).tolist(), owner[starts].tolist(), *texts, strict=False)


def read_lists(texts: Iterable[str], what: str) -> tuple[Ints, Ints]:
    """Return the lengths of the lists of whole numbers in `texts`, and the numbers of all lists in order.

    `what` names them in the error for texts that hold something else.
    """
    lengths, values = _parsed(texts, what)
    if values.dtype.kind != "i":
        raise damaged(f"{what} are no lists of numbers")
    return lengths, values


def read_findings(lists: Sequence[tuple[int, str]], attack: Sequence[int], what: str) -> tuple[Ints, Ints]:
    """Return the lengths and the numbers of `lists` of findings: the number of the first finding, and the text of each.

    `attack` has the number of its first finding, and their count. `what` names the lists in the error for others.
    """
    first, count = attack
    lengths, values = read_lists((text for _, text in lists), what)
    ends = np.cumsum(lengths)
    if len(values) != count or [number for number, _ in lists] != (first + ends - lengths).tolist():
        raise damaged(f"{what} are other findings than its own")
    return lengths, values


def read_references(texts: Iterable[str], what: str) -> tuple[Ints, Floats]:
    """Return the lengths of the lists of references in `texts`, and the references of all, NaN for no number.

    `what` names them in the error for texts that hold something else.
    """
    lengths, values = _parsed(texts, what)
    with np.errstate(invalid="ignore"):
        if np.isinf(values).any() or not np.array_equal(values, np.floor(values), equal_nan=True):
            raise damaged(f"{what} are no lists of references")
    return lengths, values.astype(np.float64)


def _parsed(texts: Iterable[str], what: str) -> tuple[Ints, NumberArray]:
    lengths: list[int] = []
    parts: list[NumberArray] = [np.zeros(0, np.int64)]
    block: list[str] = []
    for text in chain(texts, (None,)):
        if text is not None:
            block.append(text)
        if block and (text is None or len(block) == _ROWS):
            parts.append(_numbers(block, what))
            # Counted in the text, because the parser gets all lists as one.
            lengths += [text.count(",") + 1 if len(text) > 2 else 0 for text in block]
            block = []
    values = np.concatenate(parts)
    if sum(lengths) != len(values):
        raise damaged(f"{what} are no lists of numbers")
    return np.array(lengths, np.int64), values


def _numbers(texts: Sequence[str], what: str) -> NumberArray:
    """Return the numbers of all lists, joined to one text for a single call of the parser."""
    if not all(text.startswith("[") and text.endswith("]") for text in texts):
        raise damaged(f"{what} are no lists of numbers")
    try:
        # An empty list would leave two commas in a row.
        values = json.loads(f"[{','.join(text[1:-1] for text in texts if len(text) > 2)}]")
        charge(8 * len(values))
        # Only floating-point numbers have NaN, which None becomes.
        array = np.array(values, np.float64 if None in values else None) if values else np.zeros(0, np.int64)
    except (ValueError, TypeError, RecursionError, OverflowError):
        raise damaged(f"{what} are no lists of numbers") from None
    if array.ndim != 1 or array.dtype.kind not in "if":
        raise damaged(f"{what} are no lists of numbers")
    return array


def read_object(text: str, what: str) -> dict[int, Any]:
    """Return the JSON object in `text` with whole numbers for its keys; `what` names it in the error."""
    try:
        return {int(key): value for key, value in json.loads(text).items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise damaged(f"{what} are no objects of numbers") from None


def write_numbers(connection: sqlite3.Connection, values: Floats) -> tuple[int, Ints]:
    """Write the distinct numbers among `values`, the most frequent first.

    Return the place of the first one, and the reference of each value, -1 for NaN.
    """
    (first,) = connection.execute("select coalesce(max(id), 0) + 1 from number").fetchone()
    known = ~np.isnan(values)
    different, inverse, counts = np.unique(values[known], return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    references = np.full(values.shape, -1, np.int64)
    references[known] = place[inverse.reshape(-1)]
    rows = enumerate(different[order].tolist(), first)
    insert_rows(connection, "number (id, value)", rows)
    return int(first), references


def write_attack_numbers(connection: sqlite3.Connection, attack: int, values: Floats) -> Ints:
    """Write the distinct numbers among `values` as numbers of `attack`; return their references, -1 for NaN."""
    first, references = write_numbers(connection, values)
    connection.execute("update attack set numbers = coalesce(numbers, ?) where id = ?", (first, attack))
    (base,) = connection.execute("select numbers from attack where id = ?", (attack,)).fetchone()
    references[references >= 0] += first - base
    return references


def read_numbers(connection: sqlite3.Connection, first: int, references: Floats) -> Floats:
    """Return the numbers behind `references`, counted from `first`; NaN where the reference is empty."""
    known = ~np.isnan(references)
    if not known.any():
        return np.full(references.shape, np.nan)
    low, high = int(references[known].min()), int(references[known].max())
    rows = connection.execute(
        # SQLite adds them, because a damaged store has sums beyond its whole numbers.
        "select value from number where id between ?1 and ?1 + ?2 order by id",
        (first, float(high)),
    ).fetchall()
    if low < 0 or len(rows) != high + 1:
        raise damaged("a list refers to a number that is not there")
    numbers = np.full(references.shape, np.nan)
    numbers[known] = np.array(rows, np.float64)[references[known].astype(np.int64), 0]
    return numbers
