"""How far apart pairs of items are, in the store: a row for each context item, with its scores as a JSON object."""

import json
import sqlite3
from collections.abc import Sequence
from itertools import pairwise, repeat
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.data.pairs import Pairs, ScoredPairs
from decloak.store.inserting import insert, item_numbers
from decloak.store.lists import damaged, json_references, read_numbers, read_object, write_numbers

__all__ = ["read_items", "read_pair_scores", "read_pairs", "write_pairs", "write_relatedness"]


class _Pairs(NamedTuple):
    """The numbers of the context item and of the other item of each pair, and its score."""

    a: Ints
    b: Ints
    scores: Floats


def write_relatedness(
    connection: sqlite3.Connection,
    digest: str,
    measure: str,
    origin: str,
    scores: ScoredPairs,
    warnings: Sequence[str],
) -> int:
    """Write the scores of item pairs and return the number of their measure.

    `digest` is the key of the stage, `measure` the way to score, `origin` the source of its counts or scores. `scores`
    are by context item and other item. `warnings` list the items that the measure could not use.
    """
    pairs, numbers = scores.pairs, np.zeros(len(scores.pairs.items), np.int64)
    items = item_numbers(connection, sorted(pairs.terms))
    numbers[pairs.item_codes] = [items[name] for name in pairs.terms]
    number = insert(
        connection, "relatedness",
        digest=digest, measure=measure, origin=origin, warnings=json.dumps(list(warnings)),
    )  # fmt: skip
    write_pairs(connection, number, numbers[pairs.a], numbers[pairs.b], scores.numbers)
    return number


def write_pairs(connection: sqlite3.Connection, relatedness: int, a: Ints, b: Ints, scores: Floats) -> None:
    """Write the scores of pairs: `a` are the context items, `b` the other items, NaN in `scores` is no score."""
    first, references = write_numbers(connection, scores)
    connection.execute("update relatedness set numbers = ? where id = ?", (first, relatedness))
    order = np.lexsort((b, a))
    first_of_item = np.flatnonzero(np.diff(a[order], prepend=-1))
    b, references = b[order], references[order]
    runs = zip(a[order][first_of_item].tolist(), pairwise([*first_of_item.tolist(), len(a)]), strict=True)
    connection.executemany(
        "insert into scored_item (relatedness, item, scores) values (?, ?, ?)",
        ((relatedness, item, _json_object(b[low:high], references[low:high])) for item, (low, high) in runs),
    )


def _json_object(keys: Ints, references: Ints) -> str:
    return json.dumps(dict(zip(keys.tolist(), json_references(references), strict=True)), separators=(",", ":"))


def read_items(connection: sqlite3.Connection, relatedness: int) -> list[int]:
    """Return the items that have scores in `relatedness`."""
    pairs = read_pairs(connection, relatedness)
    return np.union1d(pairs.a, pairs.b).tolist()  # type: ignore[no-any-return]


def read_pairs(connection: sqlite3.Connection, relatedness: int) -> _Pairs:
    """Return the context item and the other item of each pair by number, ascending, and its score."""
    what = f"the scores of measure {relatedness}"
    a: list[int] = []
    b: list[int] = []
    references: list[float | None] = []
    for item, text in connection.execute(
        "select item, scores from scored_item where relatedness = ? order by item", (relatedness,)
    ):
        scores = read_object(text, what)
        a.extend(repeat(item, len(scores)))
        b.extend(scores)
        references.extend(scores.values())
    if not all(reference is None or type(reference) is int for reference in references):
        raise damaged(f"{what} are no objects of numbers")
    places = np.array(references, np.float64)
    (first,) = connection.execute("select numbers from relatedness where id = ?", (relatedness,)).fetchone()
    return _Pairs(np.array(a, np.int64), np.array(b, np.int64), read_numbers(connection, first, places))


def read_pair_scores(connection: sqlite3.Connection, relatedness: int) -> ScoredPairs:
    """Return the scores of `relatedness` by the names of the context item and the other item."""
    a, b, scores = read_pairs(connection, relatedness)
    numbers, codes = np.unique(np.concatenate([a, b]), return_inverse=True)
    names = dict(connection.execute("select id, name from item"))
    try:
        items = tuple(names[number] for number in numbers.tolist())
    except KeyError:
        raise damaged(f"measure {relatedness} scores an item that is not there") from None
    codes = codes.astype(np.int32)
    return ScoredPairs(Pairs(items, codes[: len(a)], codes[len(a) :]), scores)
