"""Read back what stages wrote, in the shapes the kernels take."""

import sqlite3
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from decloak.data.dataset import Dataset
from decloak.data.hierarchy import Hierarchy
from decloak.data.published import Element, Published
from decloak.store.sandbox import quoted

__all__ = [
    "idle",
    "knows_originals",
    "lacks_context",
    "read_dataset",
    "read_pair_scores",
    "read_set_generalised",
    "read_tree",
    "struck_items",
]


class _Txns(NamedTuple):
    """The transactions of a data set in order."""

    numbers: list[int]
    labels: tuple[str, ...]

    def elements(self, connection: sqlite3.Connection, table: str, element: str) -> dict[int, list[tuple[int, int]]]:
        """What stands in each transaction: positions in order, and the number of the element in a column of a table.

        A range of the table is read: through the data set, SQLite would go over all that the store holds.
        """
        rows = connection.execute(
            f"select txn, position, {element} from {table} where txn between ? and ? order by txn, position",
            (min(self.numbers, default=0), max(self.numbers, default=-1)),
        )
        held: dict[int, list[tuple[int, int]]] = {number: [] for number in self.numbers}
        for number, *place in rows:
            if number in held:  # numbers of two data sets may interlock
                held[number].append(tuple(place))
        return held


def _txns(connection: sqlite3.Connection, dataset: int) -> _Txns:
    rows = connection.execute("select id, label from txn where dataset = ? order by position", (dataset,)).fetchall()
    return _Txns([number for number, _ in rows], tuple(label for _, label in rows))


def _item_names(connection: sqlite3.Connection) -> dict[int, str]:
    return dict(connection.execute("select id, name from item"))


def read_dataset(connection: sqlite3.Connection, dataset: int) -> Dataset:
    """The plain transactions of a data set."""
    (origin,) = connection.execute("select origin from dataset where id = ?", (dataset,)).fetchone()
    txns, names = _txns(connection, dataset), _item_names(connection)
    held = txns.elements(connection, "contains", "item")
    transactions = tuple(tuple(names[item] for _, item in held[number]) for number in txns.numbers)
    return Dataset(transactions, txns.labels, origin)


def read_set_generalised(connection: sqlite3.Connection, release: int) -> Published:
    """The set-generalised transactions of a release."""
    dataset, origin = connection.execute(
        "select d.id, d.origin from release r join dataset d on d.id = r.dataset where r.id = ?", (release,)
    ).fetchone()
    members: dict[int, tuple[str, ...]] = {}
    labels: dict[tuple[str, ...], str] = {}
    rows = connection.execute(
        "select m.generalised, g.label, i.name from generalised g join member_of m on m.generalised = g.id "
        "join item i on i.id = m.item where g.release = ? order by m.generalised, m.position",
        (release,),
    )
    for (number, label), group in groupby(rows, key=lambda row: row[:2]):
        members[number] = tuple(item for _, _, item in group)
        labels[members[number]] = label
    txns, names = _txns(connection, dataset), _item_names(connection)
    plain = txns.elements(connection, "contains", "item")
    sets = txns.elements(connection, "published_as", "generalised")
    shown: list[tuple[Element, ...]] = []
    for number in txns.numbers:
        places: list[tuple[int, Element]] = [(position, names[item]) for position, item in plain[number]]
        places += [(position, members[generalised]) for position, generalised in sets[number]]
        shown.append(tuple(element for _, element in sorted(places, key=itemgetter(0))))
    return Published(tuple(shown), txns.labels, origin, labels)


def read_tree(connection: sqlite3.Connection, release: int) -> Hierarchy | None:
    """The hierarchy that a release was generalised in, None where there is none."""
    rows = connection.execute(
        "select c.label, p.label from release r join concept c on c.hierarchy = r.hierarchy "
        "join is_a e on e.child = c.id join concept p on p.id = e.parent where r.id = ? order by c.id",
        (release,),
    ).fetchall()
    return Hierarchy.from_parents(dict(rows)) if rows else None


def read_pair_scores(connection: sqlite3.Connection, relatedness: int) -> dict[tuple[str, str], float | None]:
    """The scores of pairs: context item, member."""
    rows = connection.execute(
        "select a.name, b.name, e.score from related e join item a on a.id = e.a join item b on b.id = e.b "
        "where e.relatedness = ?",
        (relatedness,),
    )
    return {(a, b): score for a, b, score in rows}


def knows_originals(connection: sqlite3.Connection, release: int) -> bool:
    """Whether the evaluator knows which members were original."""
    (knows,) = connection.execute(
        "select exists (select 1 from truth_release where release = ?1) or exists (select 1 from truth_marked m "
        "join txn t on t.id = m.txn join release r on r.dataset = t.dataset where r.id = ?1)",
        (release,),
    ).fetchone()
    return bool(knows)


def idle(connection: sqlite3.Connection, attack: int) -> str | None:
    """Why an attack had nothing to do, None where it had."""
    (reason,) = connection.execute(
        "select json_extract(parameters, '$.idle') from attack where id = ?", (attack,)
    ).fetchone()
    return None if reason is None else str(reason)


def lacks_context(connection: sqlite3.Connection, attack: int) -> bool:
    """Whether an eliminate attack had no distance table because no generalised item stands beside a plain one."""
    (lacking,) = connection.execute(
        "select exists (select 1 from attack a join rule u on u.id = a.rule where a.id = ?1 and u.form = 'eliminate' "
        "  and not exists (select 1 from distance_table t where t.scoring = a.scoring) "
        "  and exists (select 1 from generalised g where g.release = a.release) "
        "  and not exists (select 1 from release r join txn t on t.dataset = r.dataset "
        "    join published_as p on p.txn = t.id join contains c on c.txn = t.id where r.id = a.release))",
        (attack,),
    ).fetchone()
    return bool(lacking)


def struck_items(connection: sqlite3.Connection, attack: int) -> Iterator[tuple[int, str]]:
    """What an eliminate attack struck: the place of the transaction among those of the release, and the item."""
    yield from connection.execute(
        "select x.position, i.name from finding f join struck s on s.finding = f.id "
        "join distance_row r on r.distance_table = s.distance_table and r.row = s.row join txn x on x.id = r.txn "
        "join distance_col k on k.distance_table = s.distance_table and k.col = s.col join item i on i.id = k.item "
        "where f.attack = ?",
        (attack,),
    )


def read_covers(connection: sqlite3.Connection, attack: int, relation: str) -> list[tuple[Any, ...]]:
    """What a rule derived that covers items: cluster, chunk, item, earlier chunk, size, support, covered item.

    An item is null where there is none.
    """
    return connection.execute(
        "select x.cluster, x.chunk, i.name, x.earlier, x.size, x.support, c.name "
        f"from finding f join {quoted(f'found_{relation}')} x on x.finding = f.id "
        "left join item i on i.id = x.item left join item c on c.id = x.covered "
        "where f.attack = ? order by x.cluster, x.chunk, i.name, x.earlier, x.size, x.support, c.name",
        (attack,),
    ).fetchall()
