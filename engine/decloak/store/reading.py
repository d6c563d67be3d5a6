"""Read back what stages wrote, in the shapes the kernels take."""

import json
import sqlite3
from collections.abc import Hashable, Mapping
from itertools import groupby
from typing import TypeVar

import numpy as np

from decloak.data.content import Element
from decloak.data.dataset import Dataset
from decloak.data.hierarchy import Hierarchy
from decloak.data.published import Published
from decloak.data.rows import CodedRows
from decloak.store.inserting import quoted
from decloak.store.lists import damaged
from decloak.store.records import read_records

T = TypeVar("T", bound=Hashable)


def _item_names(connection: sqlite3.Connection) -> dict[int, str]:
    return dict(connection.execute("select id, name from item"))


def _named(dataset: int, rows: CodedRows[int], names: Mapping[int, T]) -> CodedRows[T]:
    try:
        return rows.with_names(names.__getitem__)
    except KeyError:
        raise damaged(f"data set {dataset} has elements that are not there") from None


def read_dataset(connection: sqlite3.Connection, dataset: int) -> Dataset:
    """Read the plain records of a data set."""
    (origin,) = connection.execute("select origin from dataset where id = ?", (dataset,)).fetchone()
    stored = read_records(connection, dataset)
    return Dataset(_named(dataset, stored.rows, _item_names(connection)), stored.labels, origin)


def read_set_generalised(connection: sqlite3.Connection, release: int) -> Published:
    """Read a set-generalised release."""
    dataset, origin = connection.execute(
        "select d.id, d.origin from release r join dataset d on d.id = r.dataset where r.id = ?", (release,)
    ).fetchone()
    element: dict[int, Element] = dict(_item_names(connection))
    names: dict[tuple[str, ...], str] = {}
    rows = connection.execute(
        "select m.generalised, g.label, i.name from generalised g join member_of m on m.generalised = g.id "
        "join item i on i.id = m.item where g.release = ? order by m.generalised, m.position",
        (release,),
    )
    for (number, label), group in groupby(rows, key=lambda row: row[:2]):
        members = tuple(item for _, _, item in group)
        element[-number], names[members] = members, label
    stored = read_records(connection, dataset)
    return Published(_named(dataset, stored.rows, element), stored.labels, origin, names)


def read_tree(connection: sqlite3.Connection, release: int) -> Hierarchy | None:
    """Return the hierarchy that a release was generalised in, or None."""
    rows = connection.execute(
        "select c.label, p.label from release r join concept c on c.hierarchy = r.hierarchy "
        "join is_a e on e.child = c.id join concept p on p.id = e.parent where r.id = ? order by c.id",
        (release,),
    ).fetchall()
    return Hierarchy.from_parents(dict(rows)) if rows else None


def knows_originals(connection: sqlite3.Connection, release: int) -> bool:
    """Return whether the evaluator knows which members were original."""
    (knows,) = connection.execute(
        "select exists (select 1 from truth_release where release = ?1) or exists (select 1 from release r "
        "join dataset d on d.id = r.dataset join truth_marked m on m.txn >= d.first and m.txn < d.first + d.records "
        "where r.id = ?1)",
        (release,),
    ).fetchone()
    return bool(knows)


def idle(connection: sqlite3.Connection, attack: int) -> str | None:
    """Return why an attack had nothing to do, or None."""
    (reason,) = connection.execute(
        "select json_extract(parameters, '$.idle') from attack where id = ?", (attack,)
    ).fetchone()
    return None if reason is None else str(reason)


def seconds_of(connection: sqlite3.Connection, attack: int) -> dict[str, float]:
    """Return the time of an attack by the name of the clock; empty for an attack that was not timed."""
    (parameters,) = connection.execute("select parameters from attack where id = ?", (attack,)).fetchone()
    return dict(json.loads(parameters).get("took", {}))


def coverage_of(connection: sqlite3.Connection, attack: int) -> dict[str, tuple[int, int]]:
    """Return the coverage of the scores that an attack needs: counts known and needed, by kind."""
    (parameters,) = connection.execute("select parameters from attack where id = ?", (attack,)).fetchone()
    counts = json.loads(parameters).get("coverage") or {}
    return {name: (count[0], count[1]) for name, count in counts.items() if count is not None}


def hides_nothing(connection: sqlite3.Connection, attack: int) -> bool:
    """Return whether an eliminate attack was idle because no record contains a generalised item."""
    sql = (
        "select 1 from attack a join rule u on u.id = a.rule where a.id = ? and u.form = 'eliminate' "
        "and not exists (select 1 from generalised g where g.release = a.release)"
    )
    return connection.execute(sql, (attack,)).fetchone() is not None


def lacks_context(connection: sqlite3.Connection, attack: int) -> bool:
    """Return whether an eliminate attack lacks tables because generalised and plain items never occur together."""
    without_tables = connection.execute(
        "select r.dataset from attack a join rule u on u.id = a.rule join release r on r.id = a.release "
        "where a.id = ? and u.form = 'eliminate' "
        "and not exists (select 1 from distance_table t where t.scoring = a.scoring) "
        "and exists (select 1 from generalised g where g.release = a.release)",
        (attack,),
    ).fetchone()
    if without_tables is None:
        return False
    rows = read_records(connection, *without_tables).rows
    plain = np.array(rows.names, np.int64)[rows.codes] > 0
    shows = [np.bincount(rows.row_of_code[mask], minlength=len(rows)) > 0 for mask in (plain, ~plain)]
    return not (shows[0] & shows[1]).any()


def read_covers(connection: sqlite3.Connection, attack: int, relation: str) -> list[tuple[object, ...]]:
    """Return the covers that a rule derived: cluster, chunk, item, earlier chunk, size, support, covered item.

    An item is null where there is none.
    """
    return connection.execute(
        "select x.cluster, x.chunk, i.name, x.earlier, x.size, x.support, c.name "
        f"from fact f join {quoted(f'found_{relation}')} x on x.finding = f.id "
        "left join item i on i.id = x.item left join item c on c.id = x.covered "
        "where f.attack = ? order by x.cluster, x.chunk, i.name, x.earlier, x.size, x.support, c.name",
        (attack,),
    ).fetchall()
