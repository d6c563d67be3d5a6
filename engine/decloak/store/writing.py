"""Write the stages of a run; each function fills one inside the caller's transaction and returns its number."""

import sqlite3
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import groupby

from decloak.data.dataset import Dataset
from decloak.data.formats.blocks import Part
from decloak.store.inserting import insert, insert_numbered, insert_rows, item_numbers
from decloak.store.records import by_frequency, write_parts, write_records


def write_attacker(
    connection: sqlite3.Connection,
    digest: str,
    release: int,
    model: str,
    itemsets: Sequence[Sequence[str]],
    note: str | None,
) -> int:
    """Write the `itemsets` that an attacker of a `model` knows, or a `note` on why there are none."""
    number = insert(connection, "attacker", digest=digest, release=release, model=model, note=note)
    items = item_numbers(connection, (item for itemset in itemsets for item in itemset))
    numbers = insert_numbered(connection, "knowledge (attacker)", [(number,)] * len(itemsets))
    rows = ((knowledge, items[item]) for knowledge, itemset in zip(numbers, itemsets, strict=True) for item in itemset)
    insert_rows(connection, "knows (knowledge, item)", rows)
    return number


def attacker_of(connection: sqlite3.Connection, attack: int) -> tuple[int, str | None]:
    """Return the number of the attacker of an attack, and the reason if the attacker's knowledge is not recorded."""
    number, note = connection.execute(
        "select k.id, k.note from attack a join attacker k on k.id = a.attacker where a.id = ?", (attack,)
    ).fetchone()
    return int(number), note


def read_knowledge(connection: sqlite3.Connection, attacker: int) -> list[tuple[str, ...]] | None:
    """Read the itemsets that an attacker knows. The strong attacker knows every pair and has none."""
    (model,) = connection.execute("select model from attacker where id = ?", (attacker,)).fetchone()
    if model == "strong":
        return None
    rows = connection.execute(
        "select k.id, i.name from knowledge k join knows w on w.knowledge = k.id join item i on i.id = w.item "
        "where k.attacker = ? order by k.id, i.name",
        (attacker,),
    )
    return [tuple(name for _, name in group) for _, group in groupby(rows, key=lambda row: row[0])]


def write_dataset(
    connection: sqlite3.Connection,
    digest: str,
    data: Dataset,
    kind: str,
    file_format: str,
    note: str | None = None,
    parts: tuple[Sequence[Part], Sequence[str]] = ((), ()),
) -> int:
    """Write plain records; the plain items of a release go the same way.

    If the records stay in files, `parts` is their catalogue with the items.
    """
    number = insert(connection, "dataset", digest=digest, kind=kind, origin=data.origin, format=file_format, note=note)
    items = item_numbers(connection, [*by_frequency(data.rows), *parts[1]])
    write_records(connection, number, data.rows, data.labels, items.__getitem__)
    write_parts(connection, number, parts[0])
    return number


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
    rows = ((number, *figure) for figure in figures)
    insert_rows(connection, "measure (measurement, scope, name, value, part, whole)", rows)
    return number


def write_run(
    connection: sqlite3.Connection,
    *,
    attacks: Sequence[tuple[str, int]],
    measurements: Iterable[int],
    **columns: object,
) -> int:
    """Write a finished run with the attacks and measurements that belong to it."""
    run = insert(connection, "run", started=datetime.now(UTC).isoformat(timespec="seconds"), **columns)
    rows = ((run, position, label, attack) for position, (label, attack) in enumerate(attacks))
    insert_rows(connection, "run_attack (run, position, label, attack)", rows)
    connection.executemany(
        # Attacks with equal settings, and other labels, share their measurements.
        "insert or ignore into run_measurement (run, measurement) values (?, ?)",
        ((run, measurement) for measurement in measurements),
    )
    write_requests(connection, [run])
    return run


def write_requests(connection: sqlite3.Connection, runs: Iterable[int]) -> None:
    """Note that `runs` were asked for in this order, after all others."""
    connection.executemany(
        # A run has one request, so the earlier one of the same run goes.
        "insert or replace into request (id, run) values ((select coalesce(max(id), 0) + 1 from request), ?)",
        ((run,) for run in runs),
    )
