"""How far apart pairs of items are, in the store: arrays always, and rows where somebody wants to see them.

items         the items of the store that have scores, ascending
a, b          the context item and the other item of each pair, by place among those, in the order of the rows
scores        how far apart they are; NaN where the source gives no score
"""

import json
import math
import sqlite3
from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.store.arrays import damaged, read_floats, read_numbers, write_array
from decloak.store.bulk import PENDING, Bulk
from decloak.store.inserting import insert, insert_rows, item_numbers

__all__ = ["STORED_PAIRS", "read_items", "read_pair_scores", "read_pairs", "write_relatedness"]

ARRAY = "relatedness_array"


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
    scores: Mapping[tuple[str, str], float | None],
    warnings: Sequence[str],
) -> int:
    """Write the scores of item pairs; None is no score."""
    number = insert(
        connection, "relatedness",
        digest=digest, measure=measure, origin=origin, warnings=json.dumps(list(warnings)),
    )  # fmt: skip
    items = item_numbers(connection, (name for pair in scores for name in pair))
    a, b = (np.fromiter((items[pair[side]] for pair in scores), np.int64, len(scores)) for side in (0, 1))
    _keep_pairs(connection, number, _Pairs(a, b, np.array(list(scores.values()), np.float64)))
    return number


def _keep_pairs(connection: sqlite3.Connection, relatedness: int, pairs: _Pairs) -> None:
    """Keep the scores of pairs."""
    order = np.lexsort((pairs.b, pairs.a))
    items, codes = np.unique(np.concatenate((pairs.a[order], pairs.b[order])), return_inverse=True)
    a, b = np.split(codes, 2)
    for name, values in (("items", items), ("a", a), ("b", b), ("scores", pairs.scores[order])):
        write_array(connection, relatedness, name, values, table=ARRAY)
    insert(connection, "relatedness_extent", relatedness=relatedness, pairs=len(order), pending=PENDING)


def read_items(connection: sqlite3.Connection, relatedness: int) -> list[int]:
    """Return the items that have scores."""
    return list(read_numbers(connection, relatedness, "items", ARRAY).tolist())


def read_pairs(connection: sqlite3.Connection, relatedness: int) -> _Pairs:
    """Return the context item and the other item of each pair by number, ascending, and its score."""
    items, a, b = (read_numbers(connection, relatedness, name, ARRAY) for name in ("items", "a", "b"))
    scores = read_floats(connection, relatedness, "scores", ARRAY)
    row = connection.execute("select pairs from relatedness_extent where relatedness = ?", (relatedness,)).fetchone()
    for name, codes in (("a", a), ("b", b)):
        if int(codes.max(initial=-1)) >= len(items):
            raise damaged(relatedness, name, ARRAY)
    if row is None or {len(a), len(b), len(scores)} != {row[0]}:
        raise damaged(relatedness, "scores", ARRAY)
    return _Pairs(items[a], items[b], scores)


def read_pair_scores(connection: sqlite3.Connection, relatedness: int) -> dict[tuple[str, str], float | None]:
    """The scores of pairs: context item, member."""
    pairs = read_pairs(connection, relatedness)
    names = dict(connection.execute("select id, name from item"))
    scores = [None if math.isnan(score) else score for score in pairs.scores.tolist()]
    try:
        keys = zip(*(map(names.__getitem__, side.tolist()) for side in (pairs.a, pairs.b)), strict=True)
        return dict(zip(keys, scores, strict=True))
    except KeyError:
        raise damaged(relatedness, "items", ARRAY) from None


def _show(connection: sqlite3.Connection, relatedness: int) -> None:
    columns = (column.tolist() for column in read_pairs(connection, relatedness))  # SQLite reads NaN as null
    rows = zip(repeat(relatedness), *columns, strict=False)
    insert_rows(connection, "related (relatedness, a, b, score)", rows)


STORED_PAIRS = Bulk(
    owner="relatedness",
    extent="relatedness_extent",
    rows="pairs",
    unlike=(
        "(select count(*) from related x where x.relatedness = e.relatedness) <> iif(e.pending is null, e.pairs, 0)"
    ),
    tables=("related",),
    of_run=(
        "select s.relatedness from run_attack r join attack a on a.id = r.attack join scoring s on s.id = a.scoring "
        "where r.run = ?1 and s.relatedness > 0"
    ),
    show=_show,
)
"""The scores of pairs of items."""
