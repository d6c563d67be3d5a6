"""The distance tables of a scoring in the store: a row for each of theirs, with its distances and context as lists.

How far apart pairs of items are, in the store: a row for each context item, with its scores as a JSON object.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, pairwise, repeat
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.data.pairs import AttackTable, Pairs, ScoredPairs
from decloak.data.rows import CodedRows
from decloak.store.inserting import insert, insert_numbered, insert_rows, item_numbers
from decloak.store.lists import (
    damaged,
    json_lists,
    json_references,
    read_lists,
    read_numbers,
    read_object,
    read_references,
    reference_lists,
    write_numbers,
)
from decloak.store.records import dataset_of, extent
from decloak.store.releases import generalised_numbers

__all__ = [
    "read_contexts",
    "read_distances",
    "read_items",
    "read_pair_scores",
    "read_pairs",
    "write_pairs",
    "write_scoring",
]


def write_scoring(
    connection: sqlite3.Connection,
    digest: str,
    release: int,
    relatedness: int | None,
    context: str,
    tables: Sequence[AttackTable],
) -> int:
    """Write the distance `tables` of `release` and return the number of their scoring.

    `digest` is the key of the stage, `relatedness` the measure behind the distances, `context` what makes a context.
    """
    # An empty start, because a release may have no tables to join.
    numbers, references = write_numbers(connection, np.concatenate([np.zeros(0), *(t.d.ravel() for t in tables)]))
    scoring = insert(
        connection, "scoring",
        digest=digest, release=release, relatedness=relatedness, context=context, numbers=numbers,
    )  # fmt: skip
    generalised = generalised_numbers(connection, release)
    contexts = [CodedRows.of(table.contexts).with_used_names for table in tables]
    names = {*chain.from_iterable(part.names for part in contexts), *chain.from_iterable(t.columns for t in tables)}
    items = item_numbers(connection, sorted(names))
    heads = [
        (scoring, number, generalised[frozenset(table.members)], members, len(table.columns))
        for number, (table, members) in enumerate(
            zip(tables, json_lists([[items[name] for name in table.columns] for table in tables]), strict=True)
        )
    ]
    ids = insert_numbered(connection, "distance_table (scoring, number, generalised, members, columns)", heads)
    first = extent(connection, dataset_of(connection, release)).first
    places = ((id_, row, first + txn) for id_, table in zip(ids, tables, strict=True)
              for row, txn in enumerate(table.transactions.tolist()))  # fmt: skip
    # A table at a time: Python's own lists take ten times the memory of arrays.
    listed = (text for part in contexts for text in json_lists(list(_numbered(part, items))))
    widths = np.repeat(*np.array([table.d.shape[::-1] for table in tables], np.int64).reshape(-1, 2).T)
    lines = reference_lists(references, np.cumsum(widths) - widths)
    rows = ((*place, *texts) for place, *texts in zip(places, listed, lines, strict=True))
    insert_rows(connection, "distance_row (distance_table, row, txn, context, distances)", rows)
    return scoring


def _numbered(contexts: CodedRows[str], items: Mapping[str, int]) -> Iterator[list[int]]:
    """Yield the numbers in the store of the items of each of `contexts`; a context may name an item twice."""
    numbers = np.array([items[name] for name in contexts.names], np.int64)[contexts.codes].tolist()
    return (list(dict.fromkeys(numbers[begin:end])) for begin, end in pairwise(contexts.start.tolist()))


def read_distances(connection: sqlite3.Connection, scoring: int) -> list[Floats]:
    """Return the distances of every table of `scoring`, in order, NaN where there is no score."""
    tables = connection.execute(
        "select t.columns, count(r.row) from distance_table t left join distance_row r on r.distance_table = t.id "
        "where t.scoring = ? group by t.id order by t.number",
        (scoring,),
    ).fetchall()
    texts = _texts(connection, "distances", scoring)
    lengths, references = read_references(texts, f"the distances of scoring {scoring}")
    widths, heights = np.array(tables, np.int64).reshape(-1, 2).T
    if not np.array_equal(lengths, np.repeat(widths, heights)):
        raise damaged(f"tables of scoring {scoring} have rows of other lengths than their columns")
    (first,) = connection.execute("select numbers from scoring where id = ?", (scoring,)).fetchone()
    d = read_numbers(connection, first, references)
    # np.split makes one part of nothing.
    parts = np.split(d, np.cumsum(widths * heights)[:-1]) if len(tables) else []
    return [part.reshape(height, width) for part, (width, height) in zip(parts, tables, strict=True)]


def _texts(connection: sqlite3.Connection, column: str, scoring: int) -> Iterator[str]:
    rows = connection.execute(
        f"select r.{column} from distance_table t join distance_row r on r.distance_table = t.id "
        "where t.scoring = ? order by t.number, r.row",
        (scoring,),
    )
    return (text for (text,) in rows)


def read_contexts(connection: sqlite3.Connection, scoring: int) -> Iterator[tuple[int, int, int]]:
    """Yield each table of `scoring` by its number in it, each row, and each item of the context, in this order."""
    places = connection.execute(
        "select t.number, r.row from distance_table t join distance_row r on r.distance_table = t.id "
        "where t.scoring = ? order by t.number, r.row",
        (scoring,),
    ).fetchall()
    lengths, held = read_lists(_texts(connection, "context", scoring), f"the contexts of scoring {scoring}")
    row = np.repeat(np.arange(len(places)), lengths)
    order = np.lexsort((held, row))
    for place, item in zip(row[order].tolist(), held[order].tolist(), strict=True):
        yield *places[place], item


def read_items(connection: sqlite3.Connection, scoring: int) -> set[int]:
    """Return the items of all contexts and columns of `scoring`."""
    members = [text for (text,) in connection.execute(
        "select members from distance_table where scoring = ?", (scoring,)
    )]  # fmt: skip
    texts = chain(members, _texts(connection, "context", scoring))
    return set(read_lists(texts, f"the items of scoring {scoring}")[1].tolist())


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
    # No item has the number -1, so the first run begins there too.
    first_of_item = np.flatnonzero(np.diff(a[order], prepend=-1))
    b, references = b[order], references[order]
    runs = zip(a[order][first_of_item].tolist(), pairwise([*first_of_item.tolist(), len(a)]), strict=True)
    connection.executemany(
        "insert into scored_item (relatedness, item, scores) values (?, ?, ?)",
        ((relatedness, item, _json_object(b[low:high], references[low:high])) for item, (low, high) in runs),
    )


def _json_object(keys: Ints, references: Ints) -> str:
    return json.dumps(dict(zip(keys.tolist(), json_references(references), strict=True)), separators=(",", ":"))


def read_scored_items(connection: sqlite3.Connection, relatedness: int) -> set[int]:
    """Return the items that have scores in `relatedness`."""
    rows = connection.execute("select item, scores from scored_item where relatedness = ?", (relatedness,))
    return {item for one, text in rows for item in (one, *read_object(text, f"the scores of measure {relatedness}"))}


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
