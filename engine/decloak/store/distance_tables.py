"""The distance tables of a scoring in the store: cells and contexts as arrays, and rows where somebody wants them.

heights, widths     how many rows and columns each table has, in order
d                   the distances of all tables, row after row; NaN where there is no score
context_lengths     how many items the context of each row has, of all tables
context_codes       the items of all contexts, by number in `context_items`
context_items       what a number means: an item of the store
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, chain

import numpy as np

from decloak.arrays import Floats
from decloak.data.tables import AttackTable
from decloak.store.arrays import damaged, read_floats, read_numbers, write_array
from decloak.store.bulk import PENDING, Bulk
from decloak.store.inserting import insert, insert_numbered, insert_rows, item_numbers
from decloak.store.releases import generalised_numbers
from decloak.store.transactions import dataset_of, extent

__all__ = ["STORED_TABLES", "read_contexts", "read_distances", "read_items", "write_scoring"]

ARRAY = "scoring_array"


def write_scoring(
    connection: sqlite3.Connection,
    digest: str,
    release: int,
    relatedness: int | None,
    context: str,
    tables: Sequence[AttackTable],
) -> int:
    """Write the distance tables of a release."""
    scoring = insert(connection, "scoring", digest=digest, release=release, relatedness=relatedness, context=context)
    whole = extent(connection, dataset_of(connection, release))
    txns = range(whole.first, whole.first + whole.transactions)
    generalised = generalised_numbers(connection, release)
    # Row after row as they come, each item once: a context may name one twice.
    contexts = [tuple(dict.fromkeys(names)) for table in tables for names in table.contexts]
    items = item_numbers(connection, {*chain.from_iterable(contexts), *chain(*(table.columns for table in tables))})
    rows = ((scoring, number, generalised[frozenset(table.members)]) for number, table in enumerate(tables))
    numbers = insert_numbered(connection, "distance_table (scoring, number, generalised)", rows)
    _write_sides(connection, list(zip(numbers, tables, strict=True)), txns, items)
    by_number = [[items[name] for name in names] for names in contexts]
    _keep_tables(connection, scoring, [table.d for table in tables], by_number)
    return scoring


def _write_sides(
    connection: sqlite3.Connection,
    tables: Sequence[tuple[int, AttackTable]],
    txns: Sequence[int],
    items: Mapping[str, int],
) -> None:
    """The rows and columns of all tables together: there are often many small ones."""
    rows = ((n, row, txns[place]) for n, table in tables for row, place in enumerate(table.transactions.tolist()))
    insert_rows(connection, "distance_row (distance_table, row, txn)", rows)
    columns = ((n, col, items[item]) for n, table in tables for col, item in enumerate(table.columns))
    insert_rows(connection, "distance_col (distance_table, col, item)", columns)


def _keep_tables(
    connection: sqlite3.Connection,
    scoring: int,
    distances: Sequence[Floats],
    contexts: Sequence[Sequence[int]],
) -> None:
    """Keep the distances of each table, and the context of each row."""
    shapes = np.array([d.shape for d in distances], np.int64).reshape(-1, 2)
    items, codes = np.unique(np.fromiter(chain.from_iterable(contexts), np.int64), return_inverse=True)
    arrays = {
        "heights": shapes[:, 0],
        "widths": shapes[:, 1],
        "d": np.concatenate([np.zeros(0), *(d.ravel() for d in distances)]),
        "context_lengths": np.fromiter(map(len, contexts), np.int64),
        "context_codes": codes,
        "context_items": items,
    }
    for name, values in arrays.items():
        write_array(connection, scoring, name, values, table=ARRAY)
    counts = {"cells": len(arrays["d"]), "contexts": len(codes)}
    insert(connection, "scoring_extent", scoring=scoring, **counts, pending=PENDING)


def read_distances(connection: sqlite3.Connection, scoring: int) -> list[Floats]:
    """The distances of every table of a scoring, in order, NaN where there is no score."""
    heights, widths = (read_numbers(connection, scoring, name, ARRAY) for name in ("heights", "widths"))
    d = read_floats(connection, scoring, "d", ARRAY)
    if len(heights) != len(widths):
        raise damaged(scoring, "heights", ARRAY)
    shapes = list(zip(heights.tolist(), widths.tolist(), strict=True))
    ends = list(accumulate(height * width for height, width in shapes))  # of any size, in a store that is damaged
    if len(d) != (ends[-1] if ends else 0):
        raise damaged(scoring, "d", ARRAY)
    return [
        d[end - height * width : end].reshape(height, width) for (height, width), end in zip(shapes, ends, strict=True)
    ]


def _show(connection: sqlite3.Connection, scoring: int) -> None:
    """Make the rows of cells and of contexts."""
    distances = read_distances(connection, scoring)
    rows = connection.execute("select id from distance_table where scoring = ? order by number", (scoring,))
    numbers = [number for (number,) in rows]
    if len(numbers) != len(distances):
        raise damaged(scoring, "heights", ARRAY)
    tables = list(zip(numbers, distances, strict=True))
    # SQLite reads NaN as null: no score.
    lines = ((n, row, line) for n, d in tables for row, line in enumerate(d.tolist()))
    cells = ((n, row, col, d) for n, row, line in lines for col, d in enumerate(line))
    insert_rows(connection, "cell (distance_table, row, col, d)", cells)
    places = [(n, row) for n, d in tables for row in range(len(d))]
    insert_rows(connection, "context (distance_table, row, item)", read_contexts(connection, scoring, places))


def read_contexts(
    connection: sqlite3.Connection, scoring: int, places: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int, int]]:
    """Each table and row with an item of its context, as the store orders them."""
    lengths, codes, items = (
        read_numbers(connection, scoring, f"context_{name}", ARRAY) for name in ("lengths", "codes", "items")
    )
    if len(lengths) != len(places) or lengths.sum() != len(codes) or int(codes.max(initial=-1)) >= len(items):
        raise damaged(scoring, "context_lengths", ARRAY)
    row = np.repeat(np.arange(len(places)), lengths)
    held = items[codes]
    order = np.lexsort((held, row))
    for place, item in zip(row[order].tolist(), held[order].tolist(), strict=True):
        yield *places[place], item


def read_items(connection: sqlite3.Connection, scoring: int) -> set[int]:
    """Return the items of all contexts and columns."""
    columns = connection.execute(
        "select k.item from distance_table t join distance_col k on k.distance_table = t.id where t.scoring = ?",
        (scoring,),
    )
    return {item for (item,) in columns}.union(read_numbers(connection, scoring, "context_items", ARRAY).tolist())


STORED_TABLES = Bulk(
    owner="scoring",
    extent="scoring_extent",
    rows="cells + contexts",
    unlike=(
        "(select count(*) from distance_table t join cell c on c.distance_table = t.id where t.scoring = e.scoring) "
        "<> iif(e.pending is null, e.cells, 0) or "
        "(select count(*) from distance_table t join context c on c.distance_table = t.id where t.scoring = e.scoring) "
        "<> iif(e.pending is null, e.contexts, 0)"
    ),
    tables=("cell", "context"),
    of_run="select a.scoring from run_attack r join attack a on a.id = r.attack where r.run = ?1 and a.scoring > 0",
    show=_show,
)
"""The cells of distance tables, and the contexts of their rows."""
