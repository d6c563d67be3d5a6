"""Write the stages of a run; each function fills one inside the caller's transaction and returns its number."""

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

from decloak.data.dataset import Dataset, Published
from decloak.data.published import written
from decloak.digest import digest as digest_of
from decloak.store.opening import Store
from decloak.store.sandbox import quoted

if TYPE_CHECKING:
    from decloak.attack.tables import AttackTable

__all__ = [
    "find",
    "insert",
    "link_origins",
    "mark_originals",
    "mark_suppressed",
    "next_number",
    "write_dataset",
    "write_hierarchy",
    "write_measurement",
    "write_relatedness",
    "write_release",
    "write_run",
    "write_scoring",
]

_STAGES = {"dataset", "release", "relatedness", "scoring", "attack", "attacker", "measurement", "run", "rule"}


def find(store: Store, stage: str, digest: str) -> int | None:
    """The number of a stage that was finished before."""
    assert stage in _STAGES
    row = store.connection.execute(f"select id from {stage} where digest = ?", (digest,)).fetchone()
    return None if row is None else int(row[0])


def item_numbers(connection: sqlite3.Connection, names: Iterable[str]) -> dict[str, int]:
    """The numbers of items by name; new names get one, in sorted order, so that stores are alike."""
    wanted = sorted(set(names))
    connection.executemany("insert or ignore into item (name) values (?)", ((name,) for name in wanted))
    connection.execute("create temp table if not exists wanted (name text primary key)")
    connection.execute("delete from temp.wanted")
    connection.executemany("insert into temp.wanted values (?)", ((name,) for name in wanted))
    found = connection.execute("select i.name, i.id from temp.wanted w join main.item i on i.name = w.name")
    return dict(found.fetchall())


def write_dataset(
    connection: sqlite3.Connection, digest: str, data: Dataset, kind: str, file_format: str, note: str | None = None
) -> int:
    """Write plain transactions; the plain items of a release go the same way."""
    number = insert(connection, "dataset", digest=digest, kind=kind, origin=data.origin, format=file_format, note=note)
    txns = _write_txns(connection, number, data.labels)
    items = item_numbers(connection, data.items)
    connection.executemany(
        "insert into contains (txn, position, item) values (?, ?, ?)",
        (
            (txn, position, items[item])
            for txn, transaction in zip(txns, data.transactions, strict=True)
            for position, item in enumerate(transaction)
        ),
    )
    return number


def write_release(
    connection: sqlite3.Connection,
    digest: str,
    data: Published,
    method: str,
    parameters: Mapping[str, Any],
    hierarchy: int | None = None,
    loss: Mapping[str, Any] | None = None,
    notes: Sequence[str] = (),
) -> int:
    """Write a set-generalised release: its transactions, plain items, generalised items and their members."""
    dataset = insert(connection, "dataset", digest=digest, kind="published", origin=data.origin, format="published")
    release = insert(
        connection,
        "release",
        digest=digest,
        dataset=dataset,
        method=method,
        parameters=json.dumps(parameters),
        hierarchy=hierarchy,
        loss=json.dumps(loss or {}),
        notes=json.dumps(list(notes)),
    )
    txns = _write_txns(connection, dataset, data.labels)
    generalised = _write_generalised(connection, release, data)
    plain = {element for row in data.transactions for element in row if isinstance(element, str)}
    items = item_numbers(connection, plain)
    connection.executemany(
        "insert into contains (txn, position, item) values (?, ?, ?)",
        (
            (txn, position, items[element])
            for txn, transaction in zip(txns, data.transactions, strict=True)
            for position, element in enumerate(transaction)
            if isinstance(element, str)
        ),
    )
    connection.executemany(
        "insert into published_as (txn, position, generalised) values (?, ?, ?)",
        (
            (txn, position, generalised[frozenset(element)])
            for txn, transaction in zip(txns, data.transactions, strict=True)
            for position, element in enumerate(transaction)
            if not isinstance(element, str)
        ),
    )
    return release


def write_hierarchy(
    connection: sqlite3.Connection, parents: Mapping[str, str], leaves: Collection[str], origin: str
) -> int:
    """Write a hierarchy: its nodes, the items that leaves stand for, and what is below what; once for the same tree."""
    key = digest_of(["hierarchy", origin, list(parents.items())])
    found = connection.execute("select id from hierarchy where digest = ?", (key,)).fetchone()
    if found is not None:
        return int(found[0])
    number = insert(connection, "hierarchy", digest=key, origin=origin)
    items = item_numbers(connection, leaves)
    first = next_number(connection, "concept")
    concepts = {label: first + at for at, label in enumerate(dict.fromkeys([*parents.values(), *parents]))}
    connection.executemany(
        "insert into concept (id, hierarchy, label, item) values (?, ?, ?, ?)",
        ((concept, number, label, items.get(label)) for label, concept in concepts.items()),
    )
    connection.executemany(
        "insert into is_a (child, parent) values (?, ?)",
        ((concepts[child], concepts[parent]) for child, parent in parents.items()),
    )
    return number


def _write_txns(connection: sqlite3.Connection, dataset: int, labels: Sequence[str]) -> range:
    first = next_number(connection, "txn")
    connection.executemany(
        "insert into txn (id, dataset, position, label) values (?, ?, ?, ?)",
        ((first + position, dataset, position, label) for position, label in enumerate(labels)),
    )
    return range(first, first + len(labels))


def _write_generalised(connection: sqlite3.Connection, release: int, data: Published) -> dict[frozenset[str], int]:
    """Number the generalised items; the same members in another order are the same generalised item."""
    distinct = {frozenset(members): members for members in reversed(data.generalised)}
    first = next_number(connection, "generalised")
    numbers = {members: first + index for index, members in enumerate(reversed(distinct))}
    items = item_numbers(connection, (item for members in distinct for item in members))
    connection.executemany(
        "insert into generalised (id, release, label) values (?, ?, ?)",
        (
            (number, release, data.names.get(distinct[members]) or written(distinct[members]))
            for members, number in numbers.items()
        ),
    )
    connection.executemany(
        "insert into member_of (generalised, position, item) values (?, ?, ?)",
        (
            (number, position, items[item])
            for members, number in numbers.items()
            for position, item in enumerate(distinct[members])
        ),
    )
    return numbers


def link_origins(connection: sqlite3.Connection, release: int, original: int) -> None:
    """Note which original transaction each published one was made from: the one of the same label."""
    connection.execute("insert into truth_release (release, original) values (?, ?)", (release, original))
    connection.execute(
        "insert into truth_origin (txn, original) select p.id, o.id from release r join txn p on p.dataset = r.dataset "
        "join txn o on o.dataset = ? and o.label = p.label where r.id = ?",
        (original, release),
    )


def mark_suppressed(connection: sqlite3.Connection, release: int, items: Iterable[str]) -> None:
    """Note the items of the original that a release shows nowhere."""
    numbers = item_numbers(connection, items)
    connection.executemany(
        "insert into truth_suppressed (release, item) values (?, ?)",
        ((release, number) for number in sorted(numbers.values())),
    )


def mark_originals(connection: sqlite3.Connection, release: int, marked: Iterable[tuple[str, str]]) -> None:
    """Note the members that a distance table file marks as original: transaction label and item name."""
    connection.executemany(
        "insert or ignore into truth_marked (txn, item) select t.id, i.id from release r "
        "join txn t on t.dataset = r.dataset join item i on i.name = ? where t.label = ? and r.id = ?",
        ((item, label, release) for label, item in marked),
    )


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
    connection.executemany(
        "insert into related (relatedness, a, b, score) values (?, ?, ?, ?)",
        ((number, items[a], items[b], score) for (a, b), score in scores.items()),
    )
    return number


def write_scoring(
    connection: sqlite3.Connection,
    digest: str,
    release: int,
    relatedness: int | None,
    context: str,
    tables: Sequence["AttackTable"],
) -> int:
    """Write the distance tables of a release."""
    scoring = insert(connection, "scoring", digest=digest, release=release, relatedness=relatedness, context=context)
    txns = [
        row[0]
        for row in connection.execute(
            "select t.id from txn t join release r on r.dataset = t.dataset where r.id = ? order by t.position",
            (release,),
        )
    ]
    generalised = _generalised_numbers(connection, release)
    names = {name for table in tables for row in (table.columns, *table.contexts) for name in row}
    items = item_numbers(connection, names)
    first = next_number(connection, "distance_table")
    connection.executemany(
        "insert into distance_table (id, scoring, number, generalised) values (?, ?, ?, ?)",
        (
            (first + number, scoring, number, generalised[frozenset(table.members)])
            for number, table in enumerate(tables)
        ),
    )
    for number, table in enumerate(tables, first):
        _write_table(connection, number, table, txns, items)
    return scoring


def _generalised_numbers(connection: sqlite3.Connection, release: int) -> dict[frozenset[str], int]:
    rows = connection.execute(
        "select m.generalised, i.name from generalised g join member_of m on m.generalised = g.id "
        "join item i on i.id = m.item where g.release = ? order by m.generalised",
        (release,),
    )
    return {frozenset(name for _, name in group): number for number, group in groupby(rows, key=lambda row: row[0])}


def _write_table(
    connection: sqlite3.Connection, number: int, table: "AttackTable", txns: Sequence[int], items: Mapping[str, int]
) -> None:
    connection.executemany(
        "insert into distance_row values (?, ?, ?)",
        ((number, row, txns[index]) for row, index in enumerate(table.transactions.tolist())),
    )
    connection.executemany(
        "insert into distance_col values (?, ?, ?)",
        ((number, col, items[item]) for col, item in enumerate(table.columns)),
    )
    connection.executemany(
        "insert into cell values (?, ?, ?, ?)",  # SQLite reads NaN as null: no score
        ((number, row, col, d) for row, cells in enumerate(table.d.tolist()) for col, d in enumerate(cells)),
    )
    connection.executemany(
        "insert or ignore into context values (?, ?, ?)",
        ((number, row, items[name]) for row, names in enumerate(table.contexts) for name in names),
    )


def write_measurement(
    connection: sqlite3.Connection,
    digest: str,
    attack: int,
    family: str,
    figures: Iterable[tuple[int, str, float | None, float | None, float | None]],
    note: str | None,
) -> int:
    """Write measured figures: scope (-1 is pooled), name, value, and the counts of the ratio."""
    number = insert(connection, "measurement", digest=digest, attack=attack, family=family, note=note)
    connection.executemany(
        "insert into measure (measurement, scope, name, value, part, whole) values (?, ?, ?, ?, ?, ?)",
        ((number, *figure) for figure in figures),
    )
    return number


def write_run(
    connection: sqlite3.Connection,
    *,
    attacks: Sequence[tuple[str, int]],
    measurements: Iterable[int],
    **columns: Any,
) -> int:
    """Write a finished run with the attacks and measurements that belong to it."""
    run = insert(connection, "run", started=datetime.now(UTC).isoformat(timespec="seconds"), **columns)
    connection.executemany(
        "insert into run_attack (run, position, label, attack) values (?, ?, ?, ?)",
        ((run, position, label, attack) for position, (label, attack) in enumerate(attacks)),
    )
    connection.executemany(
        "insert or ignore into run_measurement (run, measurement) values (?, ?)",
        ((run, measurement) for measurement in measurements),
    )
    return run


def insert(connection: sqlite3.Connection, table: str, **columns: Any) -> int:
    """Insert one row and return its number."""
    names = ", ".join(map(quoted, columns))
    marks = ", ".join("?" * len(columns))
    cursor = connection.execute(f"insert into {table} ({names}) values ({marks})", tuple(columns.values()))
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def next_number(connection: sqlite3.Connection, table: str) -> int:
    """The number the next row of a table gets."""
    (last,) = connection.execute(f"select coalesce(max(id), 0) from {table}").fetchone()
    return int(last) + 1
