"""What takes a store from one version to the next; a new store gets schema.sql, which is the last version."""

import sqlite3
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlite_utils import Database

__all__ = ["MIGRATIONS", "Migration"]

Migration = Callable[["Database"], None]


def _renew_views(database: "Database") -> None:
    """Make the views what schema.sql says."""
    from decloak.store.documentation import texts_of

    for name, text in texts_of("VIEW").items():
        database.conn.execute(f"drop view if exists {name}")
        database.conn.execute(text)


def _keep_arrays(database: "Database") -> None:
    """Transactions are kept as arrays, and shown as rows."""
    _make(database.conn, "extent", "array", "truth_array")
    missing = "select id from dataset where id not in (select dataset from extent) order by id"
    for (dataset,) in database.conn.execute(missing).fetchall():
        _keep(database.conn, dataset)
    database.conn.execute("pragma legacy_alter_table = on")  # views name the tables all the while
    for table in ("distance_row", "cluster_row", "assigned"):  # their transactions may have no rows yet
        _remake(database.conn, table)
    database.conn.execute("pragma legacy_alter_table = off")


def _make(connection: sqlite3.Connection, *tables: str) -> None:
    from decloak.store.documentation import texts_of

    for table in tables:
        connection.execute(texts_of("TABLE")[table].replace("TABLE", "TABLE IF NOT EXISTS", 1))


def _remake(connection: sqlite3.Connection, table: str) -> None:
    (index,) = connection.execute(
        "select coalesce(max(sql), '') from sqlite_master where type = 'index' and tbl_name = ?", (table,)
    ).fetchone()
    connection.execute(f"alter table {table} rename to old_{table}")
    _make(connection, table)
    connection.execute(f"insert into {table} select * from old_{table}")
    connection.execute(f"drop table old_{table}")
    if index:
        connection.execute(index)


def _keep(connection: sqlite3.Connection, dataset: int) -> None:
    import numpy as np  # where strangers' SQL runs there is no room for it, and nothing to migrate

    from decloak.store.arrays import write_array, write_texts

    txns = connection.execute("select id, label from txn where dataset = ? order by position", (dataset,)).fetchall()
    numbers = [number for number, _ in txns]
    first = min(numbers, default=1)
    elements = connection.execute(
        "select txn, element from (select txn, position, item as element from contains where txn between ?1 and ?2 "
        "union all select txn, position, -generalised from published_as where txn between ?1 and ?2) "
        "order by txn, position",
        (first, max(numbers, default=0)),
    ).fetchall()
    held = np.array(elements, np.int64).reshape(len(elements), 2)
    different, codes = np.unique(held[:, 1], return_inverse=True)
    write_array(connection, dataset, "lengths", np.bincount(held[:, 0] - first, minlength=len(txns)))
    write_array(connection, dataset, "codes", codes)
    write_array(connection, dataset, "elements", different)
    if [label for _, label in txns] != [str(place) for place in range(1, len(txns) + 1)]:
        write_texts(connection, dataset, "labels", [label for _, label in txns])
    connection.execute("insert into extent values (?, ?, ?, ?, null)", (dataset, first, len(txns), len(elements)))
    _keep_truth(connection, dataset)


def _keep_truth(connection: sqlite3.Connection, dataset: int) -> None:
    import numpy as np

    from decloak.store.arrays import write_array

    origins = connection.execute(
        "select o.position from txn t join truth_origin x on x.txn = t.id join txn o on o.id = x.original "
        "where t.dataset = ? order by t.position",
        (dataset,),
    ).fetchall()
    if origins:
        write_array(connection, dataset, "origins", np.array(origins, np.int64)[:, 0], table="truth_array")
    marked = connection.execute(
        "select t.position, m.item from txn t join truth_marked m on m.txn = t.id where t.dataset = ? order by 1, 2",
        (dataset,),
    ).fetchall()
    if marked:
        write_array(connection, dataset, "marked", np.array(marked, np.int64).ravel(), table="truth_array")


def _keep_strikes(database: "Database") -> None:
    """Strikes are kept as arrays, and shown as rows."""
    _make(database.conn, "attack_extent", "attack_array")
    attacks = (
        "select a.id from attack a join rule u on u.id = a.rule where u.form = 'eliminate' "
        "and a.id not in (select attack from attack_extent) order by a.id"
    )
    for (attack,) in database.conn.execute(attacks).fetchall():
        _keep_attack(database.conn, attack)


def _keep_attack(connection: sqlite3.Connection, attack: int) -> None:
    import numpy as np

    from decloak.store.arrays import write_array

    struck = connection.execute(
        "select s.distance_table, s.row, s.col, f.round, instr('trc', substr(s.\"group\", 1, 1)) - 1, s.suspicion, "
        "s.threshold, s.weight, f.id from finding f join struck s on s.finding = f.id where f.attack = ? order by f.id",
        (attack,),
    ).fetchall()
    spared = connection.execute(
        "select distance_table, row, col, weight from spared where attack = ? order by 1, 2, 3", (attack,)
    ).fetchall()
    names = ("tables", "rows", "cols", "rounds", "groups", "suspicions", "thresholds", "weights")
    columns = dict(zip(names, np.array(struck, np.float64).reshape(-1, 9).T, strict=False))
    left = ("spared_tables", "spared_rows", "spared_cols", "spared_weights")
    columns |= dict(zip(left, np.array(spared, np.float64).reshape(-1, 4).T, strict=True))
    floats = ("suspicions", "thresholds", "weights", "spared_weights")
    for name, column in columns.items():
        values = column if name in floats else column.astype(np.int64)
        write_array(connection, attack, name, values, table="attack_array")
    first = struck[0][-1] if struck else 1
    counts = (attack, first, len(struck), len(spared))
    connection.execute("insert into attack_extent values (?, ?, ?, ?, null)", counts)


def _pack_arrays(database: "Database") -> None:
    """Arrays of attacks are packed from here on; those that are there are read as they are."""


def _keep_scores(database: "Database") -> None:
    """Scores of pairs, cells and contexts are kept as arrays, and shown as rows."""
    _make(database.conn, "scoring_extent", "scoring_array", "relatedness_extent", "relatedness_array")
    for kind, keep in (("relatedness", _keep_pairs), ("scoring", _keep_tables)):
        missing = f"select id from {kind} where id not in (select {kind} from {kind}_extent) order by id"
        for (number,) in database.conn.execute(missing).fetchall():
            keep(database.conn, number)


def _keep_pairs(connection: sqlite3.Connection, relatedness: int) -> None:
    import numpy as np

    from decloak.store.arrays import write_array

    rows = connection.execute(
        "select a, b, score from related where relatedness = ? order by a, b", (relatedness,)
    ).fetchall()
    pairs = np.array(rows, np.float64).reshape(-1, 3)
    items, codes = np.unique(pairs[:, :2].astype(np.int64).T, return_inverse=True)
    a, b = codes.reshape(2, -1)
    for name, values in (("items", items), ("a", a), ("b", b), ("scores", pairs[:, 2])):
        write_array(connection, relatedness, name, values, table="relatedness_array")
    connection.execute("insert into relatedness_extent values (?, ?, null)", (relatedness, len(pairs)))


def _keep_tables(connection: sqlite3.Connection, scoring: int) -> None:
    import numpy as np

    from decloak.store.arrays import write_array

    shapes = connection.execute(
        "select t.id, (select count(*) from distance_row r where r.distance_table = t.id), "
        "(select count(*) from distance_col k where k.distance_table = t.id) "
        "from distance_table t where t.scoring = ? order by t.number",
        (scoring,),
    ).fetchall()
    d, lengths, held = [np.zeros(0)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for table, height, width in shapes:
        cells = connection.execute("select row * ? + col, d from cell where distance_table = ?", (width, table))
        places, distances = np.array(cells.fetchall(), np.float64).reshape(-1, 2).T
        d.append(np.full(height * width, np.nan))
        d[-1][places.astype(np.int64)] = distances
        contexts = connection.execute(
            "select row, item from context where distance_table = ? order by row, item", (table,)
        )
        rows, items = np.array(contexts.fetchall(), np.int64).reshape(-1, 2).T
        lengths.append(np.bincount(rows, minlength=height))
        held.append(items)
    different, codes = np.unique(np.concatenate(held), return_inverse=True)
    sides = np.array(shapes, np.int64).reshape(-1, 3)
    arrays = {"heights": sides[:, 1], "widths": sides[:, 2], "d": np.concatenate(d)}
    arrays |= {"context_lengths": np.concatenate(lengths), "context_codes": codes, "context_items": different}
    for name, values in arrays.items():
        write_array(connection, scoring, name, values, table="scoring_array")
    counts = (scoring, len(arrays["d"]), len(codes))
    connection.execute("insert into scoring_extent values (?, ?, ?, null)", counts)


def _keep_assigned(database: "Database") -> None:
    """Who was given what is kept as arrays, and shown as rows; rows of clusters are made with those of transactions."""
    connection = database.conn
    _make(connection, "assigned_extent")
    attacks = (
        "select a.id, e.first from attack a join rule u on u.id = a.rule join release l on l.id = a.release "
        "join extent e on e.dataset = l.dataset "
        "where u.form = 'reassociate' and a.id not in (select attack from assigned_extent) order by a.id"
    )
    for attack, first in connection.execute(attacks).fetchall():
        _keep_given(connection, attack, first)
    connection.execute(
        "delete from cluster_row where cluster in (select c.id from cluster c join release l on l.id = c.release "
        "join extent e on e.dataset = l.dataset where e.pending is not null)"
    )


def _keep_given(connection: sqlite3.Connection, attack: int, first: int) -> None:
    import numpy as np

    from decloak.store.arrays import write_array, write_texts

    rows = connection.execute(
        "select s.txn - ?, s.chunk, s.unit, s.value, f.id from finding f join assigned s on s.finding = f.id "
        "where f.attack = ? order by f.id",
        (first, attack),
    ).fetchall()
    for column, name, texts in ((1, "chunks", "chunk_names"), (2, "units", "unit_texts")):
        different = sorted({row[column] for row in rows})
        number = {text: place for place, text in enumerate(different)}
        codes = np.array([number[row[column]] for row in rows], np.int64)
        write_array(connection, attack, name, codes, table="attack_array")
        write_texts(connection, attack, texts, different, table="attack_array")
    write_array(connection, attack, "places", np.array([row[0] for row in rows], np.int64), table="attack_array")
    write_array(connection, attack, "values", np.array([row[3] for row in rows], np.float64), table="attack_array")
    counts = (attack, rows[0][-1] if rows else 1, len(rows))
    connection.execute("insert into assigned_extent values (?, ?, ?, null)", counts)


MIGRATIONS: Mapping[int, Migration] = {
    2: _renew_views,  # node and edge show what is published alone
    3: _keep_arrays,
    4: _keep_strikes,
    5: _pack_arrays,
    6: _keep_scores,
    7: _keep_assigned,
}
"""By the version they lead to."""
